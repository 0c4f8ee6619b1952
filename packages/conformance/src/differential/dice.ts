import { SeededSource } from "holdfast/testing";

/** Choices from a seed: the same seed makes the same choices. */
export class Dice {
  readonly #source: SeededSource;

  constructor(seed: number) {
    this.#source = new SeededSource(seed);
  }

  /** 0 … below - 1 */
  int(below: number): number {
    return Math.floor(this.#source.next() * below);
  }

  chance(probability: number): boolean {
    return this.#source.next() < probability;
  }

  pick<T>(items: readonly T[]): T | undefined {
    return items[this.int(items.length)];
  }

  /** One of these items; there is at least one. */
  of<T>(...items: readonly [T, ...T[]]): T {
    return items[this.int(items.length)] as T;
  }

  /** Some of the items, in their order, at most `countMax`. */
  some<T>(items: readonly T[], countMax: number): T[] {
    const wanted = 1 + this.int(countMax);
    const chosen = new Set<number>();
    for (let i = 0; i < wanted * 2 && chosen.size < Math.min(wanted, items.length); i++)
      chosen.add(this.int(items.length));
    return items.filter((_, i) => chosen.has(i));
  }
}
