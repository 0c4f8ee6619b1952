import type { Clock } from "../ports/clock.ts";

/**
 * An estimate of the store's clock, from the `now` that its replies carry. Events are stamped with it and local timers are
 * measured by it; whether something is really due is the store's decision.
 */
export class StoreTime {
  readonly #clock: Clock;
  /** Store time minus our monotonic clock, and the uncertainty of the reply that told us. */
  #offsetMs: number | undefined;
  #uncertaintyMs = Number.POSITIVE_INFINITY;
  #latestSeen = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A reply to a call sent at `sentAt` (monotonic) said `storeNow`. */
  observe(storeNow: number, sentAt: number): void {
    const receivedAt = this.#clock.monotonic();
    const uncertaintyMs = (receivedAt - sentAt) / 2;
    // Quick replies tell more; old knowledge is allowed to fade, because clocks drift.
    if (uncertaintyMs <= this.#uncertaintyMs * 1.2 + 1) {
      this.#offsetMs = storeNow - (sentAt + uncertaintyMs);
      this.#uncertaintyMs = uncertaintyMs;
    } else this.#uncertaintyMs += 1;
    this.#latestSeen = Math.max(this.#latestSeen, storeNow);
  }

  /** Never earlier than what the store has already told us. */
  now(): number {
    const estimate =
      this.#offsetMs === undefined ? this.#clock.now() : Math.floor(this.#clock.monotonic() + this.#offsetMs);
    return Math.max(this.#latestSeen, estimate);
  }
}
