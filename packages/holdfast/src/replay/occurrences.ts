import { appended, NONE } from "../model/short-list.ts";

/** A list of so many names is searched as fast as a map. */
const FEW = 16;

/**
 * How many times each name was asked for. Most runs use few names, once each: they are a list, because the tables of a map grow and are
 * copied several times on the way to ten names, and live as long as the run.
 */
export class Occurrences {
  #names: readonly string[] = NONE;
  /** Of those that were asked for more than once. */
  #repeated: Map<string, number> | undefined;
  /** All of them, once they are not few. */
  #many: Map<string, number> | undefined;

  get(name: string): number {
    if (this.#many) return this.#many.get(name) ?? 0;
    return this.#names.includes(name) ? this.#countOf(name) : 0;
  }

  set(name: string, count: number): void {
    if (this.#many) return void this.#many.set(name, count);
    if (!this.#names.includes(name)) this.#names = appended(this.#names, name);
    if (count > 1) {
      this.#repeated ??= new Map();
      this.#repeated.set(name, count);
    }
    if (this.#names.length > FEW) this.#many = new Map(this.#names.map((known) => [known, this.#countOf(known)]));
  }

  #countOf(name: string): number {
    return this.#repeated?.get(name) ?? 1;
  }
}
