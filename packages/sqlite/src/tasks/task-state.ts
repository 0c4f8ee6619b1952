/**
 * What a call reads about a task before it decides, and the transitions. A transition changes the copy in memory; `saveTask`
 * writes it, once per call.
 */
import {
  afterTaskHolder,
  type afterTaskProcess,
  type Expiry,
  expiryWhenDue,
  expiryWhenHeld,
  type NewTask,
  type TaskKey,
  type TaskLimits,
  type TaskStatus,
  type TaskTimes,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { expiryCode, taskStatusCode } from "../database/codes.ts";
import type { Columns } from "../database/driver.ts";
import { newSharedUuidBytes, sharedUuidBytes, uuidText } from "../database/uuid.ts";
import { giveBackPlace, leaveLine } from "../queues/place-state.ts";
import { announceInQueue } from "../runs/run-state.ts";

/** The columns of a TaskState, of a table `t`. */
export const TASK_STATE = `
  t.run_id as runId, t.seq, t.lane_id as laneId, t.status, t.epoch, t.attempt, t.held_by as heldBy, t.claim_id as claimId,
  t.available_at as availableAt, t.expires_at as expiresAt, t.expires, t.began_at as beganAt, t.created_at as createdAt,
  t.canceled, t.deaths, t.alone_deaths as aloneDeaths, t.alone, t.suspect, t.external, t.fail_on_crash as failOnCrash,
  t.timeout_ms as timeoutMs, t.start_timeout_ms as startTimeoutMs, t.total_timeout_ms as totalTimeoutMs,
  t.heartbeat_ms as heartbeatMs, t.op, t.secret, t.finish_id as finishId, t.failures, t.place`;

export interface TaskState extends TaskLimits {
  readonly runId: Uint8Array;
  readonly seq: number;
  readonly laneId: number;
  status: number;
  epoch: number;
  attempt: number;
  /** The key of a worker. */
  heldBy: number | null;
  claimId: Uint8Array | null;
  availableAt: number | null;
  expiresAt: number | null;
  expires: number | null;
  /** When its current attempt began; null before the first. */
  beganAt: number | null;
  readonly createdAt: number;
  canceled: number;
  deaths: number;
  aloneDeaths: number;
  alone: number;
  suspect: number;
  /** What its definition says; a task that a worker has made external is not. */
  readonly external: number;
  readonly failOnCrash: number;
  readonly op: string;
  readonly secret: string;
  /** The call with a token that made it due again. */
  finishId: string | null;
  /** As JSON; null if there are none. */
  failures: string | null;
  /** In a queue with limits: IN_LINE or PLACED. */
  place: number | null;
}

/** It waits for a place; it has one. */
export const IN_LINE = 1;
export const PLACED = 2;

/** Every claim and finish reads one: as an array, that takes half the time. */
type StateColumns = readonly [
  ...[runId: Uint8Array, seq: number, laneId: number, status: number, epoch: number, attempt: number],
  ...[heldBy: number | null, claimId: Uint8Array | null, availableAt: number | null, expiresAt: number | null],
  ...[expires: number | null, beganAt: number | null, createdAt: number, canceled: number, deaths: number],
  ...[aloneDeaths: number, alone: number, suspect: number, external: number, failOnCrash: number],
  ...[timeoutMs: number | null, startTimeoutMs: number | null, totalTimeoutMs: number | null],
  ...[heartbeatMs: number | null, op: string, secret: string, finishId: string | null, failures: string | null],
  place: number | null,
];

/** How many columns TASK_STATE has. */
export const STATE_WIDTH = 29;

export const HELD = taskStatusCode("held");
export const EXTERNAL = taskStatusCode("external");
export const DEAD = taskStatusCode("dead");
const DUE = taskStatusCode("due");

const BY_KEY = `select ${TASK_STATE} from holdfast_tasks t where t.run_id = ? and t.seq = ?`;
const HELD_BY = `select ${TASK_STATE} from holdfast_tasks t where t.held_by = ?`;
const INSERT = `
  insert into holdfast_tasks (run_id, seq, lane_id, status, epoch, held_by, claim_id, available_at, expires_at, expires,
    began_at, created_at, external, fail_on_crash, timeout_ms, start_timeout_ms, total_timeout_ms, heartbeat_ms, input_seq, op,
    secret, key, attempt, canceled, deaths, alone_deaths, alone, suspect)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 1, 0, 0, 0, 0, 0)`;
const SAVE = `
  update holdfast_tasks set status = ?, epoch = ?, attempt = ?, held_by = ?, claim_id = ?, available_at = ?, expires_at = ?,
    expires = ?, began_at = ?, canceled = ?, deaths = ?, alone_deaths = ?, alone = ?, suspect = ?, finish_id = ?, failures = ?,
    place = ?
  where run_id = ? and seq = ?`;
const DELETE = "delete from holdfast_tasks where run_id = ? and seq = ?";
const DELETE_UNLESS_DEAD = `delete from holdfast_tasks where run_id = ? and status <> ${DEAD} returning seq, held_by, place`;

export const NO_EXPIRY: Expiry = { expiresAt: null, expires: null };

/** The task of that key, if it is of that namespace. */
export function taskIn({ sql, catalog }: Call, namespace: string, { runId, seq }: TaskKey): TaskState | undefined {
  const columns = sql.columns(BY_KEY, sharedUuidBytes(runId), seq);
  if (!columns) return undefined;
  const task = toState(columns);
  return catalog.taskLane(task.laneId).namespace === namespace ? task : undefined;
}

export function toState(columns: Columns): TaskState {
  const c = columns as StateColumns;
  return {
    runId: c[0],
    seq: c[1],
    laneId: c[2],
    status: c[3],
    epoch: c[4],
    attempt: c[5],
    heldBy: c[6],
    claimId: c[7],
    availableAt: c[8],
    expiresAt: c[9],
    expires: c[10],
    beganAt: c[11],
    createdAt: c[12],
    canceled: c[13],
    deaths: c[14],
    aloneDeaths: c[15],
    alone: c[16],
    suspect: c[17],
    external: c[18],
    failOnCrash: c[19],
    timeoutMs: c[20],
    startTimeoutMs: c[21],
    totalTimeoutMs: c[22],
    heartbeatMs: c[23],
    op: c[24],
    secret: c[25],
    finishId: c[26],
    failures: c[27],
    place: c[28],
  };
}

export function tasksHeldBy({ sql }: Call, workerKey: number): TaskState[] {
  return sql.all<TaskState>(HELD_BY, workerKey);
}

/** A second id in a statement needs memory of its own. */
const claimBytes = new Uint8Array(16);

/** `holder`: the key of the worker of `holdBy`, if it may hold the task. */
export function insertTask(
  call: Call,
  run: { readonly namespace: string; readonly runId: string },
  task: NewTask,
  holder: number | null,
): void {
  const { sql, catalog, now } = call;
  const { seq, inputSeq, op, secret, external, failOnCrash, holdBy } = task;
  const laneId = catalog.taskLaneId(run.namespace, task);
  const held = holder !== null && !external;
  const due = !held && !external;
  const times: TaskTimes = {
    timeoutMs: wholeMs(task.timeoutMs),
    startTimeoutMs: wholeMs(task.startTimeoutMs),
    totalTimeoutMs: wholeMs(task.totalTimeoutMs),
    heartbeatMs: wholeMs(task.heartbeatMs),
    createdAt: now,
    external,
  };
  const { expiresAt, expires } = due ? expiryWhenDue(times, now) : expiryWhenHeld(times, now, now);
  sql.execute(
    INSERT,
    newSharedUuidBytes(run.runId),
    seq,
    laneId,
    external ? EXTERNAL : held ? HELD : DUE,
    held ? 1 : 0,
    held ? holder : null,
    held && holdBy ? newSharedUuidBytes(holdBy.claimId, claimBytes) : null,
    due ? now : null,
    expiresAt,
    expiryCode(expires),
    due ? null : now,
    now,
    external ? 1 : 0,
    failOnCrash ? 1 : 0,
    times.timeoutMs,
    times.startTimeoutMs,
    times.totalTimeoutMs,
    times.heartbeatMs,
    inputSeq,
    op,
    secret,
    task.key ?? null,
  );
  if (due) announceInQueue(call, catalog.taskLane(laneId), now, "task_due");
}

/** Rounded up, so that nothing expires early. */
function wholeMs(ms: number | null): number | null {
  return ms === null ? null : Math.ceil(ms);
}

export function saveTask(call: Call, task: TaskState): void {
  const { sql } = call;
  if (task.place !== null && isOutOfPlace(task)) {
    leaveQueue(call, task);
    task.place = null;
  }
  const { status, epoch, attempt, heldBy, claimId, availableAt, expiresAt, expires, beganAt, canceled } = task;
  const { deaths, aloneDeaths, alone, suspect, finishId, failures, place, runId, seq } = task;
  sql.execute(
    SAVE,
    status,
    epoch,
    attempt,
    heldBy,
    claimId,
    availableAt,
    expiresAt,
    expires,
    beganAt,
    canceled,
    deaths,
    aloneDeaths,
    alone,
    suspect,
    finishId,
    failures,
    place,
    runId,
    seq,
  );
}

/** Its attempt has ended, or it does not wait any more. A suspect keeps its place: it is claimed alone, whenever a worker is empty. */
function isOutOfPlace({ place, status, heldBy, suspect, availableAt, canceled }: TaskState): boolean {
  if (status === DEAD) return true;
  return place === PLACED ? heldBy === null && suspect === 0 : availableAt !== null || canceled === 1;
}

/** Whoever is next may have its place. Only tasks of queues with limits have a `place`. */
export function leaveQueue(call: Call, { runId, seq, place }: Pick<TaskState, "runId" | "seq" | "place">): void {
  if (place === IN_LINE) leaveLine(call, { runId, seq });
  if (place === PLACED) giveBackPlace(call, { runId, seq });
}

/** An attempt begins: epoch + 1, held by the worker. */
export function hold(task: TaskState, holder: { workerKey: number; claimId: Uint8Array }, now: number): void {
  task.status = HELD;
  task.epoch += 1;
  task.heldBy = holder.workerKey;
  task.claimId = holder.claimId;
  task.availableAt = null;
  begin(task, now);
}

/** It is due again from then on, epoch + 1. A task that is external by definition is at once open again. */
export function returnTask(call: Call, task: TaskState, availableAt: number): void {
  const { now } = call;
  task.epoch += 1;
  task.finishId = null;
  if (task.external === 1) {
    task.status = EXTERNAL;
    begin(task, now);
    return;
  }
  letGo(task, "due");
  // Nobody will report on it any more.
  if (task.canceled === 1) {
    setExpiry(task, { expiresAt: now, expires: "cancel" });
    return;
  }
  task.availableAt = availableAt;
  setExpiry(task, expiryWhenDue(timesOf(task), availableAt));
  announceInQueue(call, call.catalog.taskLane(task.laneId), availableAt, "task_due");
}

/** A task of an offline worker is due again, or expires at once if that fails it. */
export function takeTaskBack(
  call: Call,
  task: TaskState,
  died: boolean,
  limits: { readonly suspectAfter: number; readonly parkAfter: number },
): void {
  returnDead(call, task, afterTaskHolder(marksOf(task), died, task.failOnCrash === 1, limits));
  saveTask(call, task);
}

/** The same with what follows from it. */
export function returnDead(call: Call, task: TaskState, after: ReturnType<typeof afterTaskProcess>): void {
  returnTask(call, task, call.now);
  task.deaths = after.deaths;
  task.aloneDeaths = after.aloneDeaths;
  task.suspect = Number(after.suspect);
  if (!after.crashed) return;
  task.availableAt = null;
  setExpiry(task, { expiresAt: call.now, expires: "crash" });
}

export function marksOf({ deaths, aloneDeaths, alone, suspect }: TaskState): Parameters<typeof afterTaskProcess>[0] {
  return { deaths, aloneDeaths, alone: alone === 1, suspect: suspect === 1 };
}

/** The limits of an attempt begin to run. */
function begin(task: TaskState, now: number): void {
  task.beganAt = now;
  setExpiry(task, expiryWhenHeld(timesOf(task), now, now));
}

export function letGo(task: TaskState, next: TaskStatus): void {
  task.status = taskStatusCode(next);
  task.heldBy = null;
  task.claimId = null;
  task.alone = 0;
}

export function setExpiry(task: TaskState, { expiresAt, expires }: Expiry): void {
  task.expiresAt = expiresAt;
  task.expires = expiryCode(expires);
}

export function timesOf(task: TaskState): TaskTimes {
  const { timeoutMs, startTimeoutMs, totalTimeoutMs, heartbeatMs, createdAt, status } = task;
  return { timeoutMs, startTimeoutMs, totalTimeoutMs, heartbeatMs, createdAt, external: status === EXTERNAL };
}

export function deleteTask(call: Call, task: Pick<TaskState, "runId" | "seq" | "place">): void {
  if (task.place !== null) leaveQueue(call, task);
  call.sql.execute(DELETE, task.runId, task.seq);
}

/** All tasks of a run go, except dead letters. `own`: the key of the worker that makes the call. */
export function dropTasks(call: Call, runId: Uint8Array, own: number | null = null): void {
  for (const [seq, heldBy, place] of call.sql.allColumns(DELETE_UNLESS_DEAD, runId) as Dropped[]) {
    hintHolder(call, { runId, seq, heldBy }, own);
    if (place !== null) leaveQueue(call, { runId, seq, place });
  }
}

type Dropped = readonly [seq: number, heldBy: number | null, place: number | null];

/** The task was taken from whoever holds it, or canceled. */
export function hintHolder(
  { hints, catalog }: Call,
  task: Pick<TaskState, "runId" | "seq" | "heldBy">,
  own: number | null = null,
): void {
  const { runId, seq, heldBy } = task;
  if (heldBy === null || heldBy === own) return;
  hints.push({ type: "task", runId: uuidText(runId), seq, workerId: catalog.workerId(heldBy) });
}
