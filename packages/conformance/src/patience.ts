import { isHoldfastError } from "holdfast/adapter";
import type { Fixture } from "./fixture.ts";

/** More than any store needs; a bound, so that a store that never answers fails a test instead of hanging it. */
const CALLS_MAX = 5_000;

/**
 * Repeats a call, unchanged, until it has an answer: rows locked by another transaction (`busy`) and brief
 * unavailability are part of the contract. The call must be idempotent, as all store calls are.
 */
export async function untilAnswered<T>(call: (again: boolean) => Promise<T>): Promise<T> {
  for (let calls = 0; ; calls++) {
    try {
      const answer = await call(calls > 0);
      if (!isBusy(answer) || calls >= CALLS_MAX) return answer;
    } catch (error) {
      if (!isTransient(error) || calls >= CALLS_MAX) throw error;
    }
  }
}

/** Waits for something that does not arrive in the answer of a call; time is counted in round trips to the store. */
export async function untilSeen(t: Fixture, what: string, seen: () => boolean): Promise<void> {
  for (let calls = 0; calls < CALLS_MAX; calls++) {
    if (seen()) return;
    await t.store.runs.read({ runs: [] });
    await t.store.workers.list({ namespace: "nobody" });
  }
  throw new Error(`${what} did not arrive`);
}

function isBusy(answer: unknown): boolean {
  const outcomes = (answer as { outcomes?: unknown } | undefined)?.outcomes ?? answer;
  const list: readonly unknown[] = Array.isArray(outcomes) ? outcomes : [outcomes];
  return list.some((item) => (item as { outcome?: unknown } | null | undefined)?.outcome === "busy");
}

function isTransient(error: unknown): boolean {
  return isHoldfastError(error) && ["store_unavailable", "store_outcome_unknown"].includes(error.code);
}
