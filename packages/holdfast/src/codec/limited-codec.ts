import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import { describeValue } from "../errors/safe-read.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { Limits } from "../model/limits.ts";
import type { Payload } from "../model/payload.ts";
import type { Codec } from "../ports/codec.ts";
import type { Logger } from "../ports/logger.ts";

/** How many places are remembered as reported; bounded, because code may generate op names. */
const REPORTED_MAX = 1_000;

/** What a codec of the application throws has a code as well, and what it returns can be stored. */
function encoded(codec: Codec, value: unknown, where: string): Payload {
  let payload: unknown;
  try {
    payload = codec.encode(value, where);
  } catch (error) {
    throw failed(codec, "encode", `the ${where}`, error);
  }
  if (payload instanceof Uint8Array) return payload;
  const returned = payload instanceof Promise ? "a promise: it must not be async" : shownValue(payload);
  const message = `Codec "${codec.name}" cannot be used: encode() must return a Uint8Array, but for the ${where} it returned ${returned}.`;
  throw new HoldfastError("codec_failed", message, { data: { codec: codec.name, where } });
}

function failed({ name }: Codec, call: "encode" | "decode", what: string, error: unknown): unknown {
  if (isHoldfastError(error)) return error;
  const message = `Codec "${name}" failed to ${call} ${what}: ${describeValue(error)}`;
  return new HoldfastError("codec_failed", message, { data: { codec: name }, cause: error });
}

/** A codec that refuses values that are too large: a history is read many times, and a database is not a file store. */
export function limitPayloads(codec: Codec, limits: Limits, log: Logger): Codec {
  const reported = new Set<string>();
  const { payloadWarnBytes, payloadMaxBytes } = limits;
  return {
    name: codec.name,
    decode(payload): unknown {
      try {
        return codec.decode(payload);
      } catch (error) {
        throw failed(codec, "decode", "a stored value", error);
      }
    },
    // Without the limits: the value is stored already.
    ...(codec.reencode ? { reencode: (payload: Payload) => codec.reencode?.(payload) ?? payload } : {}),
    encode(value, where): Payload {
      const payload = encoded(codec, value, where);
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
