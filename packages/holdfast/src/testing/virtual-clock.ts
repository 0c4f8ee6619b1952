import { HoldfastError } from "../errors/holdfast-error.ts";
import type { CheckedDuration } from "../model/checked-duration.ts";
import { type Duration, durationToMs } from "../model/duration.ts";
import type { Clock, Timer } from "../ports/clock.ts";

/** A Sunday morning in 2026, so that dates in tests look like dates. */
const START_MS = Date.UTC(2026, 0, 4, 8);
/** Rounds of the real event loop without any activity after which the system counts as idle. */
const QUIET_ROUNDS = 3;

/** Rounds for which a step that does real work is waited for before time passes: a few tenths of a second. */
const HELD_ROUNDS_MAX = 350;

/** How far time may jump while a step is doing real work. */
const BUSY_JUMP_MS_MAX = 24 * 3600 * 1000;

interface VirtualTimer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
}

/**
 * A clock that stands still until it is driven: by `advance`, or by somebody who waits for a result. Driven, it lets
 * everything happen that can happen now, and then jumps to the next timer.
 */
export class VirtualClock implements Clock {
  readonly #startMs: number;
  #elapsedMs = 0;
  #timers: VirtualTimer[] = [];
  #order = 0;
  #pendingImmediates = 0;
  #busy = 0;
  #driving: Promise<void> = Promise.resolve();

  constructor(startMs: number = START_MS) {
    this.#startMs = startMs;
  }

  /** Milliseconds since the epoch. */
  now(): number {
    return this.#startMs + this.#elapsedMs;
  }

  /** Milliseconds since the clock was made. */
  monotonic(): number {
    return this.#elapsedMs;
  }

  /** Part of the clock port, which the engine uses: calls back when so much virtual time has passed. */
  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = { at: this.#elapsedMs + Math.max(0, delayMs), order: this.#order++, callback };
    let low = 0;
    for (let high = this.#timers.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((this.#timers[middle] as VirtualTimer).at <= timer.at) low = middle + 1;
      else high = middle;
    }
    this.#timers.splice(low, 0, timer);
    return {
      cancel: () => {
        const index = this.#timers.indexOf(timer);
        if (index >= 0) this.#timers.splice(index, 1);
      },
    };
  }

  /** Part of the clock port, which the engine uses: calls back once whatever runs now is done. */
  immediate(callback: () => void): void {
    this.#pendingImmediates += 1;
    setImmediate(() => {
      this.#pendingImmediates -= 1;
      callback();
    });
  }

  /** Time stands still until the returned function is called: something is going on that the clock cannot see. */
  hold(): () => void {
    this.#busy += 1;
    let held = true;
    return () => {
      if (held) this.#busy -= 1;
      held = false;
    };
  }

  /** Moves time on by that much, stopping at every timer on the way until all that it caused has happened. */
  advance<S extends string = string>(duration: CheckedDuration<S>): Promise<void> {
    const ms = durationToMs(duration);
    if (ms === undefined)
      throw new HoldfastError("invalid_duration", `clock.advance: ${JSON.stringify(duration)} is not a duration.`);
    return this.#drive(async () => {
      const target = this.#elapsedMs + ms;
      await this.settle();
      while ((this.#timers[0]?.at ?? Number.POSITIVE_INFINITY) <= target) {
        this.#fireNext();
        await this.settle();
      }
      this.#elapsedMs = target;
    });
  }

  /** Moves time on, from timer to timer, until the promise has settled. Gives up when nothing happens for `patience`. */
  async until<T>(promise: Promise<T>, patience: Duration = { weeks: 1500 }): Promise<T> {
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    promise.then(settle, settle);
    const limitMs = this.#elapsedMs + (durationToMs(patience) ?? 0);
    await this.#drive(async () => {
      for (;;) {
        await this.settle();
        if (settled) return;
        const next = this.#timers[0];
        // A step that does real work: time may pass up to its own timeout, but not until some housekeeping in years to come.
        if (this.#busy > 0 && (!next || next.at - this.#elapsedMs > BUSY_JUMP_MS_MAX)) continue;
        if (!next || next.at > limitMs) {
          throw new HoldfastError(
            "result_timeout",
            "Nothing else can happen, and what is waited for has not happened. Does the run wait for a signal that nobody sends?",
          );
        }
        this.#fireNext();
      }
    });
    return promise;
  }

  /**
   * Lets everything happen that can happen without time passing. What is held up for long by something that the clock cannot
   * see may be waiting for a timer, such as the timeout of a step: then time passes after all.
   */
  async settle(): Promise<void> {
    for (let quiet = 0, held = 0; quiet < QUIET_ROUNDS && held < HELD_ROUNDS_MAX; ) {
      // Steps that do real work are waited for without burning the processor.
      await (held > 100
        ? new Promise<void>((resolve) => void setTimeout(resolve, 1))
        : new Promise<void>((resolve) => void setImmediate(resolve)));
      quiet = this.#busy === 0 && this.#pendingImmediates === 0 ? quiet + 1 : 0;
      held = this.#busy > 0 && this.#pendingImmediates === 0 ? held + 1 : 0;
    }
  }

  #fireNext(): void {
    const timer = this.#timers.shift();
    if (!timer) return;
    this.#elapsedMs = Math.max(this.#elapsedMs, timer.at);
    timer.callback();
  }

  /** One driver at a time: two that wait share the passing of time. */
  #drive(drive: () => Promise<void>): Promise<void> {
    const driven = this.#driving.then(drive);
    this.#driving = driven.catch(() => {});
    return driven;
  }
}
