/** So many are remembered; what was seen longest ago is forgotten first. */
const KEPT_MAX = 50_000;

/**
 * Since when something has looked the way it does. It is kept in memory: a worker that takes the watch over begins to count anew, and
 * finds things later than it might, never earlier.
 */
export class Sightings {
  readonly #seen = new Map<string, { readonly mark: string; readonly since: number }>();

  /** Notes that it looks like this now, and returns since when it has. */
  since(key: string, mark: string, now: number): number {
    const known = this.#seen.get(key);
    const since = known?.mark === mark ? known.since : now;
    // What was seen now is forgotten last.
    this.#seen.delete(key);
    this.#seen.set(key, { mark, since });
    if (this.#seen.size > KEPT_MAX) {
      const [oldest] = this.#seen.keys();
      this.#seen.delete(oldest as string);
    }
    return since;
  }

  clear(): void {
    this.#seen.clear();
  }
}
