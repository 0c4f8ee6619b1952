/** What a fork of a run begins with: the events of another run, up to the cut. */
import type { HistoryEvent } from "../../model/event.ts";
import type { WithLocks } from "./retries.ts";

/**
 * The ops that were in flight at the cut are still to be done, by this run: what others had begun of them is not its own. Timers
 * keep their time.
 */
export function applyFork({ ops, locks }: WithLocks, { seq }: HistoryEvent): void {
  locks.loseThoseBefore(seq);
  for (const { step, task, child } of ops.wanted()) {
    step?.forgetOrigin();
    if (task && task.seq < seq) task.lose();
    if (child?.begun) child.rescheduled(child.generation + 1);
  }
}

/** Which run an event of the history happened to: each fork stands behind the events of its origin. */
export function runIdAt(seq: number, forks: readonly HistoryEvent[], runId: string): string {
  return forks.find((fork) => seq < fork.seq)?.meta?.forkedFrom?.runId ?? runId;
}
