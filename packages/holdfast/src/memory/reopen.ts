import { isClosed, timeInHistory } from "../model/run.ts";
import type { ReopenOutcome, ReopenParams } from "../ports/store.ts";
import { addTo, findRun, lastEventAt, type MemoryState, setAvailable } from "./state.ts";

export function reopenRunIfFailed(state: MemoryState, params: ReopenParams, now: number): ReopenOutcome {
  const row = findRun(state, params.run);
  if (!row) return { outcome: "not_found", status: null };
  const reopened = !isClosed(row.status) && row.eventCount > params.eventCount;
  if (reopened) return { outcome: "reopened", status: row.status };
  if (row.status !== "failed" || row.eventCount !== params.eventCount)
    return { outcome: "not_failed", status: row.status };
  if (findRun(state, { namespace: row.namespace, id: row.id }) !== row)
    return { outcome: "superseded", status: row.status };
  row.eventCount += 1;
  const at = timeInHistory(row, lastEventAt(state, row.runId), now);
  addTo(state.events, row.runId, { ...params.event, seq: row.eventCount, at });
  row.epoch += 1;
  row.status = "running";
  row.endedAt = null;
  row.error = null;
  row.compensation = null;
  row.deaths = 0;
  row.aloneDeaths = 0;
  row.suspect = false;
  if (row.deadlineAt !== null) {
    row.deadlineAt = now + (row.deadlineAt - row.createdAt);
    state.deadlines.add(row.runId);
  }
  setAvailable(state, row, now, now);
  return { outcome: "reopened", status: row.status };
}
