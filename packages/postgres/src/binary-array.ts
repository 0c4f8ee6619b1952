/**
 * Arrays in PostgreSQL's binary format. The driver sends a Buffer as a binary parameter, so a flush of hundreds of runs
 * is neither printed as text here nor parsed as text there: about a third of the cost of a flush on both sides.
 */
const HEADER_BYTES = 20;
const NULL_LENGTH = -1;

const OID = { bool: 16, bytea: 17, char: 18, int8: 20, int2: 21, int4: 23, text: 25, float8: 701, uuid: 2950 } as const;

type Write<T> = (out: Buffer, value: T, offset: number) => void;

/** Arrays whose elements all have the same length. */
function fixed<T>(oid: number, length: number, write: Write<T>): (values: readonly (T | null)[]) => Buffer {
  return (values) => {
    const nulls = values.reduce((count: number, value) => (value === null ? count + 1 : count), 0);
    const out = begin(oid, values.length, nulls > 0, values.length * 4 + (values.length - nulls) * length);
    let offset = HEADER_BYTES;
    for (const value of values) {
      out.writeInt32BE(value === null ? NULL_LENGTH : length, offset);
      offset += 4;
      if (value === null) continue;
      write(out, value, offset);
      offset += length;
    }
    return out;
  };
}

export const boolArray = fixed<boolean>(OID.bool, 1, (out, value, offset) => out.writeUInt8(value ? 1 : 0, offset));
/** One ASCII character each. */
export const charArray = fixed<string>(OID.char, 1, (out, value, offset) =>
  out.writeUInt8(value.charCodeAt(0), offset),
);
export const int2Array = fixed<number>(OID.int2, 2, (out, value, offset) => out.writeInt16BE(value, offset));
export const int4Array = fixed<number>(OID.int4, 4, (out, value, offset) => out.writeInt32BE(value, offset));
export const float8Array = fixed<number>(OID.float8, 8, (out, value, offset) => out.writeDoubleBE(value, offset));

/** Milliseconds: rounded up, so that nothing becomes due early. */
export const timeArray = fixed<number>(OID.int8, 8, (out, value, offset) => {
  const ms = Math.ceil(Math.min(Math.max(value, Number.MIN_SAFE_INTEGER), Number.MAX_SAFE_INTEGER));
  out.writeInt32BE(Math.floor(ms / 2 ** 32), offset);
  out.writeUInt32BE(ms - Math.floor(ms / 2 ** 32) * 2 ** 32, offset + 4);
});

/** Without a copy that has no dashes: this happens for every run of every flush. */
const uuids = fixed<string>(OID.uuid, 16, (out, value, offset) => {
  for (let i = 0, at = offset; i < 36; i += 2) {
    if (value.charCodeAt(i) === DASH) i += 1;
    out[at++] = (nibble(value.charCodeAt(i)) << 4) | nibble(value.charCodeAt(i + 1));
  }
});

const DASH = 0x2d;

/** The value of a hexadecimal digit, of either case. */
function nibble(code: number): number {
  return (code & 0xf) + (code > 0x39 ? 9 : 0);
}

/** A text that is no UUID becomes null, which matches nothing. */
export function uuidArray(values: readonly (string | null)[]): Buffer {
  return uuids(values.map((value) => (value !== null && isUuid(value) ? value : null)));
}

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

export function textArray(values: readonly (string | null)[]): Buffer {
  return byteArray(
    OID.text,
    values,
    (value) => Buffer.byteLength(value),
    (out, value, offset) => out.write(value, offset),
  );
}

export function byteaArray(values: readonly (Uint8Array | null)[]): Buffer {
  return byteArray(
    OID.bytea,
    values,
    (value) => value.length,
    (out, value, offset) => out.set(value, offset),
  );
}

/** For a column that is mostly without values: nothing instead of nulls only. A subscript finds a null either way, and so does `unnest` beside longer arrays. */
export function sparse<T>(toArray: (values: readonly (T | null)[]) => Buffer, values: readonly (T | null)[]): Buffer {
  return toArray(values.every((value) => value === null) ? [] : values);
}

function byteArray<T>(
  oid: number,
  values: readonly (T | null)[],
  lengthOf: (value: T) => number,
  write: Write<T>,
): Buffer {
  const lengths = values.map((value) => (value === null ? NULL_LENGTH : lengthOf(value)));
  const bytes = lengths.reduce((sum, length) => sum + 4 + Math.max(0, length), 0);
  const out = begin(oid, values.length, lengths.includes(NULL_LENGTH), bytes);
  let offset = HEADER_BYTES;
  for (let i = 0; i < values.length; i++) {
    const length = lengths[i] as number;
    out.writeInt32BE(length, offset);
    offset += 4;
    if (length > 0) write(out, values[i] as T, offset);
    offset += Math.max(0, length);
  }
  return out;
}

function begin(oid: number, count: number, hasNulls: boolean, bytes: number): Buffer {
  const dimensions = count === 0 ? 0 : 1;
  const out = Buffer.allocUnsafe(dimensions === 0 ? 12 : HEADER_BYTES + bytes);
  out.writeInt32BE(dimensions, 0);
  out.writeInt32BE(hasNulls ? 1 : 0, 4);
  out.writeInt32BE(oid, 8);
  if (dimensions === 0) return out;
  out.writeInt32BE(count, 12);
  out.writeInt32BE(1, 16); // the first subscript
  return out;
}
