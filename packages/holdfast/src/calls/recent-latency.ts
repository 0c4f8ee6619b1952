const KEPT = 256;

/** How long the last calls took. */
export class RecentLatency {
  readonly #kept = new Float64Array(KEPT);
  #count = 0;

  add(ms: number): void {
    this.#kept[this.#count % KEPT] = ms;
    this.#count += 1;
  }

  /** Undefined if there was no call. */
  percentiles(): { readonly p50Ms: number; readonly p99Ms: number } | undefined {
    if (this.#count === 0) return undefined;
    const sorted = this.#kept.slice(0, Math.min(this.#count, KEPT)).sort();
    const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
    const rounded = (ms: number): number => Math.round(ms * 100) / 100;
    return { p50Ms: rounded(at(0.5)), p99Ms: rounded(at(0.99)) };
  }
}
