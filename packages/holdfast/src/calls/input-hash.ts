import { hash } from "node:crypto";

/** How much of the hash of an input is shown: enough to tell inputs apart. */
const HASH_LENGTH = 16;

/** The beginning of the SHA-256 of an input, as it is stored. */
export function inputHash(payload: Uint8Array = new Uint8Array()): string {
  return hash("sha256", payload).slice(0, HASH_LENGTH);
}
