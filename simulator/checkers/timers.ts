import type { Checker, Evidence, Found, RunEvidence } from "../evidence.ts";

/** A worker that holds a run judges by its estimate of the store's clock, which is off by as much as answers are slow. */
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
    if (type === "timer_created") due.set(op as string, meta?.fireAt ?? 0);
    if (type === "timer_fired" && at < (due.get(op as string) ?? 0))
      return [{ runId, text: `timer "${op}" fired at ${at}, due at ${due.get(op as string)}` }];
    if (type === "timer_fired" && !due.has(op as string))
      return [{ runId, text: `timer "${op}" fired and was never made` }];
    if (type === "deadline_reached" && run.deadlineAt !== null && at < run.deadlineAt)
      return [{ runId, text: `the deadline was reached at ${at}, due at ${run.deadlineAt}` }];
    return [];
  });
}

/** The record says when a timer was due; the store's clock says when it really had it. */
function inTheStore({ commits = [] }: Evidence): Found[] {
  const found: Found[] = [];
  for (const { runId, events, applied, storeAt } of commits) {
    if (!applied) continue;
    for (const { type, op, at } of events) {
      if (type === "timer_fired" && at > storeAt + ESTIMATE_MS)
        found.push({ runId, text: `timer "${op}", due at ${at}, was written at ${storeAt}` });
    }
  }
  return found;
}
