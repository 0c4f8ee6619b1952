import type { Payload } from "../model/payload.ts";

/** Turns user values into bytes and back. Must be deterministic, and `decode(encode(x))` must not share anything with x. */
export interface Codec {
  readonly name: string;
  /** `where` names the value in the error if it cannot be encoded, for example `input of workflow "order"`. */
  encode(value: unknown, where: string): Payload;
  decode(payload: Payload): unknown;
}
