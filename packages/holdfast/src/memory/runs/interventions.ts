import { judgeReopening, renewedDeadline } from "../../model/decisions/reopening.ts";
import type { ErrorRecord } from "../../model/error-record.ts";
import { isClosed } from "../../model/run.ts";
import type {
  ReopenOutcome,
  ReopenParams,
  RestartOutcome,
  RestartParams,
  TerminateOutcome,
  TerminateRunsParams,
} from "../../ports/store.ts";
import { forgetEnd, owing } from "../debts/debt-state.ts";
import { findRun, giveBack, type MemoryState, type RunRecord, runIn, setAvailable } from "../state.ts";
import { dropTasks } from "../tasks/task-state.ts";
import { endRun } from "./ends.ts";
import { appendNote } from "./parking.ts";

/** What operators do to runs, whether or not they are held. */
export function terminateRuns(state: MemoryState, params: TerminateRunsParams, now: number): TerminateOutcome[] {
  return params.runs.map((ref) => {
    const row = findRun(state, ref);
    if (!row) return { outcome: "not_found", runId: null, status: null };
    const { runId, status } = row;
    if (isClosed(status)) return { outcome: "closed", runId, status, ...owing(state, runId) };
    terminate(state, row, params.error, now);
    return { outcome: "terminated", runId: row.runId, status: row.status, ...owing(state, row.runId) };
  });
}

export function reopenRunIfFailed(state: MemoryState, params: ReopenParams, now: number): ReopenOutcome {
  const row = findRun(state, params.run);
  if (!row) return { outcome: "not_found", status: null };
  const { eventCount, status } = row;
  const isNewest = (): boolean => findRun(state, { namespace: row.namespace, id: row.id }) === row;
  const about = { closed: isClosed(status), failed: status === "failed", eventCount };
  const judged = judgeReopening(about, params.eventCount, isNewest);
  if (judged !== "reopen") return { outcome: judged, status };
  appendNote(state, row, params.event, now);
  row.epoch += 1;
  row.status = "running";
  forgetEnd(state, row);
  row.endedAt = null;
  row.error = null;
  row.compensation = null;
  row.deaths = 0;
  row.aloneDeaths = 0;
  row.suspect = false;
  row.deadlineAt = renewedDeadline(row, now);
  if (row.deadlineAt !== null) state.deadlines.add(row.runId);
  setAvailable(state, row, now, now);
  return { outcome: "reopened", status: row.status };
}

export function restartRunIfHeld(state: MemoryState, params: RestartParams, now: number): RestartOutcome {
  const row = runIn(state, params.namespace, params.runId);
  if (!row) return { outcome: "not_found" };
  const { heldBy, epoch, commit, eventCount, runId } = row;
  const same = epoch === params.epoch && commit === params.commit && eventCount === params.eventCount;
  if (heldBy === null || !same) return { outcome: "moved" };
  state.hints.push({ type: "taken", runId, workerId: heldBy });
  giveBack(state, row, now);
  appendNote(state, row, params.event, now);
  return { outcome: "restarted" };
}

/** Ends a run from outside, and notifies its holder. */
export function terminate(state: MemoryState, row: RunRecord, error: ErrorRecord, now: number): void {
  const holder = row.heldBy;
  row.epoch += 1;
  dropTasks(state, row.runId);
  endRun(state, row, { status: "terminated", output: null, error }, now);
  if (holder !== null) state.hints.push({ type: "taken", runId: row.runId, workerId: holder });
}
