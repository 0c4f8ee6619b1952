import { DEBT_OVERDUE_MS } from "../model/debt.ts";
import { afterHolder, isDead } from "../model/decisions/dead-holder.ts";
import { isOverdueUnbegun } from "../model/decisions/due-time.ts";
import type { SweepParams, SweepResult } from "../ports/store.ts";
import { stepDown } from "./leadership.ts";
import { endRun } from "./runs/ends.ts";
import { park } from "./runs/parking.ts";
import { giveBack, type MemoryState, type RunRecord } from "./state.ts";
import { takeTaskBack } from "./tasks/finishes.ts";
import { dropTasks, tasksHeldBy } from "./tasks/task-state.ts";
import { logMoment } from "./worker-log.ts";
import { heldRows } from "./workers.ts";

export function sweepWorkers(state: MemoryState, params: SweepParams, now: number): SweepResult {
  const result = {
    now,
    dead: 0,
    returned: 0,
    tasksReturned: 0,
    parked: 0,
    timedOut: 0,
    more: false,
    nextExpiryAt: null as number | null,
    nextTaskExpiryAt: null as number | null,
  };
  for (const worker of state.workers.values()) {
    if (worker.status !== "offline" && isDead(worker, params.gone, now)) {
      worker.status = "offline";
      worker.stoppedAt = now;
      worker.died = true;
      logMoment(state, worker, "died", now);
      stepDown(state, worker.workerId);
      result.dead += 1;
    }
    if (worker.status !== "offline") {
      result.nextExpiryAt = Math.min(result.nextExpiryAt ?? worker.leaseExpiresAt, worker.leaseExpiresAt);
      continue;
    }
    for (const row of heldRows(state, worker.workerId)) {
      if (isFull(result, params)) return { ...result, more: true };
      result[takeBack(state, row, worker.died, params, now)] += 1;
    }
    for (const task of tasksHeldBy(state, worker.workerId)) {
      if (isFull(result, params)) return { ...result, more: true };
      takeTaskBack(state, task, worker.died, params, now);
      result.tasksReturned += 1;
    }
  }
  let owes = isOwedLong(state, now);
  for (const runId of state.deadlines) {
    const row = state.runs.get(runId) as RunRecord;
    if (!isOverdueUnbegun(row, params.timeoutGraceMs, now)) continue;
    row.epoch += 1;
    dropTasks(state, row.runId);
    endRun(state, row, { status: "timed_out", output: null, error: params.timeoutError }, now);
    result.timedOut += 1;
    owes ||= state.debtsOf.has(row.runId);
  }
  for (const { expiresAt } of state.tasks.values())
    if (expiresAt !== null) result.nextTaskExpiryAt = Math.min(result.nextTaskExpiryAt ?? expiresAt, expiresAt);
  return owes ? { ...result, owes } : result;
}

function isOwedLong(state: MemoryState, now: number): boolean {
  for (const { at } of state.debts.values()) if (at + DEBT_OVERDUE_MS <= now) return true;
  return false;
}

function isFull({ returned, parked, tasksReturned }: SweepResult, { limit }: SweepParams): boolean {
  return returned + parked + tasksReturned >= limit;
}

/** The run of an offline worker becomes due again, unless it has proved to kill workers. */
function takeBack(
  state: MemoryState,
  row: RunRecord,
  died: boolean,
  params: SweepParams,
  now: number,
): "returned" | "parked" {
  const { parked, ...marks } = afterHolder(row, died, params);
  Object.assign(row, marks);
  giveBack(state, row, now);
  if (!parked) return "returned";
  park(state, row, { error: params.parkError }, now);
  return "parked";
}
