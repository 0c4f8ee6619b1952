/**
 * What a call reads about a run before it decides, and the transitions that it then writes. A call reads a StateRow only
 * once: code that changes a run twice in one call must keep its copy up to date.
 */
import { dueTime, type ErrorRecord, type Hint, isDue, type RunRef, type RunStatus } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { statusCode } from "../database/codes.ts";
import type { Columns } from "../database/driver.ts";
import { sharedUuidBytes, uuidText } from "../database/uuid.ts";

/** Appends do not change the row: while a run is held, its events say how many there are. */
export const EVENT_COUNT = `iif(r.held_by is null, r.event_count, coalesce(
    (select max(v.seq) from holdfast_events v where v.run_key = r.run_key), r.event_count))`;

const STATE = `
  select r.run_key as runKey, r.run_id as runId, coalesce(r.chain_key, r.run_key) as chainKey, r.lane_id as laneId, r.status, r.epoch,
    r.commit_no as "commit", ${EVENT_COUNT} as eventCount, r.delivered, r.consumed, r.held_by as heldBy,
    r.available_at as availableAt, r.created_at as createdAt, r.started_at as startedAt, r.deadline_at as deadlineAt, r.deaths,
    r.alone_deaths as aloneDeaths, r.alone, r.suspect, r.ties, r.parked_by is not null as parkedBefore
  from holdfast_runs r`;

export interface StateRow {
  readonly runKey: number;
  readonly runId: Uint8Array;
  /** The key of the first run of the chain. */
  readonly chainKey: number;
  readonly laneId: number;
  readonly status: number;
  readonly epoch: number;
  readonly commit: number;
  readonly eventCount: number;
  readonly delivered: number;
  readonly consumed: number;
  /** The key of a worker. */
  readonly heldBy: number | null;
  readonly availableAt: number | null;
  readonly createdAt: number;
  readonly startedAt: number | null;
  readonly deadlineAt: number | null;
  readonly deaths: number;
  readonly aloneDeaths: number;
  readonly alone: number;
  readonly suspect: number;
  /** What it has to do with other runs: bits (TIES). */
  readonly ties: number | null;
  /** 1 if code has parked it since its last progress. */
  readonly parkedBefore: number;
}

const STATE_BY_RUN_ID = `${STATE} where r.run_id = ?`;
const STATE_BY_KEY = `${STATE} where r.run_key = ?`;
const STATE_OF_NEWEST = `
  ${STATE} where r.run_key = (select max(run_key) from holdfast_run_starts where namespace_key = ? and id = ?)`;
/** Keys are assigned in the order of creation, so the newest run of an id has the largest key. */
const NEWEST_KEY = "select max(run_key) from holdfast_run_starts where namespace_key = ? and id = ?";
const NEWEST_OF_CHAIN = "select max(run_key) from holdfast_run_starts where first_run_id = ? and namespace_key = ?";
const KEY_BY_RUN_ID = "select run_key, lane_id from holdfast_runs where run_id = ?";

/** The run with that id, if it belongs to the namespace. */
export function stateOf(call: Call, namespace: string, runId: string): StateRow | undefined {
  const row = call.sql.get<StateRow>(STATE_BY_RUN_ID, sharedUuidBytes(runId));
  return row && isOf(call, row.laneId, namespace) ? row : undefined;
}

export function isOf({ catalog }: Call, laneId: number, namespace: string): boolean {
  return catalog.lane(laneId).namespace === namespace;
}

export function stateByKey(call: Call, runKey: number): StateRow {
  return call.sql.get<StateRow>(STATE_BY_KEY, runKey) as StateRow;
}

export function newestKey(call: Call, namespace: string, id: string): number | null {
  const namespaceKey = call.catalog.findNameKey(namespace);
  if (namespaceKey === undefined) return null;
  return keyIn(call.sql.columns(NEWEST_KEY, namespaceKey, id));
}

