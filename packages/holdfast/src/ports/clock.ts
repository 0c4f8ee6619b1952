export interface Timer {
  cancel(): void;
  /** The timer no longer keeps the process alive. Absent if timers never do. */
  unref?(): void;
  /** Reverts `unref`. */
  ref?(): void;
  /** Time need not pass for it: it rings when something else makes time pass. Absent where time passes by itself. */
  follow?(): void;
}

/** The only source of time in the engine. The simulator and the tests replace it with a virtual one. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds that never go back. Only differences are meaningful. */
  monotonic(): number;
  setTimer(delayMs: number, callback: () => void): Timer;
  /**
   * Runs the callback in a later macrotask, when every microtask that exists now has run. Callbacks queued together run
   * in order, with microtasks drained between them and nothing else between them: the replay scheduler opens a turn in
   * one and closes it in the next.
   */
  immediate(callback: () => void): void;
}
