import { randomBytes } from "node:crypto";

/**
 * Bytes that no other process draws and nobody can guess. Not from the random port: a salt that repeats would repeat nonces,
 * and no decision of the engine depends on it.
 */
export function newSalt(bytes: number): Uint8Array {
  return randomBytes(bytes);
}
