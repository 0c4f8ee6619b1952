import { isHoldfastError } from "../errors/holdfast-error.ts";
import { describeValue } from "../errors/safe-read.ts";
import type { Payload } from "../model/payload.ts";
import type { Codec } from "../ports/codec.ts";

export type ReadableValue =
  | { readonly value: unknown; readonly unreadable?: never }
  | { readonly value?: never; readonly unreadable: string };

/** A stored value; or why nobody can decode it, which must not hide what stands beside it. Throws if only this client lacks the key. */
export function readable(codec: Codec, payload: Payload): ReadableValue {
  try {
    return { value: codec.decode(payload) };
  } catch (error) {
    if (isHoldfastError(error, "codec_key_missing")) throw error;
    return { unreadable: error instanceof Error ? error.message : describeValue(error) };
  }
}
