/** Compares a ledger of effects with what the runs returned. */
import { type Effect, STEPS } from "./torture-run.ts";

export interface Evidence {
  /** The ids of the runs, in the order in which they were started: run `n` adds `n` in each of its steps. */
  readonly started: readonly string[];
  readonly outputs: ReadonlyMap<string, unknown>;
  readonly effects: readonly Effect[];
  /** The processes that were killed. */
  readonly killed: ReadonlySet<number>;
}

export interface Findings {
  readonly runs: number;
  readonly effects: number;
  /** Effects that were there once more: their worker was killed between the effect and its record. */
  readonly repeated: number;
  readonly faults: readonly string[];
}

export function judge({ started, outputs, effects, killed }: Evidence): Findings {
  const faults: string[] = [];
  const done = new Map<string, number[]>();
  for (const { run, op, pid } of effects) {
    const key = `${run} ${op}`;
    done.set(key, [...(done.get(key) ?? []), pid]);
  }
  let repeated = 0;
  for (const [n, run] of started.entries()) {
    if (outputs.get(run) !== n * STEPS.length)
      faults.push(`Run ${run} returned ${JSON.stringify(outputs.get(run))}, not ${n * STEPS.length}.`);
    for (const op of STEPS) {
      const pids = done.get(`${run} ${op}`) ?? [];
      if (pids.length === 0) faults.push(`Step ${op} of run ${run} was recorded, but never done.`);
      repeated += Math.max(0, pids.length - 1);
      // Each attempt but the last must have been cut short: otherwise it was recorded, and done again nevertheless.
      for (const pid of pids.slice(0, -1))
        if (!killed.has(pid))
          faults.push(`Step ${op} of run ${run} was done again, although process ${pid} was not killed.`);
    }
  }
  return { runs: started.length, effects: effects.length, repeated, faults };
}
