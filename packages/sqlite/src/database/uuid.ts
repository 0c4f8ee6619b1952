import { HoldfastError } from "holdfast/adapter";

const NO_BYTES = new Uint8Array(0);
const DASH = 0x2d;
/** For characters that are not hexadecimal digits. */
const WRONG = 0x100;

const DIGITS = Uint16Array.from({ length: 128 }, (_, code) => {
  const digit = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(digit) ? WRONG : digit;
});

/** Sixteen bytes; zero bytes for a text that is not a UUID, which then matches nothing. */
export function uuidBytes(text: string): Uint8Array {
  const bytes = new Uint8Array(16);
  return readUuid(text, bytes) ? bytes : NO_BYTES;
}

const shared = new Uint8Array(16);

/**
 * The same, in memory that the next call overwrites, for a statement that runs at once and copies the bytes. The driver must
 * move a new array out of the heap before it can read it, which costs more than finding the run. A statement with two ids
 * needs other memory (`into`) for the second.
 */
export function sharedUuidBytes(text: string, into = shared): Uint8Array {
  return readUuid(text, into) ? into : NO_BYTES;
}

/** Does not copy parts of the text: this runs for every run of every flush. */
function readUuid(text: string, into: Uint8Array): boolean {
  if (text.length !== 36) return false;
  let seen = 0;
  for (let i = 0, at = 0; i < 36; i += 2) {
    if (i === 8 || i === 13 || i === 18 || i === 23) {
      if (text.charCodeAt(i) !== DASH) return false;
      i += 1;
    }
    const byte = (digit(text.charCodeAt(i)) << 4) | digit(text.charCodeAt(i + 1));
    seen |= byte;
    into[at++] = byte;
  }
  return seen < WRONG;
}

function digit(code: number): number {
  return DIGITS[code] ?? WRONG;
}

/** For ids that are about to be stored. */
export function newUuidBytes(text: string): Uint8Array {
  return valid(uuidBytes(text), text);
}

export function newSharedUuidBytes(text: string, into = shared): Uint8Array {
  return valid(sharedUuidBytes(text, into), text);
}

function valid(bytes: Uint8Array, text: string): Uint8Array {
  if (bytes.length === 16) return bytes;
  throw new HoldfastError("invariant_broken", `SQLite store: the id "${text}" is not a UUID`);
}

export function uuidText(bytes: Uint8Array): string {
  return uuidOfHex(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex"));
}

/** From 32 lower-case digits. */
export function uuidOfHex(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

export function uuidTextOrNull(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : uuidText(bytes);
}
