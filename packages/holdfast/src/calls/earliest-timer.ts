import type { Clock, Timer } from "../ports/clock.ts";

/** One timer for many wishes: it rings at the earliest of them. */
export class EarliestTimer {
  readonly #clock: Clock;
  readonly #ring: () => void;
  readonly #passive: boolean;
  #timer: Timer | undefined;
  #at = Number.POSITIVE_INFINITY;

  /** A passive timer keeps no process alive, and does not make a virtual clock go on. */
  constructor(clock: Clock, ring: () => void, kind: "active" | "passive" = "active") {
    this.#passive = kind === "passive";
    this.#clock = clock;
    this.#ring = ring;
  }

  /** Rings in `delayMs` at the latest. */
  ringIn(delayMs: number): void {
    const wait = Math.max(0, delayMs);
    const at = this.#clock.monotonic() + wait;
    if (at >= this.#at) return;
    this.#timer?.cancel();
    this.#at = at;
    this.#timer = this.#clock.setTimer(wait, () => {
      this.#at = Number.POSITIVE_INFINITY;
      this.#ring();
    });
    if (!this.#passive) return;
    this.#timer.unref?.();
    this.#timer.follow?.();
  }

  cancel(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#at = Number.POSITIVE_INFINITY;
  }
}
