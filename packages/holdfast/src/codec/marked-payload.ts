import { HoldfastError } from "../errors/holdfast-error.ts";
import type { Payload } from "../model/payload.ts";
import { decompress } from "./compression.ts";
import { keyIdOf, keyMissing } from "./encryption.ts";
import { COMPRESSED_MARK, ENCRYPTED_MARK, MESSAGE_PACK_MARK } from "./payload-mark.ts";

/** Reads a payload that is not JSON text, without keys. `read` reads what was inside a compressed one. */
export function readMarked(
  payload: Payload,
  read: (inner: Payload) => unknown,
  unpack: (payload: Payload) => unknown = noMessagePack,
): unknown {
  const mark = payload[0];
  if (mark === COMPRESSED_MARK) return read(decompress(payload));
  if (mark === MESSAGE_PACK_MARK) return unpack(payload);
  if (mark === ENCRYPTED_MARK) throw keyMissing(keyIdOf(payload));
  throw new HoldfastError(
    "codec_failed",
    `A stored value has the encoding binary-${mark}, which this version of Holdfast does not know; a newer one may have written it`,
    { data: { encoding: `binary-${mark}` } },
  );
}

function noMessagePack(): never {
  const advice = `Connect with codec: json() or messagePack() from "holdfast/codecs"; both read it.`;
  throw new HoldfastError("codec_failed", `A stored value is MessagePack. ${advice}`, {
    data: { encoding: "message-pack" },
  });
}
