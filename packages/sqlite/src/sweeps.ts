import { afterHolder, type SweepParams, type SweepResult } from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { hasTie, OFFLINE, statusCode, TIES } from "./database/codes.ts";
import { uuidBytes } from "./database/uuid.ts";
import { isOwedLong } from "./debts/debts.ts";
import { lastEventAt } from "./histories.ts";
import { stepDownIfOffline } from "./leadership.ts";
import { endRun } from "./runs/ends.ts";
import { park } from "./runs/parking.ts";
import { giveBack, raiseEpoch, type StateRow, stateByKey } from "./runs/run-state.ts";
import { dropTasks, TASK_STATE, type TaskState, takeTaskBack } from "./tasks/task-state.ts";
import { logMoment } from "./worker-log.ts";

const MARK_DEAD = `
  update holdfast_workers set status = ?, died = 1, stopped_at = ?
  where emptied = 0 and status < ? and lease_expires_at <= ? returning worker_key as workerKey`;
const MARK_GONE = `
  update holdfast_workers set status = ?, died = 1, stopped_at = ?
  where emptied = 0 and status < ? and worker_id = ? returning worker_key as workerKey`;
const HELD_BY_OFFLINE = `
  select r.run_key as runKey, w.died from holdfast_workers w join holdfast_runs r on r.held_by = w.worker_key
  where w.emptied = 0 and w.status = ? limit ?`;
const TASKS_OF_OFFLINE = `
  select ${TASK_STATE}, w.died from holdfast_workers w join holdfast_tasks t on t.held_by = w.worker_key
  where w.emptied = 0 and w.status = ? limit ?`;
/** An offline worker only loses runs and tasks: once it holds none, no sweep needs to check it again. */
const MARK_EMPTIED = `
  update holdfast_workers as w set emptied = 1 where emptied = 0 and status = ?
    and not exists (select 1 from holdfast_runs r where r.held_by = w.worker_key)
    and not exists (select 1 from holdfast_tasks t where t.held_by = w.worker_key)`;
const NEXT_EXPIRY = "select min(lease_expires_at) as at from holdfast_workers where emptied = 0 and status < ?";
const NEXT_TASK_EXPIRY = "select min(expires_at) as at from holdfast_tasks where expires_at is not null";
/** Only runs that never began: one that has may have something to clean up, so it waits for a worker. Nor those that are paused. */
const PAST_DEADLINE = `
  select run_key as runKey from holdfast_runs
  where deadline_at is not null and ended_at is null and deadline_at <= ? and started_at is null and status <> ?
  order by deadline_at limit ?`;

export function sweepWorkers(call: Call, params: SweepParams): SweepResult {
  const { sql, now } = call;
  const dead = params.gone ? markGone(call, params.gone) : markDead(call);
  stepDownIfOffline(call);
  const counts = { returned: 0, parked: 0 };
  // One more than the limit, to know whether more are left.
  const held = sql.all<{ runKey: number; died: number }>(HELD_BY_OFFLINE, OFFLINE, params.limit + 1);
  for (const { runKey, died } of held.slice(0, params.limit))
    counts[takeBack(call, stateByKey(call, runKey), died === 1, params)] += 1;
  const room = Math.max(0, params.limit - held.length);
  const tasks = sql.all<TaskState & { died: number }>(TASKS_OF_OFFLINE, OFFLINE, room + 1);
  for (const task of tasks.slice(0, room)) takeTaskBack(call, task, task.died === 1, params);
  const tasksReturned = Math.min(tasks.length, room);
  sql.run(MARK_EMPTIED, OFFLINE);
  const nextExpiryAt = sql.get<{ at: number | null }>(NEXT_EXPIRY, OFFLINE)?.at ?? null;
  const moreHeld = held.length > params.limit || tasks.length > room;
  const lateBefore = now - params.timeoutGraceMs;
  const late = moreHeld
    ? []
    : sql.all<{ runKey: number }>(PAST_DEADLINE, lateBefore, statusCode("parked"), params.limit + 1);
  let owes = isOwedLong(call);
  for (const { runKey } of late.slice(0, params.limit)) {
    const ties = timeOut(call, stateByKey(call, runKey), params);
    owes ||= hasTie(ties, TIES.owes);
  }
  const timedOut = Math.min(late.length, params.limit);
  const more = moreHeld || late.length > params.limit;
  const nextTaskExpiryAt = sql.get<{ at: number | null }>(NEXT_TASK_EXPIRY)?.at ?? null;
  const result = { now, dead, ...counts, tasksReturned, timedOut, more, nextExpiryAt, nextTaskExpiryAt };
  return owes ? { ...result, owes } : result;
}

function markDead(call: Call): number {
  const dead = call.sql.all<{ workerKey: number }>(MARK_DEAD, OFFLINE, call.now, OFFLINE, call.now);
  for (const { workerKey } of dead) logMoment(call, workerKey, "died");
  return dead.length;
}

function markGone(call: Call, workerIds: readonly string[]): number {
  const dead = workerIds.flatMap((workerId) =>
    call.sql.all<{ workerKey: number }>(MARK_GONE, OFFLINE, call.now, OFFLINE, uuidBytes(workerId)),
  );
  for (const { workerKey } of dead) logMoment(call, workerKey, "died");
  return dead.length;
}

/** A run of an offline worker becomes due again, unless it has proved to kill workers. */
function takeBack(call: Call, row: StateRow, died: boolean, params: SweepParams): "returned" | "parked" {
  const marks = {
    deaths: row.deaths,
    aloneDeaths: row.aloneDeaths,
    alone: row.alone === 1,
    suspect: row.suspect === 1,
  };
  const { deaths, aloneDeaths, suspect, parked } = afterHolder(marks, died, params);
  if (died) {
    call.sql.run(
      "update holdfast_runs set deaths = ?, alone_deaths = ?, suspect = ? where run_key = ?",
      ...[deaths, aloneDeaths, Number(suspect), row.runKey],
    );
  }
  if (!parked) {
    giveBack(call, row);
    return "returned";
  }
  raiseEpoch(call, row);
  park(call, row, { error: params.parkError });
  return "parked";
}

/** Returns its ties afterward. */
function timeOut(call: Call, row: StateRow, params: SweepParams): number | null {
  raiseEpoch(call, row);
  dropTasks(call, row.runId);
  const end = { status: "timed_out", output: null, error: params.timeoutError } as const;
  // It never began, so it has no events, unless it was paused.
  return endRun(call, row, { ...end, lastEventAt: row.eventCount === 0 ? 0 : lastEventAt(call, row.runKey) });
}
