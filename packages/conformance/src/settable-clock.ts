import type { Clock, Timer } from "holdfast/adapter";
import { VirtualClock } from "holdfast/testing";

/** Stands still until it is set. Stores need no timers. */
export class SettableClock implements Clock {
  readonly #loop = new VirtualClock();
  ms = 0;

  now(): number {
    return this.ms;
  }

  monotonic(): number {
    return this.ms;
  }

  setTimer(delayMs: number, callback: () => void): Timer {
    return this.#loop.setTimer(delayMs, callback);
  }

  immediate(callback: () => void): void {
    this.#loop.immediate(callback);
  }
}