export function findState(call: Call, ref: RunRef): StateRow | undefined {
  if (!("runId" in ref)) return newestState(call, ref.namespace, ref.id);
  const known = stateOf(call, ref.namespace, ref.runId);
  if (known) return known;
  const runKey = newestOfChain(call, ref);
  return runKey === null ? undefined : stateByKey(call, runKey);
}

function newestState(call: Call, namespace: string, id: string): StateRow | undefined {
  const namespaceKey = call.catalog.findNameKey(namespace);
  return namespaceKey === undefined ? undefined : call.sql.get<StateRow>(STATE_OF_NEWEST, namespaceKey, id);
}

export function findKey(call: Call, ref: RunRef): number | null {
  return keyOf(call, ref) ?? ("runId" in ref ? newestOfChain(call, ref) : null);
}

/** For a run id that no run has: the run may have been purged, and others have continued it. */
function newestOfChain(call: Call, { namespace, runId }: { namespace: string; runId: string }): number | null {
  const namespaceKey = call.catalog.findNameKey(namespace);
  if (namespaceKey === undefined) return null;
  return keyIn(call.sql.columns(NEWEST_OF_CHAIN, sharedUuidBytes(runId), namespaceKey));
}

/** Of exactly that run. */
export function keyOf(call: Call, ref: RunRef): number | null {
  if (!("runId" in ref)) return newestKey(call, ref.namespace, ref.id);
  const [runKey, laneId] = call.sql.columns(KEY_BY_RUN_ID, sharedUuidBytes(ref.runId)) ?? [];
  if (runKey === undefined || !isOf(call, laneId as number, ref.namespace)) return null;
  return runKey as number;
}

function keyIn(row: Columns | undefined): number | null {
  return (row?.[0] as number | null | undefined) ?? null;
}

export function announceIfDue(call: Call, laneId: number, availableAt: number | null): void {
  if (availableAt !== null && isDue(availableAt, call.now)) announceDue(call, laneId, availableAt);
}

/** Also announces runs that become due later, with the earliest time per queue: workers could not know about them otherwise. */
export function announceDue(call: Call, laneId: number, availableAt: number): void {
  announceInQueue(call, call.catalog.lane(laneId), availableAt);
}

export function announceInQueue(
  { hints, now }: Call,
  { namespace, queue }: { readonly namespace: string; readonly queue: string },
  availableAt: number,
  type: DueHint["type"] = "due",
): void {
  const known = hints.findIndex((hint) => hint.type === type && hint.namespace === namespace && hint.queue === queue);
  const earlier = known < 0 ? undefined : (hints[known] as DueHint);
  if (earlier && (earlier.at === undefined || earlier.at <= availableAt)) return;
  const hint: DueHint = { type, namespace, queue, ...(availableAt > now && { at: availableAt }) };
  if (earlier) hints[known] = hint;
  else hints.push(hint);
}

type DueHint = Extract<Hint, { readonly type: "due" | "task_due" }>;

/** The counters that a commit moves, in the same update as the rest: SQLite rewrites the whole row either way. */
export interface Counts {
  readonly eventCount: number;
  readonly consumed: number;
}

export const COUNT = "commit_no = commit_no + 1, event_count = ?, consumed = ?";
const LEAVE = `
  held_by = null, claim_id = null, alone = 0, status = ?, available_at = ?, waiting_for = ? where run_key = ?`;
const LET_GO = `update holdfast_runs set ${LEAVE}`;
const COUNT_AND_LET_GO = `update holdfast_runs set ${COUNT}, ${LEAVE}`;

