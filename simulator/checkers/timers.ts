import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import type { Checker, Evidence, Found, RunEvidence } from "../evidence.ts";

/**
 * A worker that holds a run goes by its estimate of the store's clock, which is off by up to the latency of answers.
 */
const ESTIMATE_MS = 1_000;

/** Nothing happens before its time: timers, retries, deadlines. */
export const timers: Checker = {
  name: "timers",
  needs: [],
  check: (evidence) => [...evidence.runs.flatMap(inHistory), ...inTheStore(evidence)],
};

function inHistory({ run, history }: RunEvidence): Found[] {
  const { runId } = run;
  const due = new Map<string, number>();
  return history.flatMap(({ type, op, at, meta }): Found[] => {
    if (createsTimer(type, meta)) due.set(op as string, meta?.fireAt ?? 0);
    if (type === "timer_fired" && at < (due.get(op as string) ?? 0))
      return [{ runId, text: `timer "${op}" fired at ${at}, due at ${due.get(op as string)}` }];
    if (type === "timer_fired" && !due.has(op as string))
      return [{ runId, text: `timer "${op}" fired but was never created` }];
    if (type === "deadline_reached" && run.deadlineAt !== null && at < run.deadlineAt)
      return [{ runId, text: `the deadline was reached at ${at}, due at ${run.deadlineAt}` }];
    return [];
  });
}

function createsTimer(type: HistoryEvent["type"], meta: HistoryEvent["meta"]): boolean {
  return type === "timer_created" || (type === "lock_requested" && meta?.fireAt !== undefined);
}

/** The store's clock says when the record of a timer was really stored, whatever time the worker assumed. */
function inTheStore({ commits = [] }: Evidence): Found[] {
  const found: Found[] = [];
  const due = new Map<string, number>();
  for (const { runId, events, applied, storeAt } of commits) {
    if (!applied) continue;
    for (const { type, op, meta } of events) {
      const timer = `${runId} ${op}`;
      if (createsTimer(type, meta)) due.set(timer, meta?.fireAt ?? 0);
      const dueAt = due.get(timer) ?? 0;
      if (type === "timer_fired" && dueAt > storeAt + ESTIMATE_MS)
        found.push({ runId, text: `timer "${op}", due at ${dueAt}, was written at ${storeAt}` });
    }
  }
  return found;
}
