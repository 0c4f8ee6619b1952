import { HoldfastError } from "../errors/holdfast-error.ts";
import { requireDuration } from "../errors/option-checks.ts";
import type { CheckedDuration } from "../model/checked-duration.ts";
import { DURATION_MS_MAX, type Duration, durationToMs } from "../model/duration.ts";
import type { Clock, Timer } from "../ports/clock.ts";

/** A Sunday morning in 2026, so that dates in tests look like dates. */
const START_MS = Date.UTC(2026, 0, 4, 8);
/** After this many rounds of the real event loop without activity, the system counts as idle. */
const QUIET_ROUNDS = 3;

/** How many rounds to wait for a step that does real work before time passes: a few tenths of a second. */
const HELD_ROUNDS_MAX = 350;

/** How far time may jump while a step does real work. */
const BUSY_JUMP_MS_MAX = 24 * 3600 * 1000;

/** How far `until` goes: past the longest sleep that a run can ask for, with a year for what comes before and after it. */
const PATIENCE_MS = DURATION_MS_MAX + 366 * 86_400_000;

/** For housekeeping in tests, such as polls and leases: even a fifth of it is beyond the patience of `until`. */
export const FOREVER_MS = 6 * PATIENCE_MS;

interface VirtualTimer {
  readonly at: number;
  readonly order: number;
  readonly callback: () => void;
  /** It does not make the clock go on; it rings when something else does. */
  passive: boolean;
}

/**
 * A clock that stands still until something drives it: `advance`, or a caller that waits for a result. It then lets
 * everything happen that can happen now, and jumps to the next timer.
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

  /** Part of the clock port, for the engine: calls back when this much virtual time has passed. */
  setTimer(delayMs: number, callback: () => void): Timer {
    const timer = { at: this.#elapsedMs + Math.max(0, delayMs), order: this.#order++, callback, passive: false };
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
      follow: () => {
        timer.passive = true;
      },
    };
  }

  /** Part of the clock port, for the engine: calls back once the current work is done. */
  immediate(callback: () => void): void {
    this.#pendingImmediates += 1;
    setImmediate(() => {
      this.#pendingImmediates -= 1;
      callback();
    });
  }

  /** Stops time until the returned function is called, for work that the clock cannot see. */
  hold(): () => void {
    this.#busy += 1;
    let held = true;
    return () => {
      if (held) this.#busy -= 1;
      held = false;
    };
  }

  /**
   * Advances time by the duration. At every timer on the way it stops until everything that the timer caused has
   * happened.
   */
  async advance<S extends string = string>(duration: CheckedDuration<S>): Promise<void> {
    const ms = requireDuration(duration, "clock.advance", "the duration");
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

  /**
   * Advances time from timer to timer until the promise settles. Gives up when the next timer is further away than
   * `patience`, counted from the call; by default that is past the longest sleep.
   */
  async until<T>(promise: Promise<T>, patience?: Duration): Promise<T> {
    let settled = false;
    const settle = (): void => {
      settled = true;
    };
    promise.then(settle, settle);
    const limitMs = this.#elapsedMs + (patience === undefined ? PATIENCE_MS : (durationToMs(patience) ?? 0));
    await this.#drive(async () => {
      for (;;) {
        await this.settle();
        if (settled) return;
        const next = this.#timers.find(({ passive }) => !passive);
        // A step does real work: time may pass up to the step's timeout, but not up to housekeeping that is years away.
        if (this.#busy > 0 && (!next || next.at - this.#elapsedMs > BUSY_JUMP_MS_MAX)) continue;
        if (!next || next.at > limitMs) {
          throw new HoldfastError(
            "result_timeout",
            "Nothing else can happen, and the awaited promise has not settled. Does the run wait for a signal that is never sent?",
          );
        }
        this.#fireNext();
      }
    });
    return promise;
  }

  /**
   * Lets everything happen that can happen without time passing. If work that the clock cannot see takes long, it may
   * be waiting for a timer, such as the timeout of a step: then time passes after all.
   */
  async settle(): Promise<void> {
    for (let quiet = 0, held = 0; quiet < QUIET_ROUNDS && held < HELD_ROUNDS_MAX; ) {
      // Wait for steps that do real work without burning the processor.
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

  /** One driver at a time: two waiting callers share the passing of time. */
  #drive(drive: () => Promise<void>): Promise<void> {
    const driven = this.#driving.then(drive);
    this.#driving = driven.catch(() => {});
    return driven;
  }
}
