import { type Codec, jsonCodec } from "holdfast";
import { compressed, encrypted, json, messagePack } from "holdfast/codecs";

/** A key that is different for each number. */
export const keyOf = (n: number): Uint8Array => new Uint8Array(32).fill(n);

const keys = { k1: keyOf(1), k2: keyOf(2) };
const small = { aboveBytes: 0 };

/** Alone, and in each other. */
export const EVERY_CODEC: readonly (readonly [name: string, codec: Codec])[] = [
  ["jsonCodec", jsonCodec],
  ["json()", json()],
  ["messagePack()", messagePack()],
  ["compressed()", compressed(undefined, small)],
  ["compressed(messagePack())", compressed(messagePack(), small)],
  ["encrypted()", encrypted({ current: "k1", keys })],
  ["encrypted(compressed(messagePack()))", encrypted({ current: "k2", keys, inner: compressed(messagePack(), small) })],
  ["compressed(encrypted())", compressed(encrypted({ current: "k1", keys }), small)],
];
