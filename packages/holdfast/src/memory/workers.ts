import { isClosed } from "../model/run.ts";
import type { WorkerRow } from "../model/worker-row.ts";
import type {
  HeartbeatParams,
  HeartbeatResult,
  HeldRun,
  RegisterWorkerParams,
  RegisterWorkerResult,
  ReleaseRunsParams,
  RunRef,
  SweepParams,
  SweepResult,
  TerminateOutcome,
  TerminateRunsParams,
  WorkerRef,
} from "../ports/store.ts";
import { isLive } from "./starts.ts";
import { endRun, findRun, letGo, type MemoryState, openRun, type RunRecord, setAvailable, workerIn } from "./state.ts";

export function registerWorker(state: MemoryState, params: RegisterWorkerParams, now: number): RegisterWorkerResult {
  const existing = state.workers.get(params.workerId);
  if (existing) return { live: isLive(state, params), now, ...namesakesOf(state, params) };
  state.workers.set(params.workerId, {
    ...params,
    activeRuns: 0,
    status: "online",
    startedAt: now,
    heartbeatAt: now,
    leaseExpiresAt: now + params.leaseMs,
    stoppedAt: null,
    died: false,
  });
  return { live: true, now, ...namesakesOf(state, params) };
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
  if (!worker || worker.status === "offline") return { live: false, now, heldCount: 0, behind: [] };
  worker.heartbeatAt = now;
  worker.leaseMs = params.leaseMs;
  worker.leaseExpiresAt = now + params.leaseMs;
  worker.status = params.draining ? "draining" : "online";
  const rows = heldRows(state, params.workerId);
  const behind = rows.filter((row) => row.delivered > row.consumed).map((row) => row.runId);
  return { live: true, now, heldCount: rows.length, behind };
}

function heldRows(state: MemoryState, workerId: string): RunRecord[] {
  return [...(state.held.get(workerId) ?? [])].map((runId) => state.runs.get(runId) as RunRecord);
}

export function readHeld(state: MemoryState, params: WorkerRef): HeldRun[] {
  if (!workerIn(state, params)) return [];
  return heldRows(state, params.workerId).map((row) => ({ runId: row.runId, epoch: row.epoch }));
}

export function listWorkers(state: MemoryState, params: { namespace: string }): WorkerRow[] {
  return [...state.workers.values()]
    .filter((worker) => worker.namespace === params.namespace)
    .map((worker) => ({ ...worker, activeRuns: state.held.get(worker.workerId)?.size ?? 0 }));
}

export function releaseRunsIfHeld(state: MemoryState, params: ReleaseRunsParams, now: number): { released: number } {
  let released = 0;
  for (const { runId, epoch } of params.runs) {
    const row = openRun(state, params.namespace, runId);
    if (!row || row.heldBy !== params.workerId || row.epoch !== epoch) continue;
    giveBack(state, row, now);
    released += 1;
  }
  return { released };
}

/** Epoch + 1, so that whoever held it finds out at the next write. */
function giveBack(state: MemoryState, row: RunRecord, now: number): void {
  row.epoch += 1;
  letGo(state, row);
  setAvailable(state, row, now, now);
}

export function stopWorker(state: MemoryState, params: WorkerRef, now: number): void {
  const worker = workerIn(state, params);
  if (!worker) return;
  if (worker.status !== "offline") {
    worker.status = "offline";
    worker.stoppedAt = now;
  }
  for (const row of heldRows(state, params.workerId)) giveBack(state, row, now);
}

export function sweepWorkers(state: MemoryState, params: SweepParams, now: number): SweepResult {
  const result = {
    now,
    dead: 0,
    returned: 0,
    parked: 0,
    timedOut: 0,
    more: false,
    nextExpiryAt: null as number | null,
  };
  for (const worker of state.workers.values()) {
    const isDead = params.gone ? params.gone.includes(worker.workerId) : worker.leaseExpiresAt <= now;
    if (worker.status !== "offline" && isDead) {
      worker.status = "offline";
      worker.stoppedAt = now;
      worker.died = true;
      result.dead += 1;
    }
    if (worker.status !== "offline") {
      result.nextExpiryAt = Math.min(result.nextExpiryAt ?? worker.leaseExpiresAt, worker.leaseExpiresAt);
      continue;
    }
    for (const row of heldRows(state, worker.workerId)) {
      if (result.returned + result.parked >= params.limit) return { ...result, more: true };
      result[takeBack(state, row, worker.died, params, now)] += 1;
    }
  }
  for (const runId of state.deadlines) {
    const row = state.runs.get(runId) as RunRecord;
    // A run that has begun may have something to clean up: it waits for a worker, however late.
    if (row.startedAt !== null || (row.deadlineAt as number) + params.timeoutGraceMs > now) continue;
    row.epoch += 1;
    endRun(state, row, { status: "timed_out", output: null, error: params.timeoutError }, now);
    result.timedOut += 1;
  }
  return result;
}

/** The run of an offline worker becomes due again, unless it has proved to be what kills workers. */
function takeBack(
  state: MemoryState,
  row: RunRecord,
  died: boolean,
  params: SweepParams,
  now: number,
): "returned" | "parked" {
  if (died) {
    row.deaths += 1;
    if (row.alone) row.aloneDeaths += 1;
    row.suspect = row.deaths >= params.suspectAfter;
  }
  giveBack(state, row, now);
  if (row.aloneDeaths < params.parkAfter) return "returned";
  row.status = "parked";
  row.error = params.parkError;
  state.parkedBy.delete(row.runId);
  state.hints.push({ type: "ended", namespace: row.namespace, runId: row.runId });
  setAvailable(state, row, null, now);
  return "parked";
}

export function terminateRuns(state: MemoryState, params: TerminateRunsParams, now: number): TerminateOutcome[] {
  return params.runs.map((ref) => {
    const row = findRun(state, ref);
    if (!row) return { outcome: "not_found", runId: null, status: null };
    if (isClosed(row.status)) return { outcome: "closed", runId: row.runId, status: row.status };
    const holder = row.heldBy;
    row.epoch += 1;
    endRun(state, row, { status: "terminated", output: null, error: params.error }, now);
    if (holder !== null) state.hints.push({ type: "taken", runId: row.runId, workerId: holder });
    return { outcome: "terminated", runId: row.runId, status: row.status };
  });
}

export function resumeRunIfParked(state: MemoryState, ref: RunRef, now: number) {
  const row = findRun(state, ref);
  if (!row) return { status: null };
  if (row.status === "parked") {
    row.status = "running";
    row.epoch += 1;
    row.error = null;
    row.deaths = 0;
    row.aloneDeaths = 0;
    row.suspect = false;
    state.parkedBy.delete(row.runId);
    setAvailable(state, row, now, now);
  }
  return { status: row.status };
}
