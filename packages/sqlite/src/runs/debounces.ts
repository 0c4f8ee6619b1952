import { type DebounceParams, deadlineFrom, dueTime, type RefusedStart, type StartOutcome } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { isClosedCode, statusCode } from "../database/codes.ts";
import { blob } from "../database/driver.ts";
import { newUuidBytes, uuidText } from "../database/uuid.ts";
import { leaveLine } from "../queues/place-state.ts";
import { VersionChoice } from "../versions.ts";
import { readRow } from "./run-rows.ts";
import { announceDue, type StateRow, stateOf } from "./run-state.ts";
import { replaceAttributes, startRuns } from "./starts.ts";

const KNOWN = "select run_id, call_id from holdfast_debounces where namespace = ? and workflow = ? and key = ?";
const NOTE = `
  insert into holdfast_debounces (namespace, workflow, key, run_id, call_id) values (?, ?, ?, ?, ?)
  on conflict (namespace, workflow, key) do update set run_id = excluded.run_id, call_id = excluded.call_id`;
const REPLACE = "update holdfast_run_starts set input = ?, timeout_ms = ? where run_key = ?";
const MOVE = "update holdfast_runs set lane_id = ?, deadline_at = ? where run_key = ?";
const PUT_OFF = "update holdfast_runs set available_at = ?, waiting_for = null where run_key = ?";
const CANCELED = "select 1 from holdfast_inbox where run_key = ? and number > ? and kind = 'cancel' limit 1";
const UNUSED = { name: "Error", message: "", kind: "Unknown" } as const;

export function debounceRun(call: Call, params: DebounceParams): StartOutcome | RefusedStart {
  const { start, key, forMs } = params;
  const { run } = start;
  const { sql } = call;
  const [runId, callId] = (sql.columns(KNOWN, run.namespace, run.workflow, key) ?? []) as (Uint8Array | undefined)[];
  const row = runId && stateOf(call, run.namespace, uuidText(runId));
  const own = run.runId.toLowerCase();
  if (row && callId && uuidText(callId) === own)
    return { outcome: uuidText(row.runId) === own ? "created" : "returned", run: readRow(call, row.runKey) };
  const note = (noted: Uint8Array): void => {
    sql.run(NOTE, run.namespace, run.workflow, key, noted, newUuidBytes(run.runId));
  };
  if (row && isUnbegun(call, row)) {
    note(row.runId);
    sql.run(REPLACE, blob(run.input), run.timeoutMs ?? null, row.runKey);
    replaceAttributes(call, row.runKey, run.attributes);
    const laneId = call.catalog.laneId(run, new VersionChoice(call).of(start));
    const deadlineAt = deadlineFrom(call.now, run.timeoutMs);
    if (laneId !== row.laneId || deadlineAt !== row.deadlineAt) sql.run(MOVE, laneId, deadlineAt, row.runKey);
    if (row.status !== statusCode("parked")) putOff(call, { ...row, laneId, deadlineAt }, params);
    return { outcome: "returned", run: readRow(call, row.runKey) };
  }
  const starts = [{ ...start, run: { ...run, startDelayMs: forMs } }];
  const { outcomes } = startRuns(call, { starts, holdBy: null, replaceError: UNUSED, bounded: true });
  const outcome = outcomes[0] as StartOutcome | RefusedStart;
  if (outcome.outcome === "created") note(newUuidBytes(run.runId));
  return outcome;
}

function isUnbegun({ sql, now }: Call, { startedAt, status, deadlineAt, runKey, consumed }: StateRow): boolean {
  if (startedAt !== null || isClosedCode(status) || (deadlineAt !== null && deadlineAt <= now)) return false;
  return sql.columns(CANCELED, runKey, consumed) === undefined;
}

function putOff(call: Call, row: StateRow, { forMs, maxMs }: DebounceParams): void {
  const { sql, now } = call;
  leaveLine(call, { runId: row.runId, seq: 0 });
  const wanted = Math.min(now + forMs, maxMs === null ? Number.POSITIVE_INFINITY : row.createdAt + maxMs);
  const at = Math.ceil(dueTime(wanted, row.deadlineAt, now) as number);
  sql.run(PUT_OFF, at, row.runKey);
  announceDue(call, row.laneId, at);
}
