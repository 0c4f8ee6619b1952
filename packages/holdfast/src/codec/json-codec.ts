import { Buffer } from "node:buffer";
import { types } from "node:util";
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import { EMPTY_PAYLOAD, type Payload } from "../model/payload.ts";
import { readMarked } from "./marked-payload.ts";
import { MARK_MAX } from "./payload-mark.ts";
import { flatCopy, isPrimitive, RecentValues } from "./recent-values.ts";
import { DEPTH_MAX, TAG_KEY, TAG_KEY_JSON } from "./tag.ts";
import { decodeTags } from "./tag-decoder.ts";
import { encodeTags } from "./tag-encoder.ts";

// Fatal: damaged bytes must be reported, not replaced by question marks.
const textDecoder = new TextDecoder("utf-8", { fatal: true });

/** The size of the buffer that small values share, one after the other. */
const SHARED_BYTES = 8_192;
const SHARED_BYTES_MAX = 1_024;
let shared = Buffer.alloc(0);
let used = 0;
/** What the values in the present shared buffer, and in the one before, are read as. */
let written = new RecentValues(SHARED_BYTES);
let writtenBefore = new RecentValues(SHARED_BYTES);

/**
 * JSON, readable in the database, that keeps what JSON alone would lose: Date, Map, Set, BigInt, binary data,
 * undefined, NaN, ±Infinity, -0, Error, RegExp, URL. Class instances become what their `toJSON` returns, and are
 * refused if they have none: they would come back without their methods. `undefined` alone is zero bytes. It also reads
 * compressed values; `json()` from `holdfast/codecs` reads MessagePack too, and writes the same.
 */
export const jsonCodec: {
  readonly name: "json";
  encode(value: unknown, where: string): Payload;
  decode(bytes: Payload): unknown;
  reencode(bytes: Payload): Payload;
} = { name: "json", encode, decode, reencode };

/** The encoding that a payload declares. */
export function payloadEncoding(bytes: Payload): "json" | `binary-${number}` {
  const mark = bytes[0];
  return mark !== undefined && mark >= 1 && mark <= MARK_MAX ? `binary-${mark}` : "json";
}

function encode(value: unknown, where: string): Payload {
  if (value === undefined) return EMPTY_PAYLOAD;
  const copy = flatCopy(value);
  const wire = copy ?? (isPlain(value) ? value : encodeTags(value, where));
  try {
    return bytesOf(JSON.stringify(wire), copy);
  } catch (cause) {
    // The text would be longer than a string can be.
    throw new HoldfastError("unserializable_value", `${where} cannot be stored: ${String(cause)}`, {
      data: { where },
      cause,
    });
  }
}

/**
 * Small values share a buffer: one allocation outside the heap per value would cost more than everything else. `copy`: what the
 * text is read as, if that is known.
 */
function bytesOf(text: string, copy: object | undefined): Payload {
  // Each UTF-16 unit takes at most three bytes.
  const roomMax = text.length * 3;
  if (roomMax > SHARED_BYTES_MAX) {
    const bytes = Buffer.from(text);
    return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length);
  }
  if (used + roomMax > shared.length) {
    shared = Buffer.allocUnsafeSlow(SHARED_BYTES);
    used = 0;
    [written, writtenBefore] = [writtenBefore, written];
    written.clear();
  }
  const length = shared.write(text, used);
  const bytes = new Uint8Array(shared.buffer, used, length);
  used += length;
  if (copy !== undefined) written.put(bytes, copy);
  return bytes;
}

function decode(bytes: Payload): unknown {
  if (bytes.length === 0) return undefined;
  const known = written.take(bytes) ?? writtenBefore.take(bytes);
  if (known !== undefined) return known;
  if (payloadEncoding(bytes) !== "json") return readMarked(bytes, decode);
  try {
    const text = textDecoder.decode(bytes);
    const parsed: unknown = JSON.parse(text);
    return text.includes(TAG_KEY_JSON) ? decodeTags(parsed) : parsed;
  } catch (cause) {
    if (isHoldfastError(cause)) throw cause;
    throw new HoldfastError("codec_failed", `A stored value of ${bytes.length} bytes cannot be read as JSON`, {
      cause,
    });
  }
}

function reencode(bytes: Payload): Payload {
  return payloadEncoding(bytes) === "json" ? bytes : encode(decode(bytes), "value");
}

/** Whether nothing in the value needs a tag. */
export function isPlain(value: unknown): boolean {
  try {
    return isPlainJson(value, 0);
  } catch {
    return false; // a getter that throws; the slow path reports where
  }
}

/** Whether JSON.stringify alone is enough. A cycle reaches the depth limit and goes to the slow path. */
function isPlainJson(value: unknown, depth: number): boolean {
  if (typeof value !== "object" || value === null) return isPrimitive(value);
  if (depth >= DEPTH_MAX || (value as { toJSON?: unknown }).toJSON !== undefined) return false;
  return Array.isArray(value) ? isPlainList(value, depth + 1) : isPlainObject(value, depth + 1);
}

function isPlainList(values: readonly unknown[], depth: number): boolean {
  if (Object.getPrototypeOf(values) !== Array.prototype) return false;
  for (let index = 0; index < values.length; index++) if (!isPlainJson(values[index], depth)) return false;
  return true;
}

function isPlainObject(value: object, depth: number): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return false;
  // Includes inherited enumerable fields, in case a program added some to all objects: the slow path then checks.
  let empty = true;
  for (const key in value) {
    if (key === TAG_KEY || !isPlainJson((value as Record<string, unknown>)[key], depth)) return false;
    empty = false;
  }
  // A proxy may answer to every name and list none.
  return !empty || !types.isProxy(value);
}
