import type { Clock } from "../ports/clock.ts";

export interface LimitedWait {
  readonly over: Promise<void>;
  /** Ends the wait at once. */
  cut(): void;
}

/** Waits for a promise, but no longer than that. */
export function limitedWait(clock: Clock, promise: Promise<void>, limitMs: number): LimitedWait {
  let cut = (): void => {};
  const over = new Promise<void>((resolve) => {
    const timer = clock.setTimer(limitMs, resolve);
    cut = () => {
      timer.cancel();
      resolve();
    };
  });
  promise.then(cut, cut);
  return { over, cut };
}
