/** Whoever guesses tokens is made to wait, by address: the store is not asked in the meantime. */
import { type Clock, HoldfastError } from "holdfast/adapter";

const FAILURES_MAX = 20;
const WINDOW_MS = 60_000;
const ADDRESSES_MAX = 10_000;

export class FailedLogins {
  readonly #clock: Clock;
  readonly #failures = new Map<string, { count: number; since: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  requirePatience(address: string): void {
    const known = this.#failures.get(address);
    if (!known || known.count < FAILURES_MAX) return;
    const waitMs = known.since + WINDOW_MS - this.#clock.monotonic();
    if (waitMs <= 0) return void this.#failures.delete(address);
    throw new HoldfastError(
      "rate_limited",
      "Too many calls with a wrong token or signature have come from this address.",
      {
        data: { retryAfterMs: Math.ceil(waitMs) },
      },
    );
  }

  /** How many there were in this minute, with this one. */
  note(address: string): number {
    const now = this.#clock.monotonic();
    const known = this.#failures.get(address);
    if (known && now - known.since < WINDOW_MS) {
      known.count += 1;
      return known.count;
    }
    if (this.#failures.size >= ADDRESSES_MAX) this.#failures.delete(this.#failures.keys().next().value as string);
    this.#failures.set(address, { count: 1, since: now });
    return 1;
  }
}
