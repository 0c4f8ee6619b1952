import { HoldfastError } from "../errors/holdfast-error.ts";
import { type EndErrorRecord, type ErrorRecord, shownError } from "../model/error-record.ts";
import { type EventDraft, type HistoryEvent, isCrash, isFailure, isOutcome } from "../model/event.ts";
import { COMPENSATE_PREFIX } from "../model/ids.ts";
import type { Who } from "../model/operator-notes.ts";
import type { Run } from "../model/run.ts";

/** The event that reopens a failed run, with the failures that it clears. */
export function retryEvent(run: Run, events: readonly HistoryEvent[], who: Who = {}): EventDraft {
  if (run.status === "failed" && run.compensation === "compensated") {
    const message = `Run "${run.id}" has already compensated its steps; there is nothing to continue. Start a new run.`;
    throw new HoldfastError("run_closed", message, { data: { id: run.id, compensation: run.compensation } });
  }
  const failures = openFailures(events);
  const forgotten =
    run.compensation === "compensation_failed"
      ? failures.filter(({ op }) => op?.startsWith(COMPENSATE_PREFIX))
      : takenBack(run.error, failures, events);
  const forgets = forgotten.map(({ op }) => op as string);
  const error = shownError(run.error);
  return { type: "run_retried", op: null, meta: { forgets, ...(error ? { error } : {}), ...who } };
}

/** The failures that no earlier retry has taken back, in their order: of each op the last thing that became of it. */
function openFailures(events: readonly HistoryEvent[]): readonly HistoryEvent[] {
  const open = new Map<string, HistoryEvent>();
  for (const event of events) {
    const { op, meta } = event;
    for (const forgotten of meta?.forgets ?? []) open.delete(forgotten);
    if (op === null || !isOutcome(event)) continue;
    open.delete(op);
    if (isFailure(event)) open.set(op, event);
  }
  return [...open.values()];
}

/** Every failure from the first on that is to be taken back, except those that the engine or their record says to leave alone. */
function takenBack(
  error: EndErrorRecord | null,
  failures: readonly HistoryEvent[],
  events: readonly HistoryEvent[],
): HistoryEvent[] {
  const op = blamedOp(error);
  const from = error?.retryFrom ?? (failures.find((failure) => failure.op === op) ?? failures.at(-1))?.seq;
  if (from === undefined) return [];
  // An error that speaks of no failure may have come of any: none of those that stand in a row at the end is left out.
  const since = op === undefined ? beginningOfRow(from, events) : from;
  const isKept = (failure: HistoryEvent): boolean =>
    error?.retryKeeps?.includes(failure.op as string) ?? (failure.op !== op && mayHaveHappened(failure, events));
  const taken = failures.filter((failure) => failure.seq >= since && !isKept(failure));
  return taken.length > 0 ? taken : failures.slice(-1);
}

/**
 * Whether a step that must run at most once may have taken effect, for an end that does not say so. The start of such a step was
 * recorded before it ran; that of any other, if at all, only when it had been running for some time.
 */
function mayHaveHappened(failure: HistoryEvent, events: readonly HistoryEvent[]): boolean {
  const started = events.findLast(
    ({ type, op, seq }) => type === "step_started" && op === failure.op && seq < failure.seq,
  );
  return (
    isCrash(failure) || (failure.meta?.unknown === true && started !== undefined && started.meta?.ms === undefined)
  );
}

/** The step that the error comes from. */
function blamedOp(error: ErrorRecord | null): string | undefined {
  for (let one: ErrorRecord | null | undefined = error; one; one = one.cause) if (one.op !== undefined) return one.op;
  return undefined;
}

/** The first of the failures up to that one between which nothing has come to a result: nothing is done twice if all are taken back. */
function beginningOfRow(seq: number, events: readonly HistoryEvent[]): number {
  let first = seq;
  for (const event of events.filter((one) => one.seq < seq).reverse()) {
    if (isFailure(event)) first = event.seq;
    else if (event.type !== "step_started" && event.type !== "step_attempt_failed") break;
  }
  return first;
}
