import type { Payload } from "../model/payload.ts";

/**
 * Turns user values into bytes and back. `decode(encode(x))` must not share anything with x. The same value may have
 * different bytes each time (an encrypted one does): nothing compares payloads. `undefined` must be zero bytes, and nothing
 * else: the engine looks at the length instead of decoding.
 */
export interface Codec {
  readonly name: string;
  /** `where` names the value in the error if it cannot be encoded, for example `input of workflow "order"`. */
  encode(value: unknown, where: string): Payload;
  decode(payload: Payload): unknown;
}
