const KEPT = 256;
/** Older calls say nothing about how the store answers now: an outage would be seen as slowness for hours where there are few calls. */
const KEPT_MS = 60_000;

/** How long the last calls took: at most 256, and those of the last minute only. */
export class RecentLatency {
  readonly #took = new Float64Array(KEPT);
  readonly #at = new Float64Array(KEPT);
  #count = 0;

  /** `now`: by a clock that is never set. */
  add(ms: number, now: number): void {
    const place = this.#count % KEPT;
    this.#took[place] = ms;
    this.#at[place] = now;
    this.#count += 1;
  }

  /** Undefined if there was no call. */
  percentiles(now: number): { readonly p50Ms: number; readonly p99Ms: number } | undefined {
    const taken = Math.min(this.#count, KEPT);
    const sorted = this.#took
      .slice(0, taken)
      .filter((_, i) => now - (this.#at[i] as number) <= KEPT_MS)
      .sort();
    if (sorted.length === 0) return undefined;
    const at = (share: number): number => sorted[Math.ceil(share * sorted.length) - 1] ?? 0;
    const rounded = (ms: number): number => Math.round(ms * 100) / 100;
    return { p50Ms: rounded(at(0.5)), p99Ms: rounded(at(0.99)) };
  }
}
