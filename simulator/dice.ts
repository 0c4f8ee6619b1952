import type { Random } from "../packages/holdfast/src/ports/random.ts";

/**
 * Seeded randomness (sfc32). Every part of the simulator has its own dice, so that a change in one part does not affect
 * the others.
 */
export class Dice implements Random {
  #a: number;
  #b: number;
  #c: number;
  #d = 1;

  constructor(seed: string) {
    let hash = 0x811c9dc5;
    const mix = (salt: number): number => {
      hash ^= salt;
      for (let i = 0; i < seed.length; i++) hash = Math.imul(hash ^ seed.charCodeAt(i), 0x01000193);
      hash ^= hash >>> 15;
      return hash | 0;
    };
    this.#a = mix(0x9e3779b9);
    this.#b = mix(0x85ebca6b);
    this.#c = mix(0xc2b2ae35);
    for (let i = 0; i < 12; i++) this.#next32();
  }

  #next32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A number in [0, 1). */
  next(): number {
    return this.#next32() / 4294967296;
  }

  bytes(length: number): Uint8Array {
    const bytes = new Uint8Array(length);
    for (let i = 0; i < length; i++) bytes[i] = this.#next32() & 255;
    return bytes;
  }

  /** A whole number from `least` to `most`, both included. */
  int(least: number, most: number): number {
    return least + Math.floor(this.next() * (most - least + 1));
  }

  /** A number in between, uniformly distributed. */
  between(least: number, most: number): number {
    return least + this.next() * (most - least);
  }

  chance(probability: number): boolean {
    return probability > 0 && this.next() < probability;
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.next() * choices.length)] as T;
  }

  /** One of the names, by weight; undefined if all weights are 0. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K | undefined {
    const entries = Object.entries(weights) as [K, number][];
    let left = this.next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [name, weight] of entries) {
      left -= weight;
      if (weight > 0 && left < 0) return name;
    }
    return undefined;
  }
}
