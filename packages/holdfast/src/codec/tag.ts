/**
 * The notation for values that JSON cannot express: `{"$hf":"Date","v":"2026-01-01T00:00:00.000Z"}`. It is part of
 * stored histories: tags may be added, never changed.
 */
export const TAG_KEY = "$hf";
/** The key as it appears in JSON text. Inside a string it would be escaped, so text without it has no tags. */
export const TAG_KEY_JSON = '"$hf"';

/** The limit for nested containers. Deeper values would overflow the stack, here or in the program that reads them. */
export const DEPTH_MAX = 500;

/** A tagged value as it is written. */
export interface Tagged {
  readonly $hf: string;
  readonly v?: unknown;
}

/** Views of binary data that are kept, by the name that is also their tag. A Buffer is a Uint8Array. */
export const BINARY_VIEWS = {
  Uint8Array,
  Uint8ClampedArray,
  Int8Array,
  Uint16Array,
  Int16Array,
  Uint32Array,
  Int32Array,
  Float32Array,
  Float64Array,
  BigInt64Array,
  BigUint64Array,
} as const;

export type BinaryViewName = keyof typeof BINARY_VIEWS;

export function isBinaryViewName(name: string): name is BinaryViewName {
  return Object.hasOwn(BINARY_VIEWS, name);
}

/** An error as it is written. */
export interface WireError {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly cause?: unknown;
  /** The members of an AggregateError. */
  readonly errors?: unknown;
  /** Own enumerable fields. */
  readonly own?: Readonly<Record<string, unknown>>;
  /** Set for a HoldfastError, which is restored as one. */
  readonly holdfast?: true;
}
