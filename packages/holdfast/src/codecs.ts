export { json, messagePack } from "./codec/base-codecs.ts";
export { type CompressedOptions, compressed, type EncryptedOptions, encrypted } from "./codec/wrapping-codecs.ts";
export type { Payload } from "./model/payload.ts";
export type { Codec } from "./ports/codec.ts";
