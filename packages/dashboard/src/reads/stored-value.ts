/** Payloads stay bytes until somebody looks at one: a page of a run with 50,000 ops decodes none of them. */
import type { Codec, Payload } from "holdfast/adapter";

export class StoredValue {
  readonly bytes: Payload;

  constructor(bytes: Payload) {
    this.bytes = bytes;
  }
}

/** What clients that only look decode with. */
export function viewingCodec(codec: Codec): Codec {
  return {
    name: codec.name,
    encode: (value, where) => (value instanceof StoredValue ? value.bytes : codec.encode(value, where)),
    decode: (payload) => (payload.length === 0 ? undefined : new StoredValue(payload)),
  };
}
