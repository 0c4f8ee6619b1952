import type { Clock, Timer } from "../ports/clock.ts";

/** The longest delay that a Node timer takes; longer ones are waited for in pieces. */
const TIMER_MS_MAX = 2 ** 31 - 1;

/** The machine's clock. */
export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  setTimer(delayMs, callback) {
    return delayMs > TIMER_MS_MAX ? longTimer(delayMs, callback) : shortTimer(delayMs, callback);
  },
  immediate: (callback) => {
    setImmediate(callback);
  },
};

function shortTimer(delayMs: number, callback: () => void): Timer {
  const timeout = setTimeout(callback, Math.max(0, delayMs));
  return { cancel: () => clearTimeout(timeout), unref: () => void timeout.unref(), ref: () => void timeout.ref() };
}

function longTimer(delayMs: number, callback: () => void): Timer {
  let current: Timer;
  let background = false;
  const wait = (leftMs: number): void => {
    const pieceMs = Math.min(leftMs, TIMER_MS_MAX);
    current = shortTimer(pieceMs, () => (leftMs > pieceMs ? wait(leftMs - pieceMs) : callback()));
    if (background) current.unref?.();
  };
  const setBackground = (value: boolean): void => {
    background = value;
    if (value) current.unref?.();
    else current.ref?.();
  };
  wait(delayMs);
  return { cancel: () => current.cancel(), unref: () => setBackground(true), ref: () => setBackground(false) };
}
