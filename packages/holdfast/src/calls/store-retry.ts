import { HoldfastError, isHoldfastError } from "../errors/holdfast-error.ts";
import type { Clock } from "../ports/clock.ts";
import type { Random } from "../ports/random.ts";
import type { Lifetime } from "./lifetime.ts";

const BACKOFF_MS_FIRST = 50;
const BACKOFF_MS_MAX = 5_000;
const LOCKED_MS_FIRST = 4;
const LOCKED_MS_MAX = 40;

export interface StorePatience {
  readonly clock: Clock;
  readonly random: Random;
  /** Its end also ends the wait. */
  readonly life?: Lifetime;
}

/** Whether the same call may be sent again: it either did nothing, or the store will recognize the repetition. */
export function isTransient(error: unknown): boolean {
  return isHoldfastError(error, "store_unavailable") || isHoldfastError(error, "store_outcome_unknown");
}

/**
 * Whether the error is known not to go away by itself: a damaged file, a missing permission. A worker that holds runs treats
 * it like any outage, because it may be repaired; a new caller should learn of it at once.
 */
export function isLasting(error: unknown): boolean {
  return isHoldfastError(error, "store_unavailable") && error.data.lasting === true;
}

/** Whether the store was not reached, or the connection to it was lost. Of one that answers, or is silent, that is not said. */
export function isUnreachable(error: unknown): boolean {
  return isTransient(error) && (error as Partial<HoldfastError>).data?.unreachable === true;
}

export function backoff(patience: StorePatience, failures: number): Promise<void> {
  const ms = Math.min(BACKOFF_MS_MAX, BACKOFF_MS_FIRST * 2 ** Math.min(failures - 1, 10));
  return pause(patience, ms * (0.75 + patience.random.next() / 2));
}

/**
 * How long to wait before a call is repeated that was `busy` this many times. Most locks are those of one short transaction:
 * whoever waited as long as for a server that is down would add seconds to every result.
 */
export function lockedMs(random: Random, times: number): number {
  return Math.min(LOCKED_MS_MAX, LOCKED_MS_FIRST * 2 ** Math.min(times - 1, 10)) * (0.5 + random.next());
}

/** The error of a call that was `busy` for as long as anyone would wait. */
export function rowLocked(): HoldfastError {
  return new HoldfastError("store_unavailable", "The row is locked by another transaction.");
}

export function pause({ clock, life }: StorePatience, ms: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = clock.setTimer(ms, () => {
      forget?.();
      resolve();
    });
    const forget = life?.watch(() => {
      timer.cancel();
      resolve();
    });
  });
}

/** Tells after a failure that nobody wants an answer any more. `waitedMs` is the time since the call was first sent. */
export type GiveUp = (failures: number, error: unknown, waitedMs: number) => boolean;

/**
 * Repeats an idempotent store call until it is answered, or until `giveUp` says that the answer is no longer wanted, and
 * then throws the store's last error.
 */
export async function untilAnswered<T>(
  patience: StorePatience,
  call: (again: boolean) => Promise<T>,
  giveUp: GiveUp,
): Promise<T> {
  const { clock } = patience;
  const began = clock.monotonic();
  for (let failures = 0; ; ) {
    try {
      return await call(failures > 0);
    } catch (error) {
      failures += 1;
      if (!isTransient(error) || giveUp(failures, error, clock.monotonic() - began)) throw error;
      await backoff(patience, failures);
      if (patience.life?.over) throw error;
    }
  }
}
