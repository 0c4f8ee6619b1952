/**
 * Bodies: what a call of the store takes and returns, as MessagePack. One mechanism for all calls, with the names of the fields: a
 * new field or call needs nothing here, and whoever does not know it ignores it. Records say the names of a list of alike
 * objects once per body, not once per object.
 */
import { Buffer } from "node:buffer";
import { HoldfastError } from "holdfast/adapter";
// Without msgpackr's optional native part: the entry point "msgpackr" would load it.
import { addExtension, Packr } from "msgpackr/pack";

// Records are of one body only: nothing is remembered from one to the next, so any server reads what any client wrote.
const packr = new Packr({ useRecords: true, mapsAsObjects: true, int64AsType: "number", copyBuffers: true });
// Reads maps as Map, and writes Map.
const mapPackr = new Packr({ useRecords: false, mapsAsObjects: false, int64AsType: "number", copyBuffers: true });

/** A key of this name may be in attributes and labels, but msgpackr never makes one: it would give an object another prototype. */
const PROTO = "__proto__";

/** How deep values are looked into: everything that the port takes is flatter. */
const DEPTH_MAX = 64;

const EMPTY = new Uint8Array(0);

export function packBody(value: unknown): Uint8Array {
  // An empty body is undefined: calls without a result have none.
  if (value === undefined) return EMPTY;
  const packed = packedAsIs(value);
  if (packed && !packed.includes(PROTO) && !mayHaveHalfPairs(packed)) return packed;
  return mapPackr.pack(toMaps(value, 0));
}

/** Undefined if msgpackr stumbles: over an attribute that is called `toJSON`, for example. */
function packedAsIs(value: unknown): Buffer | undefined {
  try {
    return packr.pack(value);
  } catch {
    return undefined;
  }
}

/**
 * A text with half a surrogate pair, which UTF-8 cannot say: messages of errors may have one. It travels as UTF-16, and arrives as
 * the text that it was.
 */
class HalfPairs {
  readonly bytes: Buffer;

  constructor(text: string) {
    this.bytes = Buffer.from(text, "utf16le");
  }
}

addExtension({
  Class: HalfPairs,
  type: 1,
  pack: ({ bytes }: HalfPairs) => bytes,
  unpack: (bytes: Uint8Array) => Buffer.from(bytes).toString("utf16le"),
});

/** Whether a text in it was damaged, or may have been: U+FFFD stands in its place, or what looks like a surrogate. */
function mayHaveHalfPairs(packed: Buffer): boolean {
  if (packed.includes(REPLACEMENT)) return true;
  for (let at = packed.indexOf(SURROGATE_LEAD); at !== -1; at = packed.indexOf(SURROGATE_LEAD, at + 1))
    if (((packed[at + 1] ?? 0) & 0xe0) === 0xa0) return true;
  return false;
}

const REPLACEMENT = Buffer.from("\ufffd");
const SURROGATE_LEAD = 0xed;

/** The same with maps for objects, whatever their keys are called, and with every text as it is. */
function toMaps(value: unknown, depth: number): unknown {
  if (typeof value === "string") return HALF_PAIR.test(value) ? new HalfPairs(value) : value;
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (depth > DEPTH_MAX) throw new HoldfastError("store_refused", "A value is nested too deeply to be sent.");
  if (Array.isArray(value)) return value.map((member) => toMaps(member, depth + 1));
  return new Map(Object.entries(value).map(([key, member]) => [key, toMaps(member, depth + 1)]));
}

/** Matches half a surrogate pair, and not the halves of a whole one. */
const HALF_PAIR = /\p{Surrogate}/u;

/** Throws `store_refused` if it cannot be read. */
export function unpackBody(body: Uint8Array): unknown {
  if (body.length === 0) return undefined;
  try {
    // Not a Buffer: the payloads in it would be Buffers, too.
    const bytes = new Uint8Array(body.buffer, body.byteOffset, body.length);
    if (!Buffer.from(body.buffer, body.byteOffset, body.length).includes(PROTO)) return packr.unpack(bytes);
    return fromMaps(mapPackr.unpack(bytes), 0);
  } catch (cause) {
    throw new HoldfastError("store_refused", `A message of ${body.length} bytes cannot be read.`, { cause });
  }
}

function fromMaps(value: unknown, depth: number): unknown {
  if (typeof value !== "object" || value === null || ArrayBuffer.isView(value)) return value;
  if (depth > DEPTH_MAX) throw new Error("nested too deeply");
  if (Array.isArray(value)) return value.map((member) => fromMaps(member, depth + 1));
  const object = {};
  for (const [key, member] of value instanceof Map ? value : Object.entries(value))
    Object.defineProperty(object, String(key), {
      value: fromMaps(member, depth + 1),
      configurable: true,
      enumerable: true,
      writable: true,
    });
  return object;
}

/** The size of the largest payload in a value. */
export function largestPayload(value: unknown, depth = 0): number {
  if (typeof value !== "object" || value === null || depth > DEPTH_MAX) return 0;
  if (ArrayBuffer.isView(value)) return value.byteLength;
  let largest = 0;
  for (const member of Array.isArray(value) ? value : Object.values(value))
    largest = Math.max(largest, largestPayload(member, depth + 1));
  return largest;
}
