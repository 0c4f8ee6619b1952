import { afterGuest } from "../model/decisions/dead-holder.ts";
import { HEARTBEAT_KEPT_EVERY_MS, type WorkerRow } from "../model/worker-row.ts";
import type {
  HeartbeatParams,
  HeartbeatResult,
  HeldRunState,
  HeldTask,
  ListWorkersParams,
  RegisterWorkerParams,
  RegisterWorkerResult,
  ReleaseRunsParams,
  WorkerRef,
} from "../ports/store.ts";
import { lead, stepDown } from "./leadership.ts";
import { giveBack, isLive, type MemoryState, openRun, type RunRecord, workerIn } from "./state.ts";
import { takeTaskBack } from "./tasks/finishes.ts";
import { tasksHeldBy } from "./tasks/task-state.ts";
import { logMoment } from "./worker-log.ts";

export function registerWorker(state: MemoryState, params: RegisterWorkerParams, now: number): RegisterWorkerResult {
  const existing = state.workers.get(params.workerId);
  const { coordinates = false, about = {}, ...row } = params;
  if (existing) {
    const live = isLive(state, params);
    return { live, now, ...namesakesOf(state, params), ...(live ? lead(state, params, coordinates, now) : {}) };
  }
  state.workers.set(params.workerId, {
    ...row,
    about,
    load: null,
    drainAsked: false,
    loggedAt: now,
    ratesNo: 0,
    activeRuns: 0,
    activeTasks: 0,
    status: "online",
    startedAt: now,
    heartbeatAt: now,
    leaseExpiresAt: now + params.leaseMs,
    stoppedAt: null,
    died: false,
  });
  logMoment(state, params, "started", now);
  return { live: true, now, ...namesakesOf(state, params), ...lead(state, params, coordinates, now) };
}

function namesakesOf(state: MemoryState, { workerId, namespace, host, name }: RegisterWorkerParams) {
  if (host === undefined) return {};
  const others = [...state.workers.values()].filter(
    (one) => one.workerId !== workerId && one.status !== "offline" && one.namespace === namespace && one.name === name,
  );
  const here = others.filter((one) => one.host === host);
  return { namesakes: here.map((one) => ({ workerId: one.workerId, pid: one.pid as number })) };
}

export function heartbeatWorker(state: MemoryState, params: HeartbeatParams, now: number): HeartbeatResult {
  const worker = workerIn(state, params);
  if (!worker || worker.status === "offline")
    return { live: false, now, heldCount: 0, behind: [], heldTasks: 0, canceledTasks: [] };
  if (params.draining && worker.status !== "draining") logMoment(state, worker, "stopping", now);
  if (now - worker.loggedAt >= HEARTBEAT_KEPT_EVERY_MS) {
    worker.loggedAt = now;
    logMoment(state, worker, "heartbeat", now);
  }
  worker.heartbeatAt = now;
  if (params.load) worker.load = params.load;
  worker.leaseMs = params.leaseMs;
  worker.leaseExpiresAt = now + params.leaseMs;
  worker.status = params.draining ? "draining" : "online";
  const rows = heldRows(state, params.workerId);
  const behind = rows.filter((row) => row.delivered > row.consumed).map((row) => row.runId);
  const tasks = tasksHeldBy(state, params.workerId);
  const canceledTasks = tasks
    .filter(({ canceled }) => canceled)
    .map(({ runId, seq, epoch }) => ({ runId, seq, epoch }));
  const leading = lead(state, params, params.coordinates === true && !params.draining, now);
  const drain = worker.drainAsked ? { drain: true as const } : {};
  const held = { heldCount: rows.length, behind, heldTasks: tasks.length, canceledTasks };
  return { live: true, now, ...held, ...drain, ...leading };
}

export function heldRows(state: MemoryState, workerId: string): RunRecord[] {
  return [...(state.held.get(workerId) ?? [])].map((runId) => state.runs.get(runId) as RunRecord);
}

export function readHeld(state: MemoryState, params: WorkerRef): HeldRunState[] {
  if (!workerIn(state, params)) return [];
  return heldRows(state, params.workerId).map(({ runId, epoch, commit, eventCount }) => ({
    ...{ runId, epoch, commit, eventCount },
  }));
}

export function readHeldTasks(state: MemoryState, params: WorkerRef): HeldTask[] {
  if (!workerIn(state, params)) return [];
  const tasks = tasksHeldBy(state, params.workerId);
  return tasks.map(({ runId, seq, epoch, canceled }) => ({ runId, seq, epoch, canceled }));
}

export function listWorkers(state: MemoryState, { namespace, goneSince = 0 }: ListWorkersParams): WorkerRow[] {
  return [...state.workers.values()]
    .filter((worker) => worker.namespace === namespace)
    .filter(({ status, stoppedAt }) => status !== "offline" || (stoppedAt ?? 0) >= goneSince)
    .map(({ loggedAt: _, ratesNo: __, ...worker }) => ({
      ...worker,
      activeRuns: state.held.get(worker.workerId)?.size ?? 0,
      activeTasks: state.heldTasks.get(worker.workerId)?.size ?? 0,
    }));
}

export function releaseRunsIfHeld(state: MemoryState, params: ReleaseRunsParams, now: number): { released: number } {
  let released = 0;
  for (const { runId, epoch } of params.runs) {
    const row = openRun(state, params.namespace, runId);
    if (!row || row.heldBy !== params.workerId || row.epoch !== epoch) continue;
    if (params.died) Object.assign(row, afterGuest(row, params.died));
    giveBack(state, row, now);
    released += 1;
  }
  return { released };
}

/** Nothing is held against a task whose worker only stopped. */
const NOT_DEAD = { suspectAfter: Number.POSITIVE_INFINITY, parkAfter: Number.POSITIVE_INFINITY };

export function stopWorker(state: MemoryState, params: WorkerRef, now: number): void {
  const worker = workerIn(state, params);
  if (!worker) return;
  if (worker.status !== "offline") {
    worker.status = "offline";
    worker.stoppedAt = now;
    logMoment(state, worker, "stopped", now);
  }
  stepDown(state, params.workerId);
  for (const row of heldRows(state, params.workerId)) giveBack(state, row, now);
  for (const task of tasksHeldBy(state, params.workerId)) takeTaskBack(state, task, false, NOT_DEAD, now);
}
