import { HoldfastError } from "../errors/holdfast-error.ts";
import type { Limits } from "../model/limits.ts";
import type { Payload } from "../model/payload.ts";
import type { Codec } from "../ports/codec.ts";
import type { Logger } from "../ports/logger.ts";

/** How many places are remembered as reported; bounded, because code may generate op names. */
const REPORTED_MAX = 1_000;

/** A codec that refuses values that are too large: a history is read many times, and a database is not a file store. */
export function limitPayloads(codec: Codec, limits: Limits, log: Logger): Codec {
  const reported = new Set<string>();
  const { payloadWarnBytes, payloadMaxBytes } = limits;
  return {
    name: codec.name,
    decode: (payload) => codec.decode(payload),
    // Without the limits: the value is stored already.
    ...(codec.reencode ? { reencode: (payload: Payload) => codec.reencode?.(payload) ?? payload } : {}),
    encode(value, where): Payload {
      const payload = codec.encode(value, where);
      const bytes = payload.length;
      if (bytes > payloadMaxBytes) {
        const advice = "Store large data elsewhere and pass a reference, or raise limits.payloadMaxBytes.";
        const message = `The ${where} has ${bytes} bytes; the limit is ${payloadMaxBytes}. ${advice}`;
        throw new HoldfastError("payload_too_large", message, { data: { where, bytes, payloadMaxBytes } });
      }
      if (bytes > payloadWarnBytes && !reported.has(where)) {
        if (reported.size >= REPORTED_MAX) reported.clear();
        reported.add(where);
        log.warn({ where, bytes, payloadMaxBytes }, "a payload is large; payloads above payloadMaxBytes are refused");
      }
      return payload;
    },
  };
}
