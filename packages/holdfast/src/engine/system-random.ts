import { randomFillSync } from "node:crypto";
import type { Random } from "../ports/random.ts";

export const systemRandom: Random = {
  next: () => Math.random(),
  bytes: (length) => randomFillSync(new Uint8Array(length)),
};
