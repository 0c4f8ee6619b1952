/**
 * Arrays in PostgreSQL's binary format. The driver sends a Buffer as a binary parameter, so a flush of hundreds of runs is
 * neither formatted as text here nor parsed as text there, which would be about a third of its cost on both sides.
 */
const HEADER_BYTES = 20;
const NULL_LENGTH = -1;

const OID = { bool: 16, bytea: 17, char: 18, int8: 20, int2: 21, int4: 23, text: 25, float8: 701, uuid: 2950 } as const;

type Write<T> = (out: Buffer, value: T, offset: number) => void;
/** Writes one value per item. The value may be read twice, so compute expensive ones beforehand. */
type ToArray<T> = <I = T | null>(items: readonly I[], pick?: (item: I) => T | null) => Buffer;

/** Arrays whose elements all have the same length. */
function fixed<T>(oid: number, length: number, write: Write<T>): ToArray<T> {
  return (items, pick = itself) => {
    const out = Buffer.allocUnsafe(HEADER_BYTES + items.length * (4 + length));
    let offset = HEADER_BYTES;
    let hasNulls = false;
    for (const item of items) {
      const value = pick(item);
      offset = out.writeInt32BE(value === null ? NULL_LENGTH : length, offset);
      if (value === null) {
        hasNulls = true;
        continue;
      }
      write(out, value, offset);
      offset += length;
    }
    return finished(out, oid, items.length, hasNulls, offset);
  };
}

function itself<T>(item: unknown): T {
  return item as T;
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

/** The value of each hexadecimal digit, in either case, by its code; -1 for everything else. */
const NIBBLES = Int8Array.from({ length: 128 }, (_, code) => {
  const digit = Number.parseInt(String.fromCharCode(code), 16);
  return Number.isNaN(digit) ? -1 : digit;
});
const DASH = 0x2d;

/** Writes 32 hexadecimal digits, with dashes where a UUID has them if there are any; false if the text is something else. */
function writeUuid(out: Buffer, value: string, offset: number, dashes: boolean): boolean {
  if (value.length !== (dashes ? 36 : 32)) return false;
  let i = 0;
  for (let byte = 0; byte < 16; byte++) {
    if (dashes && (byte === 4 || byte === 6 || byte === 8 || byte === 10) && value.charCodeAt(i++) !== DASH)
      return false;
    // No entry for a code above 127.
    const high = NIBBLES[value.charCodeAt(i)] ?? -1;
    const low = NIBBLES[value.charCodeAt(i + 1)] ?? -1;
    if ((high | low) < 0) return false;
    out[offset + byte] = (high << 4) | low;
    i += 2;
  }
  return true;
}

/** Checks and writes in one pass: this runs for every run of every flush. */
function uuids<I>(items: readonly I[], pick: (item: I) => string | null, dashes: boolean): Buffer {
  const out = Buffer.allocUnsafe(HEADER_BYTES + items.length * 20);
  let offset = HEADER_BYTES;
  let hasNulls = false;
  for (const item of items) {
    const value = pick(item);
    const isOne = value !== null && writeUuid(out, value, offset + 4, dashes);
    out.writeInt32BE(isOne ? 16 : NULL_LENGTH, offset);
    offset += isOne ? 20 : 4;
    hasNulls ||= !isOne;
  }
  return finished(out, OID.uuid, items.length, hasNulls, offset);
}

/** A text that is not a UUID becomes null, which matches nothing. */
export function uuidArray<I = string | null>(items: readonly I[], pick: (item: I) => string | null = itself): Buffer {
  return uuids(items, pick, true);
}

/** The same for 32 lower-case hexadecimal digits without dashes. */
export function secretArray<I = string | null>(items: readonly I[], pick: (item: I) => string | null = itself): Buffer {
  return uuids(
    items,
    (item) => {
      const value = pick(item);
      return value !== null && SECRET.test(value) ? value : null;
    },
    false,
  );
}

const SECRET = /^[0-9a-f]{32}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

export function isUuid(text: string): boolean {
  return UUID.test(text);
}

export const textArray: ToArray<string> = (items, pick = itself) => {
  let room = HEADER_BYTES + items.length * 4;
  // UTF-8 needs at most three bytes per UTF-16 unit.
  for (const item of items) room += 3 * (pick(item)?.length ?? 0);
  return lengthened(OID.text, room, items, pick, writeText);
};

/** Texts of up to so many characters, as most names have, are written here: to call the runtime takes three times as long. */
const SHORT_TEXT = 24;

function writeText(out: Buffer, text: string, offset: number): number {
  if (text.length > SHORT_TEXT) return out.write(text, offset);
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 0x7f) return out.write(text, offset);
    out[offset + i] = code;
  }
  return text.length;
}

export const byteaArray: ToArray<Uint8Array> = (items, pick = itself) => {
  let room = HEADER_BYTES + items.length * 4;
  for (const item of items) room += pick(item)?.length ?? 0;
  return lengthened(OID.bytea, room, items, pick, (out, value, offset) => {
    out.set(value, offset);
    return value.length;
  });
};

/** For a column that is mostly null: an empty array if all values are null. A subscript, or `unnest` beside longer arrays, yields null either way. */
export function sparse<T, I = T | null>(
  toArray: ToArray<T>,
  items: readonly I[],
  pick: (item: I) => T | null = itself,
): Buffer {
  return toArray(items.every((item) => pick(item) === null) ? [] : items, pick);
}

/** Arrays whose elements vary in length: writing one returns the number of bytes written. */
function lengthened<T, I>(
  oid: number,
  room: number,
  items: readonly I[],
  pick: (item: I) => T | null,
  write: (out: Buffer, value: T, offset: number) => number,
): Buffer {
  const out = Buffer.allocUnsafe(room);
  let offset = HEADER_BYTES;
  let hasNulls = false;
  for (const item of items) {
    const value = pick(item);
    if (value === null) hasNulls = true;
    const length = value === null ? NULL_LENGTH : write(out, value, offset + 4);
    offset = out.writeInt32BE(length, offset) + Math.max(0, length);
  }
  return finished(out, oid, items.length, hasNulls, offset);
}

function finished(out: Buffer, oid: number, count: number, hasNulls: boolean, end: number): Buffer {
  out.writeInt32BE(count === 0 ? 0 : 1, 0); // dimensions
  out.writeInt32BE(hasNulls ? 1 : 0, 4);
  out.writeInt32BE(oid, 8);
  if (count === 0) return out.subarray(0, 12);
  out.writeInt32BE(count, 12);
  out.writeInt32BE(1, 16); // the first subscript
  return out.subarray(0, end);
}
