import {
  type ErrorRecord,
  judgeReopening,
  type ReopenOutcome,
  type ReopenParams,
  type RestartOutcome,
  type RestartParams,
  renewedDeadline,
  type TerminateOutcome,
  type TerminateRunsParams,
  timeInHistory,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { isClosedCode, statusCode, statusName } from "../database/codes.ts";
import { uuidText } from "../database/uuid.ts";
import { forgetEnd, owing } from "../debts/debt-state.ts";
import { appendEvent, lastEventAt, unfoldTail } from "../histories.ts";
import { dropTasks } from "../tasks/task-state.ts";
import { endRun } from "./ends.ts";
import { appendNote } from "./parking.ts";
import {
  announceIfDue,
  announceTaken,
  findState,
  forgetDeaths,
  giveBack,
  newestKey,
  raiseEpoch,
  type StateRow,
  stateOf,
} from "./run-state.ts";

const SELECT_START = "select id, timeout_ms as timeoutMs from holdfast_run_starts where run_key = ?";

interface StartRow {
  readonly id: string;
  readonly timeoutMs: number | null;
}

/** What operators do to runs, no matter which worker holds them. */
export function terminateRuns(call: Call, params: TerminateRunsParams): TerminateOutcome[] {
  return params.runs.map((ref) => {
    const row = findState(call, ref);
    if (!row) return { outcome: "not_found", runId: null, status: null };
    const runId = uuidText(row.runId);
    if (isClosedCode(row.status))
      return { outcome: "closed", runId, status: statusName(row.status), ...owing(row.ties) };
    const ties = terminate(call, row, params.error);
    return { outcome: "terminated", runId, status: "terminated", ...owing(ties) };
  });
}

/** Ends a run from outside, with its tasks, and notifies whoever holds it. Returns its ties afterward. */
export function terminate(call: Call, row: StateRow, error: ErrorRecord): number | null {
  announceTaken(call, row);
  raiseEpoch(call, row);
  dropTasks(call, row.runId);
  return endRun(call, row, { status: "terminated", output: null, error, lastEventAt: lastEventAt(call, row.runKey) });
}

export function restartRunIfHeld(call: Call, params: RestartParams): RestartOutcome {
  const row = stateOf(call, params.namespace, params.runId);
  if (!row) return { outcome: "not_found" };
  const { epoch, commit, eventCount } = params;
  const same = row.epoch === epoch && row.commit === commit && row.eventCount === eventCount;
  if (row.heldBy === null || !same) return { outcome: "moved" };
  announceTaken(call, row);
  giveBack(call, row);
  appendNote(call, row.runKey, params.event);
  return { outcome: "restarted" };
}

export function reopenRunIfFailed(call: Call, params: ReopenParams): ReopenOutcome {
  const row = findState(call, params.run);
  if (!row) return { outcome: "not_found", status: null };
  const status = statusName(row.status);
  const about = { closed: isClosedCode(row.status), failed: status === "failed", eventCount: row.eventCount };
  const judged = judgeReopening(about, params.eventCount, () => !isSuperseded(call, row));
  if (judged !== "reopen") return { outcome: judged, status };
  reopen(call, row, params);
  return { outcome: "reopened", status: "running" };
}

function isSuperseded(call: Call, row: StateRow): boolean {
  return newestKey(call, call.catalog.lane(row.laneId).namespace, startOf(call, row).id) !== row.runKey;
}

function startOf(call: Call, { runKey }: StateRow): StartRow {
  return call.sql.get<StartRow>(SELECT_START, runKey) as StartRow;
}

function reopen(call: Call, row: StateRow, { event }: ReopenParams): void {
  const { sql, now } = call;
  const seq = row.eventCount + 1;
  unfoldTail(call, row.runKey);
  appendEvent(call, row.runKey, { ...event, seq, at: timeInHistory(row, lastEventAt(call, row.runKey), now) });
  const deadlineAt = renewedDeadline({ deadlineAt: row.deadlineAt, timeoutMs: startOf(call, row).timeoutMs }, now);
  const availableAt = now;
  sql.run(
    `update holdfast_runs set event_count = ?, epoch = epoch + 1, status = ?, ended_at = null, deadline_at = ?,
       available_at = ? where run_key = ?`,
    ...[seq, statusCode("running"), deadlineAt, availableAt, row.runKey],
  );
  sql.run("update holdfast_run_ends set error = null, compensation = null where run_key = ?", row.runKey);
  forgetDeaths(call, row.runKey);
  if (row.ties !== null) forgetEnd(call, row);
  announceIfDue(call, row.laneId, availableAt);
}
