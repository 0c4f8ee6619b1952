import { HoldfastError } from "../errors/holdfast-error.ts";
import type { EventDraft, HistoryEvent } from "../model/event.ts";
import { COMPENSATE_PREFIX } from "../model/ids.ts";
import type { Run } from "../model/run.ts";

/** The event that reopens a failed run, with the failures that it clears. */
export function retryEvent(run: Run, events: readonly HistoryEvent[]): EventDraft {
  if (run.status === "failed" && run.compensation === "compensated") {
    const message = `Run "${run.id}" has already compensated its steps; there is nothing to continue. Start a new run.`;
    throw new HoldfastError("run_closed", message, { data: { id: run.id, compensation: run.compensation } });
  }
  const failed = opsOf(events.filter(({ type, meta }) => type === "step_failed" && !meta?.neverBegan));
  const forgets =
    run.compensation === "compensation_failed"
      ? failed.filter((op) => op.startsWith(COMPENSATE_PREFIX))
      : [...new Set([...culprits(run, failed), ...givenUp(run, events)])];
  return { type: "run_retried", op: null, meta: { forgets, ...(run.error ? { error: run.error } : {}) } };
}

/** The op that the error names, else the last that failed. */
function culprits(run: Run, failed: readonly string[]): string[] {
  return run.error?.op === undefined ? failed.slice(-1) : [run.error.op];
}

/** Steps that were withdrawn with the run before they could begin: they are still to be executed. */
function givenUp(run: Run, events: readonly HistoryEvent[]): string[] {
  const isGivenUp = ({ meta }: HistoryEvent): boolean => meta?.neverBegan === true;
  const isCause = ({ type, op }: HistoryEvent): boolean => type === "step_failed" && op === run.error?.op;
  // Steps of a branch that was canceled earlier stay as they are: the code has continued without them.
  const cause = run.error?.op === undefined ? undefined : events.findLast(isCause);
  const since = cause ?? events.findLast((event) => !isGivenUp(event) && event.meta?.messageId === undefined);
  return opsOf(events.filter((event) => isGivenUp(event) && event.seq > (since?.seq ?? 0)));
}

function opsOf(events: readonly HistoryEvent[]): string[] {
  return [...new Set(events.map((event) => event.op as string))];
}
