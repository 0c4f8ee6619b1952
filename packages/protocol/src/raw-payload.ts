import type { Payload as Bytes, Codec } from "holdfast/adapter";

/** A value that nobody here has decoded. */
export class RawPayload {
  readonly bytes: Bytes;

  constructor(bytes: Bytes) {
    this.bytes = bytes;
  }
}

/** Passes bytes through: what a client with this codec sends and receives are `RawPayload`s. */
export const rawCodec: Codec = {
  name: "raw",
  encode(value, where): Bytes {
    if (value === undefined) return new Uint8Array(0);
    if (value instanceof RawPayload) return value.bytes;
    throw new TypeError(`The ${where} is not a RawPayload`);
  },
  decode(bytes): RawPayload {
    return new RawPayload(bytes);
  },
};
