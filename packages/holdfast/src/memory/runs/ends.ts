import { type CompensationOutcome, timeInHistory } from "../../model/run.ts";
import { oweAfterEnd } from "../debts/debt-state.ts";
import { giveBackLocks } from "../locks/lock-state.ts";
import { giveBackPlace, handPlaceOn, leaveLine, placedRun } from "../queues/place-state.ts";
import { lastEventAt, letGo, type MemoryState, type RunRecord, setAvailable } from "../state.ts";

type RunEnd = Pick<RunRecord, "status" | "output" | "error"> & { readonly compensation?: CompensationOutcome | null };

/** Every end of a run, whoever ends it. */
export function endRun(state: MemoryState, row: RunRecord, end: RunEnd, now: number): void {
  letGo(state, row);
  row.status = end.status;
  row.output = end.output;
  row.error = end.error;
  row.compensation = end.compensation ?? null;
  row.endedAt = timeInHistory(row, lastEventAt(state, row.runId), now);
  row.waitingFor = [];
  state.deadlines.delete(row.runId);
  state.parkedBy.delete(row.runId);
  setAvailable(state, row, null, now);
  state.hints.push({ type: "ended", namespace: row.namespace, runId: row.runId });
  leaveLine(state, placedRun(row));
  const next = row.continuedAs === null ? undefined : state.runs.get(row.continuedAs);
  if (next?.queue === row.queue) handPlaceOn(state, row.runId, next.runId);
  else giveBackPlace(state, placedRun(row));
  if (state.locksOf.has(row.runId)) giveBackLocks(state, row, now);
  oweAfterEnd(state, row, now);
}
