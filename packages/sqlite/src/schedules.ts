import {
  type DuePosition,
  type DueSchedulesParams,
  type DueSchedulesResult,
  type ErrorRecord,
  isOpen,
  type ListSchedulesParams,
  type OpenRun,
  type Payload,
  type PutSchedule,
  type PutScheduleOutcome,
  type PutSchedulesParams,
  type PutSchedulesResult,
  remembered,
  type Schedule,
  type ScheduleDecision,
  type ScheduleDefinition,
  type ScheduleRef,
  type ScheduleState,
} from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { statusCode, statusName } from "./database/codes.ts";
import { blob } from "./database/driver.ts";
import { newUuidBytes, uuidText } from "./database/uuid.ts";
import { owing } from "./debts/debt-state.ts";
import { outlookAfter } from "./leadership.ts";
import { terminate } from "./runs/interventions.ts";
import { newestKey, type StateRow, stateOf } from "./runs/run-state.ts";
import { startRuns } from "./runs/starts.ts";

/** As stored. A schedule that waits is in the index holdfast_schedules_waiting. */
const WAITS: Readonly<Record<ScheduleState["waits"], number>> = { no: 0, end: 1, look: 2 };

const ROW = "s.namespace, s.id, s.revision, s.created_at as createdAt, s.definition, s.state, s.input";
const SELECT = `select ${ROW} from holdfast_schedules s where s.namespace = ? and s.id = ?`;
const SELECT_KNOWN = `
  select revision, open_id as openId, decisions from holdfast_schedules where namespace = ? and id = ?`;
const INSERT = `
  insert into holdfast_schedules (namespace, id, revision, created_at, next_at, waits, failures, open_id, definition, state, input,
    decisions)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`;
const UPDATE = `
  update holdfast_schedules set revision = ?, next_at = ?, waits = ?, failures = ?, open_id = ?, definition = coalesce(?, definition),
    state = ?, input = coalesce(?, input), decisions = ?
  where namespace = ? and id = ?`;
const DECISIONS = "select decisions from holdfast_schedules where namespace = ? and id = ?";
const OPEN = `
  select r.run_id as runId, r.status, e.error from holdfast_runs r left join holdfast_run_ends e on e.run_key = r.run_key
  where r.run_key = ?`;
/** The newest run of the open id has one of these statuses. */
const newestIs = (condition: string): string => `exists (
  select 1 from holdfast_runs r where ${condition} and r.run_key = (
    select max(t.run_key) from holdfast_run_starts t
    where t.namespace_key = (select n.name_key from holdfast_names n where n.name = s.namespace) and t.id = s.open_id))`;
const FIRST_CLOSED = statusCode("completed");
const STUCK = [statusCode("failed"), statusCode("timed_out"), statusCode("parked")].join(", ");
const DUE = `
  select ${ROW} from holdfast_schedules s
  where s.next_at <= ? and (s.next_at, s.namespace, s.id) > (?, ?, ?) order by s.next_at, s.namespace, s.id limit ?`;
const WAITING = `
  select ${ROW} from holdfast_schedules s
  where s.waits > 0 and (s.namespace, s.id) > (?, ?) and (s.next_at is null or s.next_at > ?) and (s.waits = ${WAITS.look} or not ${newestIs(`r.status < ${FIRST_CLOSED}`)})
  order by s.namespace, s.id limit ?`;

const AWAITED = `
  select s.namespace, s.open_id as openId from holdfast_schedules s
  where s.waits > 0 order by s.namespace, s.id limit ?`;

/** What a change needs to know of a schedule. */
interface KnownSchedule {
  readonly revision: Uint8Array;
  readonly openId: string | null;
  /** JSON. */
  readonly decisions: string;
}

interface StoredSchedule {
  readonly namespace: string;
  readonly id: string;
  readonly revision: Uint8Array;
  readonly createdAt: number;
  readonly definition: string;
  readonly state: string;
  readonly input: Uint8Array;
}

export function putSchedules(call: Call, params: PutSchedulesParams): PutSchedulesResult {
  const outcomes = params.puts.map((put) => putSchedule(call, put));
  if (params.announce) call.hints.push({ type: "schedule" });
  return { outcomes, now: call.now };
}

function putSchedule(call: Call, put: PutSchedule): PutScheduleOutcome {
  const { namespace, id, revision, next } = put;
  const known = call.sql.get<KnownSchedule>(SELECT_KNOWN, namespace, id);
  const current = known ? uuidText(known.revision) : null;
  if (current === next) return { outcome: "written" };
  if (current !== revision) return { outcome: "moved" };
  const open = known && (put.assumes || put.terminates) ? openRunOf(call, namespace, known.openId) : null;
  if (put.assumes && known && isOpen(open) !== put.assumes.open) return { outcome: "moved" };
  const makesWay = put.terminates && openRow(call, namespace, open, put.terminates.runId);
  if (put.terminates && !makesWay) return { outcome: "moved" };
  if (!known && !(put.definition && put.input)) return { outcome: "moved" };
  const taken = put.starts.flatMap(({ run }) => (newestKey(call, run.namespace, run.id) === null ? [] : [run.id]));
  if (taken.length > 0) return { outcome: "taken", taken };
  if (known) update(call, put, known);
  else insert(call, put);
  const ended = put.terminates && makesWay ? owing(terminate(call, makesWay, put.terminates.error)) : {};
  startRuns(call, { starts: put.starts, holdBy: null, replaceError: NEVER_REPLACED });
  return { outcome: "written", ...ended };
}

