/**
 * Repeats for calls that change something: in an outage of the store all of them wait as long as those of a client do, so that whoever
 * calls has one rule to know.
 */
import { type Clock, isHoldfastError } from "holdfast/adapter";

const PATIENCE_MS = 15_000;
const PAUSE_MS_FIRST = 50;
const PAUSE_MS_MAX = 2_000;

/** Repeats what is safe to repeat until the store answers, or the time is up; then throws its last error. */
export async function patiently<T>(clock: Clock, call: () => Promise<T>): Promise<T> {
  const endsAt = clock.monotonic() + PATIENCE_MS;
  for (let pauseMs = PAUSE_MS_FIRST; ; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    try {
      return await call();
    } catch (error) {
      if (!isAway(error) || clock.monotonic() >= endsAt) throw error;
      await new Promise<void>((resolve) => void clock.setTimer(pauseMs, resolve));
    }
  }
}

function isAway(error: unknown): boolean {
  const isTransient = isHoldfastError(error, "store_unavailable") || isHoldfastError(error, "store_outcome_unknown");
  // A file that is damaged, or a permission that is missing, does not come back by itself.
  return isTransient && error.data["lasting"] !== true;
}
