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
  /**
   * The same value as `encode` would write it today; the payload itself, the very same object, if nothing is to be done. It is
   * what `hf.reencode` needs: without it nobody can tell an old payload from a new one.
   */
  reencode?(payload: Payload): Payload;
}
