import type { Random } from "../ports/random.ts";
import { SeededRandom } from "../replay/context/seeded-random.ts";

/** Randomness for the engine, from a seed. */
export class SeededSource implements Random {
  readonly #random: SeededRandom;

  constructor(seed: number) {
    this.#random = new SeededRandom(`engine ${seed}`);
  }

  next(): number {
    return this.#random.next();
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => Math.floor(this.#random.next() * 256));
  }
}
