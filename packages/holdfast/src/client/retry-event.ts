import { HoldfastError } from "../errors/holdfast-error.ts";
import type { EventDraft, HistoryEvent } from "../model/event.ts";
import type { Run } from "../model/run.ts";

const COMPENSATION = "compensate:";

/** The event that lets a failed run go on: which failures it is to forget. */
export function retryEvent(run: Run, events: readonly HistoryEvent[]): EventDraft {
  if (run.status === "failed" && run.compensation === "compensated") {
    const message = `Run "${run.id}" has undone its work; there is nothing to go on with. Start a new run.`;
    throw new HoldfastError("run_closed", message, { data: { id: run.id, compensation: run.compensation } });
  }
  const failed = [
    ...new Set(events.filter((event) => event.type === "step_failed").map((event) => event.op as string)),
  ];
  const forgets =
    run.compensation === "compensation_failed"
      ? failed.filter((op) => op.startsWith(COMPENSATION))
      : culprits(run, failed);
  return { type: "run_retried", op: null, meta: { forgets, ...(run.error ? { error: run.error } : {}) } };
}

/** The op that the error names, else whatever failed last. */
function culprits(run: Run, failed: readonly string[]): string[] {
  return run.error?.op === undefined ? failed.slice(-1) : [run.error.op];
}
