import type { Clock, Timer } from "../../ports/clock.ts";
import type { Attempt } from "./attempt.ts";

/** After this long a running step is recorded as started, so that it is visible. Short steps pay nothing. */
export const STEP_VISIBLE_AFTER_MS = 1_000;

/** Checks once a second, while anything runs, for attempts that have been running for a while. */
export class StepWatch {
  readonly #clock: Clock;
  readonly #attempts = new Set<Attempt>();
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(attempt: Attempt): void {
    this.#attempts.add(attempt);
    this.#timer ??= this.#clock.setTimer(STEP_VISIBLE_AFTER_MS, this.#look);
  }

  delete(attempt: Attempt): void {
    this.#attempts.delete(attempt);
    if (this.#attempts.size > 0) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  readonly #look = (): void => {
    const before = this.#clock.monotonic() - STEP_VISIBLE_AFTER_MS;
    // In the order in which they started: the first young one ends the search.
    for (const attempt of this.#attempts) {
      if (attempt.startedAt > before) break;
      this.#attempts.delete(attempt);
      if (!attempt.recorded) attempt.noteStarted();
    }
    this.#timer = this.#attempts.size > 0 ? this.#clock.setTimer(STEP_VISIBLE_AFTER_MS, this.#look) : undefined;
  };
}
