import { retryEvent } from "../../calls/retry-event.ts";
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import type { EventDraft, HistoryEvent } from "../../model/event.ts";
import type { Run } from "../../model/run.ts";
import type { RunCaller } from "./run-caller.ts";

/** Events per call. */
const EVENTS_MAX = 1_000;

/** Has a failed child go on where it failed, as `handle.retry()` does; false if it cannot be. */
export async function reopenChild(caller: RunCaller, run: Run): Promise<boolean> {
  const event = retryOf(run, await readHistory(caller, run));
  if (!event) return false;
  const { namespace, runId, eventCount } = run;
  for (;;) {
    const params = { run: { namespace, runId }, eventCount, event };
    const { outcome, status } = await caller.call((store) => store.runs.reopenIfFailed(params));
    if (outcome === "reopened") return true;
    // Somebody else has reopened it.
    if (outcome === "not_failed") return status !== null && status !== "canceled" && status !== "terminated";
    if (outcome !== "busy") return false;
  }
}

/** Undefined if it has undone what it did: there is nothing to go on with. */
function retryOf(run: Run, events: readonly HistoryEvent[]): EventDraft | undefined {
  try {
    return retryEvent(run, events);
  } catch (error) {
    if (isHoldfastError(error, "run_closed")) return undefined;
    throw error;
  }
}

async function readHistory(caller: RunCaller, { namespace, runId, eventCount }: Run): Promise<HistoryEvent[]> {
  const events: HistoryEvent[] = [];
  while (events.length < eventCount) {
    const runs = [{ namespace, runId, afterSeq: events.length }];
    const [page = []] = await caller.call((store) => store.histories.read({ runs, limitPerRun: EVENTS_MAX }));
    if (page.length === 0) break;
    events.push(...page);
  }
  return events;
}
