import { appended } from "../model/short-list.ts";

/** A list of so many names is searched as fast as a map. */
const FEW = 16;

/**
 * How many times each name was asked for. Most runs use few names: they are a list, because the tables of a map grow and are copied
 * several times on the way to ten names, and live as long as the run.
 */
export class Occurrences {
  #names: string[] = [];
  #counts: number[] = [];
  /** All of them, once they are not few. */
  #many: Map<string, number> | undefined;

  get(name: string): number {
    if (this.#many) return this.#many.get(name) ?? 0;
    const place = this.#names.indexOf(name);
    return place < 0 ? 0 : (this.#counts[place] as number);
  }

  set(name: string, count: number): void {
    if (this.#many) return void this.#many.set(name, count);
    const place = this.#names.indexOf(name);
    if (place >= 0) this.#counts[place] = count;
    else {
      this.#names = appended(this.#names, name);
      this.#counts = appended(this.#counts, count);
      if (this.#names.length > FEW)
        this.#many = new Map(this.#names.map((known, i) => [known, this.#counts[i] as number]));
    }
  }
}
