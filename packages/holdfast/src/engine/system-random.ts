import { randomFillSync } from "node:crypto";
import type { Random } from "../ports/random.ts";

/** Asking the system costs much more than the bytes: it is asked for many at once. */
const POOL_BYTES = 4096;
const pool = new Uint8Array(POOL_BYTES);
let used = POOL_BYTES;

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes(length) {
    if (length > POOL_BYTES) return randomFillSync(new Uint8Array(length));
    if (used + length > POOL_BYTES) {
      randomFillSync(pool);
      used = 0;
    }
    used += length;
    return pool.slice(used - length, used);
  },
};
