/**
 * Token buckets: per key and per namespace, for each kind of call. Heartbeats, commits and results are never limited: a refused
 * heartbeat would cost a lease, and what a worker has done would be lost.
 */
import { type Clock, HoldfastError } from "holdfast/adapter";

/** The kinds of calls that are limited. */
export const LIMITED = ["starts", "claims", "reads", "bytes"] as const;
export type Limited = (typeof LIMITED)[number];

/** How many a second, and how many at once. */
export interface Rate {
  readonly perSecond: number;
  readonly burst: number;
}

export type Rates = Readonly<Record<Limited, Rate>>;

export const DEFAULT_RATES: Rates = {
  starts: { perSecond: 2_000, burst: 10_000 },
  claims: { perSecond: 1_000, burst: 5_000 },
  reads: { perSecond: 500, burst: 2_000 },
  bytes: { perSecond: 64 * 1024 * 1024, burst: 256 * 1024 * 1024 },
};

/** So many buckets are remembered; a full one that nobody uses need not be. */
const BUCKETS_MAX = 10_000;

interface Bucket {
  tokens: number;
  at: number;
}

export class RateLimits {
  readonly #clock: Clock;
  readonly #rates: Rates;
  readonly #buckets = new Map<string, Bucket>();

  constructor(clock: Clock, rates: Rates) {
    this.#clock = clock;
    this.#rates = rates;
  }

  /** Takes from the bucket of each, or from none: then it throws `rate_limited`. */
  take(kind: Limited, owners: readonly string[], amount = 1): void {
    const rate = this.#rates[kind];
    const buckets = owners.map((owner) => this.#bucket(`${kind} ${owner}`, rate));
    const short = buckets.findIndex(({ tokens }) => tokens < Math.min(amount, rate.burst));
    if (short !== -1) {
      const missing = Math.min(amount, rate.burst) - (buckets[short] as Bucket).tokens;
      const retryAfterMs = Math.ceil((missing / rate.perSecond) * 1_000);
      const message = `Too many ${kind} for ${owners[short]}: repeat the call in ${retryAfterMs} ms.`;
      throw new HoldfastError("rate_limited", message, { data: { retryAfterMs, kind } });
    }
    for (const bucket of buckets) bucket.tokens -= amount;
  }

  #bucket(name: string, { perSecond, burst }: Rate): Bucket {
    const now = this.#clock.monotonic();
    const known = this.#buckets.get(name);
    // Least recently used first: the map keeps the order of insertion.
    if (known) this.#buckets.delete(name);
    else if (this.#buckets.size >= BUCKETS_MAX) this.#buckets.delete(this.#buckets.keys().next().value as string);
    const tokens = known ? Math.min(burst, known.tokens + ((now - known.at) / 1_000) * perSecond) : burst;
    const bucket = { tokens, at: now };
    this.#buckets.set(name, bucket);
    return bucket;
  }
}
