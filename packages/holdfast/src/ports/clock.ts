export interface Timer {
  cancel(): void;
  /** A process with nothing else to do does not wait for it. Absent where time does not keep processes alive. */
  unref?(): void;
  /** Takes `unref` back. */
  ref?(): void;
}

/** The only source of time in the engine. The simulator and the tests put a virtual one in its place. */
export interface Clock {
  /** Wall clock, milliseconds since the epoch. May jump. */
  now(): number;
  /** Milliseconds that never go back. Only differences mean anything. */
  monotonic(): number;
  setTimer(delayMs: number, callback: () => void): Timer;
  /**
   * Runs the callback in a later macrotask, when every microtask that exists now has run. Callbacks queued together run
   * in order, with microtasks drained between them and nothing else between them: the replay scheduler opens a turn in
   * one and closes it in the next.
   */
  immediate(callback: () => void): void;
}
