import { Buffer } from "node:buffer";
// Without msgpackr's optional native part: the entry point "msgpackr" would load it.
import { Packr, RESERVE_START_SPACE } from "msgpackr/pack";
import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import type { Payload } from "../model/payload.ts";
import { MESSAGE_PACK_MARK } from "./payload-mark.ts";
import { TAG_KEY } from "./tag.ts";
import { decodeTags } from "./tag-decoder.ts";

// Plain MessagePack that any implementation reads: no records, no extensions.
const packr = new Packr({ useRecords: false, mapsAsObjects: true, variableMapSize: true, int64AsType: "number" });

/** msgpackr needs several times the stack of JSON.stringify for each level. */
const WIRE_DEPTH_MAX = 200;
/** Matches half a surrogate pair, and not the halves of a whole one. */
const HALF_PAIR = /\p{Surrogate}/u;

/**
 * The bytes of a value that JSON could hold, but that may have bytes in it; undefined if MessagePack would change it: its
 * strings are UTF-8, which has no half surrogate pairs, and msgpackr renames keys called `__proto__`; or if it is nested too
 * deeply for it.
 */
export function packMessage(wire: unknown): Payload | undefined {
  if (!survives(wire, 0)) return undefined;
  const packed = packr.pack(wire, RESERVE_START_SPACE + 1);
  packed[0] = MESSAGE_PACK_MARK;
  return new Uint8Array(packed.buffer, packed.byteOffset, packed.length);
}

/** The value of a payload that has the mark of MessagePack. */
export function unpackMessage(payload: Payload): unknown {
  const packed = Buffer.from(payload.buffer, payload.byteOffset + 1, payload.length - 1);
  try {
    const value: unknown = packr.unpack(packed);
    return packed.includes(TAG_KEY) ? decodeTags(value) : value;
  } catch (cause) {
    if (isHoldfastError(cause)) throw cause;
    const message = `A stored value of ${payload.length} bytes cannot be read as MessagePack`;
    throw new HoldfastError("codec_failed", message, { cause });
  }
}

function survives(wire: unknown, depth: number): boolean {
  if (typeof wire === "string") return !HALF_PAIR.test(wire);
  if (typeof wire !== "object" || wire === null || ArrayBuffer.isView(wire)) return true;
  if (depth >= WIRE_DEPTH_MAX) return false;
  if (Array.isArray(wire)) return wire.every((member) => survives(member, depth + 1));
  for (const key in wire) {
    if (key === "__proto__" || HALF_PAIR.test(key)) return false;
    if (!survives((wire as Record<string, unknown>)[key], depth + 1)) return false;
  }
  return true;
}
