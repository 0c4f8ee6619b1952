interface Entry {
  readonly at: number;
  readonly runId: string;
}

/** Runs by when they are due. Most become due in the order in which they come. */
export class DueOrder {
  readonly #entries: Entry[] = [];

  /** The run that is due last. */
  get last(): Entry | undefined {
    return this.#entries.at(-1);
  }

  add(at: number, runId: string): void {
    const entry = { at, runId };
    const place = this.#placeOf(entry);
    if (place === this.#entries.length) this.#entries.push(entry);
    else this.#entries.splice(place, 0, entry);
  }

  remove(at: number, runId: string): void {
    const place = this.#placeOf({ at, runId });
    if (place === 0) this.#entries.shift();
    else this.#entries.splice(place, 1);
  }

  clear(): void {
    this.#entries.length = 0;
  }

  /** Where it is, or belongs. */
  #placeOf({ at, runId }: Entry): number {
    let [from, to] = [0, this.#entries.length];
    while (from < to) {
      const middle = (from + to) >> 1;
      const other = this.#entries[middle] as Entry;
      if (other.at < at || (other.at === at && other.runId < runId)) from = middle + 1;
      else to = middle;
    }
    return from;
  }
}
