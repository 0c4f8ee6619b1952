import { createHash } from "node:crypto";
import { formatUuid } from "../../model/ids.ts";

/**
 * Randomness of one run: a counter-free generator (sfc32) whose seed is stored with the run, so that every replay draws the
 * same numbers without any write.
 */
export class SeededRandom {
  /** Of what is the same throughout the run. */
  readonly #runSeed: string;
  #a: number;
  #b: number;
  #c: number;
  #d = 1;

  constructor(seed: string, runSeed = seed) {
    this.#runSeed = runSeed;
    const hash = createHash("sha256").update(seed).digest();
    this.#a = hash.readUInt32LE(0);
    this.#b = hash.readUInt32LE(4);
    this.#c = hash.readUInt32LE(8);
  }

  #next32(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#d) | 0;
    this.#d = (this.#d + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }

  /** A number in [0, 1) with 53 random bits. */
  next(): number {
    const high = this.#next32() >>> 5;
    const low = this.#next32() >>> 6;
    return (high * 67108864 + low) / 9007199254740992;
  }

  uuid(): string {
    const bytes = new Uint8Array(16);
    const view = new DataView(bytes.buffer);
    for (let i = 0; i < 16; i += 4) view.setUint32(i, this.#next32());
    return formatUuid(bytes, 4);
  }

  /** The same for the same name, wherever in the run it is asked for. */
  uuidOf(name: string): string {
    return formatUuid(
      Uint8Array.from(createHash("sha256").update(`${this.#runSeed}\n${name}`).digest().subarray(0, 16)),
      8,
    );
  }
}