/** That run, if it is the open one of the schedule. */
function openRow(call: Call, namespace: string, open: OpenRun | null, runId: string): StateRow | undefined {
  return open?.runId === runId && isOpen(open) ? stateOf(call, namespace, runId) : undefined;
}

/** No start of a schedule replaces a run. */
const NEVER_REPLACED: ErrorRecord = { name: "Error", message: "", kind: "Unknown" };

function insert({ sql, now }: Call, put: PutSchedule): void {
  const { namespace, id, next, definition, state, decided } = put;
  sql.run(
    INSERT,
    ...[namespace, id, newUuidBytes(next), now, state.nextAt, WAITS[state.waits], state.failures, state.openId],
    ...[JSON.stringify(definition), JSON.stringify(state), blob(put.input as Payload)],
    JSON.stringify(remembered([], decided)),
  );
}

function update({ sql }: Call, put: PutSchedule, known: KnownSchedule): void {
  const { namespace, id, next, definition, input, state, decided } = put;
  const decisions = remembered(JSON.parse(known.decisions) as ScheduleDecision[], decided);
  sql.run(
    UPDATE,
    ...[newUuidBytes(next), state.nextAt, WAITS[state.waits], state.failures, state.openId],
    ...[definition ? JSON.stringify(definition) : null, JSON.stringify(state), input ? blob(input) : null],
    ...[JSON.stringify(decisions), namespace, id],
  );
}

/** Before all others: no schedule has an empty id. */
const FIRST: DuePosition = { dueAt: Number.MIN_SAFE_INTEGER, namespace: "", id: "" };

export function dueSchedules(call: Call, { limit, after = FIRST }: DueSchedulesParams): DueSchedulesResult {
  const { sql, now } = call;
  const { dueAt, namespace, id } = after;
  const due = dueAt === null ? [] : sql.all<StoredSchedule>(DUE, now, dueAt, namespace, id, limit + 1);
  const behind = dueAt === null ? after : FIRST;
  const left = Math.max(0, limit + 1 - due.length);
  const waiting = sql.all<StoredSchedule>(WAITING, behind.namespace, behind.id, now, left);
  const found = [...due, ...waiting];
  const schedules = found.slice(0, limit).map((one) => scheduleOf(call, one));
  const awaited = sql
    .all<{ namespace: string; openId: string | null }>(AWAITED, limit)
    .map(({ namespace, openId }) => openRunOf(call, namespace, openId))
    .flatMap((open) => (open && isOpen(open) ? [open.runId] : []));
  return { schedules, now, awaited, more: found.length > limit, ...outlookAfter(call, now) };
}

export function readSchedules(
  call: Call,
  { schedules }: { readonly schedules: readonly ScheduleRef[] },
): (Schedule | null)[] {
  return schedules.map(({ namespace, id }) => {
    const stored = call.sql.get<StoredSchedule>(SELECT, namespace, id);
    return stored ? scheduleOf(call, stored) : null;
  });
}

export function readDecisions({ sql }: Call, { namespace, id }: ScheduleRef): readonly ScheduleDecision[] {
  const row = sql.get<{ decisions: string }>(DECISIONS, namespace, id);
  return row ? (JSON.parse(row.decisions) as ScheduleDecision[]) : [];
}

export function listSchedules(call: Call, params: ListSchedulesParams): Schedule[] {
  const { namespace, after, failing, limit } = params;
  const only = failing ? `and (s.failures > 0 or ${newestIs(`r.status in (${STUCK})`)})` : "";
  const behind = after === undefined ? "" : "and s.id > ?";
  const text = `select ${ROW} from holdfast_schedules s where s.namespace = ? ${behind} ${only} order by s.id limit ?`;
  const values = after === undefined ? [namespace, limit] : [namespace, after, limit];
  return call.sql.all<StoredSchedule>(text, ...values).map((one) => scheduleOf(call, one));
}

export function removeSchedule({ sql }: Call, { namespace, id }: ScheduleRef): { removed: boolean } {
  return { removed: sql.run("delete from holdfast_schedules where namespace = ? and id = ?", namespace, id) > 0 };
}

function scheduleOf(call: Call, stored: StoredSchedule): Schedule {
  const { namespace, id, createdAt, input } = stored;
  const state = JSON.parse(stored.state) as ScheduleState;
  return {
    namespace,
    id,
    revision: uuidText(stored.revision),
    createdAt,
    definition: JSON.parse(stored.definition) as ScheduleDefinition,
    input,
    state,
    open: openRunOf(call, namespace, state.openId),
  };
}

function openRunOf(call: Call, namespace: string, openId: string | null): OpenRun | null {
  const runKey = openId === null ? null : newestKey(call, namespace, openId);
  if (runKey === null) return null;
  const row = call.sql.get<{ runId: Uint8Array; status: number; error: string | null }>(OPEN, runKey);
  if (!row) return null;
  const error = row.error === null ? null : (JSON.parse(row.error) as ErrorRecord).message;
  return { runId: uuidText(row.runId), status: statusName(row.status), error };
}
