/** So many removals are few enough that what they leave behind does not count, and many enough that a copy costs next to nothing. */
const REMOVALS_MIN = 32;

/**
 * A map through which entries pass. V8 replaces the table of a `Map` every few removals, and leaves the old table as it was, with a
 * reference to its successor. Once one of them has reached the old generation, it keeps all that follow alive, and with them whatever has
 * passed through the map, until the next full collection: tens of MiB, if these are runs. So the map itself is replaced now and then:
 * no table refers to a new one.
 *
 * For the same reason, whatever a run has and that leads back to it is an object of a class, and no literal. Where the objects of a
 * literal have lived long, as those of suspended runs do, V8 allocates later ones in the old generation at once. There each of them
 * keeps its run alive when that has ended.
 */
export class PassingMap<K, V> {
  #map = new Map<K, V>();
  #removed = 0;

  get size(): number {
    return this.#map.size;
  }

  get(key: K): V | undefined {
    return this.#map.get(key);
  }

  has(key: K): boolean {
    return this.#map.has(key);
  }

  set(key: K, value: V): void {
    this.#map.set(key, value);
  }

  delete(key: K): boolean {
    if (!this.#map.delete(key)) return false;
    this.#removed += 1;
    if (this.#removed >= REMOVALS_MIN + this.#map.size) this.#replace(new Map(this.#map));
    return true;
  }

  clear(): void {
    this.#replace(new Map());
  }

  /** As they are now; what is removed meanwhile may still come. */
  values(): IterableIterator<V> {
    return this.#map.values();
  }

  /** As they are now; what is removed meanwhile may still come. */
  [Symbol.iterator](): IterableIterator<[K, V]> {
    return this.#map[Symbol.iterator]();
  }

  #replace(map: Map<K, V>): void {
    this.#map = map;
    this.#removed = 0;
  }
}
