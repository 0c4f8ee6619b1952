import type { Clock, Timer } from "../../ports/clock.ts";
import type { Attempt } from "./attempt.ts";

/** After this long a running step is recorded as started, so that it is visible. Short steps pay nothing. */
export const STEP_VISIBLE_AFTER_MS = 1_000;

/**
 * Checks once a second, while anything runs, for attempts that have been running for a while. Those that have not been found are a
 * list, in the order in which they started, in which each knows its neighbors: a set would allocate with every step.
 */
export class StepWatch {
  readonly #clock: Clock;
  #oldest: Attempt | undefined;
  #newest: Attempt | undefined;
  #timer: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  add(attempt: Attempt): void {
    const before = this.#newest;
    attempt.before = before;
    if (before) before.after = attempt;
    else this.#oldest = attempt;
    this.#newest = attempt;
    this.#timer ??= this.#clock.setTimer(STEP_VISIBLE_AFTER_MS, this.#look);
  }

  delete(attempt: Attempt): void {
    this.#remove(attempt);
    if (this.#oldest) return;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #remove(attempt: Attempt): void {
    const { before, after } = attempt;
    // One that was found is not in the list any more.
    if (before === undefined && this.#oldest !== attempt) return;
    if (before) before.after = after;
    else this.#oldest = after;
    if (after) after.before = before;
    else this.#newest = before;
    attempt.before = undefined;
    attempt.after = undefined;
  }

  readonly #look = (): void => {
    const until = this.#clock.monotonic() - STEP_VISIBLE_AFTER_MS;
    // The first young one ends the search.
    for (let attempt = this.#oldest; attempt && attempt.startedAt <= until; attempt = this.#oldest) {
      this.#remove(attempt);
      if (!attempt.recorded) attempt.noteStarted();
    }
    this.#timer = this.#oldest ? this.#clock.setTimer(STEP_VISIBLE_AFTER_MS, this.#look) : undefined;
  };
}
