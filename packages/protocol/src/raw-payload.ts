import type { Payload as Bytes, Codec } from "holdfast/adapter";

/** A value that nobody here has decoded. */
export class RawPayload {
  readonly bytes: Bytes;

  constructor(bytes: Bytes) {
    this.bytes = bytes;
  }
}

/** Passes bytes through: what a client with this codec receives are `RawPayload`s, and so is what its user sends. */
export const rawCodec: Codec = {
  name: "raw",
  encode(value, where): Bytes {
    if (value === undefined) return new Uint8Array(0);
    if (value instanceof RawPayload) return value.bytes;
    // The client's own values: `true` for a signal without a payload.
    const text: string | undefined = JSON.stringify(value);
    if (text === undefined) throw new TypeError(`The ${where} is not a RawPayload`);
    return new TextEncoder().encode(text);
  },
  decode(bytes): RawPayload {
    return new RawPayload(bytes);
  },
};