/** Stops holding the run and sets what becomes of it; `status` null leaves the status unchanged. */
export function letGo(
  call: Call,
  row: Pick<StateRow, "runKey" | "laneId" | "status" | "deadlineAt">,
  next: { readonly status: RunStatus | null; readonly dueAt: number | null; readonly waitingFor?: readonly string[] },
  counts?: Counts,
): void {
  // Whole milliseconds, rounded up, so that nothing is due early.
  const dueAt = next.dueAt === null ? null : Math.ceil(next.dueAt);
  const availableAt = dueTime(dueAt, row.deadlineAt, call.now);
  const waitingFor = next.waitingFor && next.waitingFor.length > 0 ? JSON.stringify(next.waitingFor) : null;
  const status = next.status === null ? row.status : statusCode(next.status);
  const { sql } = call;
  if (counts)
    sql.execute(COUNT_AND_LET_GO, counts.eventCount, counts.consumed, status, availableAt, waitingFor, row.runKey);
  else sql.execute(LET_GO, status, availableAt, waitingFor, row.runKey);
  announceIfDue(call, row.laneId, availableAt);
}

/** Fences off the holder, if there is one: its next write is refused, and the row says how many events there are. */
export function raiseEpoch(call: Call, row: StateRow): void {
  call.sql.run(
    "update holdfast_runs set epoch = epoch + 1, event_count = ? where run_key = ?",
    row.eventCount,
    row.runKey,
  );
  if (row.heldBy !== null) noteTaken(call, row.heldBy);
}

/** The row of a run that a worker holds has changed, and not by a commit of its own: see known-holds.ts. */
export function noteTaken({ sql }: Call, heldBy: number): void {
  sql.execute("update holdfast_workers set taken = taken + 1 where worker_key = ?", heldBy);
}

/** The run has got a tie, and not by a commit of its own. `row`: as it was before. */
export function noteTied(call: Call, row: Pick<StateRow, "ties" | "heldBy">): void {
  if (row.ties === null && row.heldBy !== null) noteTaken(call, row.heldBy);
}

/** Epoch + 1, due at once. */
export function giveBack(call: Call, row: StateRow): void {
  call.sql.run(
    `update holdfast_runs set epoch = epoch + 1, event_count = ?, held_by = null, claim_id = null, alone = 0, available_at = ?
     where run_key = ?`,
    ...[row.eventCount, call.now, row.runKey],
  );
  if (row.heldBy !== null) noteTaken(call, row.heldBy);
  announceIfDue(call, row.laneId, call.now);
}

/** Also when a run is parked: callers that wait for its result should look. */
export function announceEnd(call: Call, row: { readonly runId: string | Uint8Array; readonly laneId: number }): void {
  const { namespace } = call.catalog.lane(row.laneId);
  const runId = typeof row.runId === "string" ? row.runId.toLowerCase() : uuidText(row.runId);
  call.hints.push({ type: "ended", namespace, runId });
}

/** Why the run is parked; null clears it. */
export function noteError(call: Call, row: Pick<StateRow, "runKey">, error: ErrorRecord | null): void {
  call.sql.run(
    `insert into holdfast_run_ends (run_key, error) values (?, ?)
     on conflict (run_key) do update set error = excluded.error`,
    ...[row.runKey, errorText(error)],
  );
}

/** Which code parked the run; null: none, or the reason is one that other code cannot fix. */
export function noteParkers(call: Call, runKey: number, parkedBy: string | null): void {
  call.sql.run("update holdfast_runs set parked_by = ? where run_key = ?", parkedBy, runKey);
}

/** Called after progress or an operator's action: the run is no longer a suspect, and any code may take it up. */
export function forgetDeaths(call: Call, runKey: number): void {
  call.sql.execute(
    "update holdfast_runs set deaths = 0, alone_deaths = 0, suspect = 0, alone = 0, parked_by = null where run_key = ?",
    runKey,
  );
}

/** Tells the holder that an operator has taken the run away. Call it while the row still names the holder. */
export function announceTaken(call: Call, row: StateRow): void {
  if (row.heldBy === null) return;
  call.hints.push({ type: "taken", runId: uuidText(row.runId), workerId: call.catalog.workerId(row.heldBy) });
}

// JSON text never contains a NUL or half a surrogate pair: both are escaped.
export function errorText(error: ErrorRecord | null): string | null {
  return error === null ? null : JSON.stringify(error);
}
