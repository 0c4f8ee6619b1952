import { randomFillSync } from "node:crypto";
import type { Random } from "../ports/random.ts";

/** A system call costs far more than the bytes: it asks for many at once. */
const POOL_BYTES = 4096;
let pool = new Uint8Array(0);
let used = 0;

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes(length) {
    if (length > POOL_BYTES) return randomFillSync(new Uint8Array(length));
    if (used + length > pool.length) {
      // A new buffer each time: callers may keep their part of the old one.
      pool = randomFillSync(new Uint8Array(POOL_BYTES));
      used = 0;
    }
    used += length;
    return pool.subarray(used - length, used);
  },
};
