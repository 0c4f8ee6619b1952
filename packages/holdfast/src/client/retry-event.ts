import { HoldfastError } from "../errors/holdfast-error.ts";
import type { EventDraft, HistoryEvent } from "../model/event.ts";
import { COMPENSATE_PREFIX } from "../model/ids.ts";
import type { Run } from "../model/run.ts";

/** The event that lets a failed run go on: which failures it is to forget. */
export function retryEvent(run: Run, events: readonly HistoryEvent[]): EventDraft {
  if (run.status === "failed" && run.compensation === "compensated") {
    const message = `Run "${run.id}" has undone its work; there is nothing to go on with. Start a new run.`;
    throw new HoldfastError("run_closed", message, { data: { id: run.id, compensation: run.compensation } });
  }
  const failed = opsOf(events.filter(({ type, meta }) => type === "step_failed" && !meta?.neverBegan));
  const forgets =
    run.compensation === "compensation_failed"
      ? failed.filter((op) => op.startsWith(COMPENSATE_PREFIX))
      : [...new Set([...culprits(run, failed), ...givenUp(run, events)])];
  return { type: "run_retried", op: null, meta: { forgets, ...(run.error ? { error: run.error } : {}) } };
}

/** The op that the error names, else whatever failed last. */
function culprits(run: Run, failed: readonly string[]): string[] {
  return run.error?.op === undefined ? failed.slice(-1) : [run.error.op];
}

/** Steps that were given up with the run before they could begin: they are still to be done. */
function givenUp(run: Run, events: readonly HistoryEvent[]): string[] {
  const isGivenUp = ({ meta }: HistoryEvent): boolean => meta?.neverBegan === true;
  const isCause = ({ type, op }: HistoryEvent): boolean => type === "step_failed" && op === run.error?.op;
  // Those of a part that was given up earlier stay as they are: the code has gone on without them.
  const cause = run.error?.op === undefined ? undefined : events.findLast(isCause);
  const since = cause ?? events.findLast((event) => !isGivenUp(event) && event.meta?.messageId === undefined);
  return opsOf(events.filter((event) => isGivenUp(event) && event.seq > (since?.seq ?? 0)));
}

function opsOf(events: readonly HistoryEvent[]): string[] {
  return [...new Set(events.map((event) => event.op as string))];
}
