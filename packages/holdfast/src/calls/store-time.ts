import type { Clock } from "../ports/clock.ts";

/** A reply that moves the estimate by more than this is believed only when the next one agrees with it. */
const JUMP_MS = 500;

/**
 * An estimate of the store's clock, from the `now` in its replies. Events are stamped with it and local timers are measured
 * by it; whether something is really due is the store's decision.
 */
export class StoreTime {
  readonly #clock: Clock;
  /** Store time minus our monotonic clock, and the uncertainty of the reply that it came from. */
  #offsetMs: number | undefined;
  #uncertaintyMs = Number.POSITIVE_INFINITY;
  /** A reply that does not fit the estimate; one may be wrong, two mean that a clock was set. */
  #doubtfulOffsetMs: number | undefined;
  #latestSeen = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** A reply to a call sent at `sentAt` (monotonic) said `storeNow`. */
  observe(storeNow: number, sentAt: number): void {
    const uncertaintyMs = (this.#clock.monotonic() - sentAt) / 2;
    const offsetMs = storeNow - (sentAt + uncertaintyMs);
    if (this.#offsetMs !== undefined && Math.abs(offsetMs - this.#offsetMs) > JUMP_MS + uncertaintyMs) {
      const confirmed =
        this.#doubtfulOffsetMs !== undefined && Math.abs(offsetMs - this.#doubtfulOffsetMs) <= JUMP_MS + uncertaintyMs;
      this.#doubtfulOffsetMs = confirmed ? undefined : offsetMs;
      if (confirmed) this.#adopt(offsetMs, uncertaintyMs, storeNow);
      return;
    }
    this.#doubtfulOffsetMs = undefined;
    const latestSeen = Math.max(this.#latestSeen, storeNow);
    // Quick replies are more precise; old knowledge fades, because clocks drift.
    if (uncertaintyMs <= this.#uncertaintyMs * 1.2 + 1) this.#adopt(offsetMs, uncertaintyMs, latestSeen);
    else {
      this.#uncertaintyMs += 1;
      this.#latestSeen = latestSeen;
    }
  }

  /** Never earlier than what the store has already reported, unless its clock was set back. */
  now(): number {
    if (this.#offsetMs === undefined) return Math.max(this.#latestSeen, this.#clock.now());
    return Math.max(this.#latestSeen, Math.floor(this.#clock.monotonic() + this.#offsetMs));
  }

  #adopt(offsetMs: number, uncertaintyMs: number, latestSeen: number): void {
    this.#offsetMs = offsetMs;
    this.#uncertaintyMs = uncertaintyMs;
    this.#latestSeen = latestSeen;
  }
}
