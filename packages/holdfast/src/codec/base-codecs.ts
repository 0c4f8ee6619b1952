import { EMPTY_PAYLOAD, type Payload } from "../model/payload.ts";
import type { Codec } from "../ports/codec.ts";
import { isPlain, jsonCodec, payloadEncoding } from "./json-codec.ts";
import { readMarked } from "./marked-payload.ts";
import { packMessage, unpackMessage } from "./message-pack.ts";
import { MESSAGE_PACK_MARK } from "./payload-mark.ts";
import { encodeTags } from "./tag-encoder.ts";

const JSON_CODEC: Codec = { name: "json", encode: jsonCodec.encode, decode, reencode };
const MESSAGE_PACK_CODEC: Codec = { name: "message-pack", encode: encodeMessagePack, decode, reencode: repack };

/**
 * JSON, readable in the database: what a client without the option `codec` writes. Keeps Date, Map, Set, BigInt, binary
 * data, undefined, Error and more. It reads what every codec of `holdfast/codecs` has written, but for encrypted values,
 * which need their key.
 */
export function json(): Codec {
  return JSON_CODEC;
}

/**
 * MessagePack: the same values as `json()`, in fewer bytes, most of all binary data; not readable in the database. A value
 * that MessagePack would change (half a surrogate pair in a string, a key named `__proto__`) or that is nested more than
 * 200 levels deep is written as JSON. Reads what `json()` reads.
 */
export function messagePack(): Codec {
  return MESSAGE_PACK_CODEC;
}

function encodeMessagePack(value: unknown, where: string): Payload {
  if (value === undefined) return EMPTY_PAYLOAD;
  const wire = isPlain(value) ? value : encodeTags(value, where, "bytes");
  return packMessage(wire) ?? jsonCodec.encode(value, where);
}

function decode(payload: Payload): unknown {
  if (payload.length > 0 && payloadEncoding(payload) !== "json") return readMarked(payload, decode, unpackMessage);
  return jsonCodec.decode(payload);
}

function reencode(payload: Payload): Payload {
  return payloadEncoding(payload) === "json" ? payload : jsonCodec.encode(decode(payload), "value");
}

function repack(payload: Payload): Payload {
  if (payload.length === 0 || payload[0] === MESSAGE_PACK_MARK) return payload;
  return encodeMessagePack(decode(payload), "value");
}
