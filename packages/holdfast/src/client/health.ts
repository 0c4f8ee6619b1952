import { latencyOf, writeFaultOf } from "../calls/answering-store.ts";
import { limitedWait } from "../calls/limited-wait.ts";
import type { Backlog } from "../model/backlog.ts";
import { backlogs, DEAD_WORKER_MS, isSlow, slowText, succeeds } from "../model/decisions/watchdog.ts";
import { formatDuration } from "../model/duration.ts";
import type { WorkerRow, WorkerStatus } from "../model/worker-row.ts";
import type { ClientCore } from "./client-core.ts";
import { checkSchedules, type FailingSchedule } from "./schedules/schedule-health.ts";

/** The state of the store, a worker, or the whole. */
export type HealthStatus = "healthy" | "degraded" | "unhealthy";

/** A worker, judged by the age of its heartbeat. */
export interface WorkerHealth {
  readonly workerId: string;
  readonly name: string;
  readonly status: WorkerStatus;
  readonly health: HealthStatus;
  readonly heartbeatAgeMs: number;
  readonly activeRuns: number;
}

/**
 * The store, judged by whether it answers, whether it has taken the last write of this client and its workers that reached it, and how fast
 * it has answered their last calls.
 */
export interface StoreHealth {
  readonly status: HealthStatus;
  /** Of the last 256 calls, as far as they were made within a minute, the median; null if there was none. A call may concern many runs. */
  readonly p50Ms: number | null;
  /** Of the same calls, all but one in a hundred were quicker. */
  readonly p99Ms: number | null;
  /** Why it does not answer, or cannot be written. */
  readonly error?: string;
}

/** How much is due in a queue and not in progress. What waits for a place in a queue with limits does not count: `hf.queues()` has that. */
export interface DueWork {
  /** Counted up to 1,000 of each kind. */
  readonly waiting: number;
  /** Since when the oldest is due; null if nothing is. */
  readonly oldestDueAt: Date | null;
}

/** A queue in which something is due, judged by how long that has waited. */
export interface QueueHealth {
  readonly name: string;
  readonly health: "healthy" | "degraded";
  readonly runs: DueWork;
  readonly tasks: DueWork;
}

/** Runs that sleep although their time has come. */
export interface TimerHealth {
  /** Those whose time came more than 5 s ago, counted up to 1,000 of each version. */
  readonly late: number;
  /** How late the latest of all is; 0 if none is. */
  readonly worstMs: number;
}

/** The answer of `hf.ready()`. */
export interface Readiness {
  readonly ready: boolean;
  /** Why it is not ready, one sentence each. */
  readonly reasons: readonly string[];
}

/** The answer of `hf.health()`. */
export interface Health {
  readonly status: HealthStatus;
  /** Why the status is not healthy, one sentence each. */
  readonly reasons: readonly string[];
  readonly store: StoreHealth;
  /** Without workers that stopped, and without dead workers that have a successor. */
  readonly workers: readonly WorkerHealth[];
  /** Those in which something is due and waits. */
  readonly queues: readonly QueueHealth[];
  readonly timers: TimerHealth;
  /** Schedules whose runs fail, at most 100: how many in a row, and what the last one failed with. */
  readonly schedules: readonly FailingSchedule[];
  /** The worker that fires the schedules of the store; null if there is none, or if it has died. */
  readonly leader: { readonly workerId: string; readonly since: Date } | null;
}

/** Work that has been due for so long is not being done. */
const BACKLOG_MS = 5 * 60 * 1000;
/** A timer is late after this time, and a fault after that. */
const LATE_MS = 5_000;
const TOO_LATE_MS = 60_000;
/** Of each kind of work no more is counted. */
const COUNTED_MAX = 1_000;
/** How long a store may take to show that it is there. */
const LIVE_MS = 5_000;

export async function checkHealth(core: ClientCore): Promise<Health> {
  let rows: readonly WorkerRow[];
  let now: number;
  let backlog: Backlog;
  let scheduling: Awaited<ReturnType<typeof checkSchedules>>;
  const { namespace } = core;
  try {
    // Heartbeats carry the store's time, and this machine's clock may be wrong.
    ({ now } = await core.callOnce((store) => store.readClock()));
    const goneSince = now - DEAD_WORKER_MS;
    rows = await core.callOnce((store) => store.workers.list({ namespace, goneSince }));
    // Nobody is there: then it matters how long ago the last one was.
    if (rows.length === 0) rows = await core.callOnce((store) => store.workers.list({ namespace }));
    backlog = await core.callOnce((store) => store.queues.backlog({ namespace, atMost: COUNTED_MAX, lateMs: LATE_MS }));
    scheduling = await checkSchedules(core, rows, now);
  } catch (error) {
    if (core.life.over) throw error;
    const message = error instanceof Error ? error.message : String(error);
    const store = { status: "unhealthy", ...latency(core), error: message } as const;
    const reasons = [`The store does not answer: ${message}`];
    const timers = { late: 0, worstMs: 0 };
    return { status: "unhealthy", reasons, store, workers: [], queues: [], timers, schedules: [], leader: null };
  }
  const recent = rows.filter(
    (row) =>
      row.status !== "offline" ||
      (row.died && now - (row.stoppedAt ?? now) < DEAD_WORKER_MS && !rows.some((other) => succeeds(other, row))),
  );
  const workers = recent.map((row) => workerHealth(row, now));
  const { status, reasons } = workers.length === 0 ? noWorkers(rows, now) : judge(workers);
  const { stuck, ...shown } = scheduling;
  const store = storeHealth(core);
  const broken = store.error === undefined ? [] : [notWritten(store.error)];
  const slow = isSlow(store) ? [slowText(store)] : [];
  const timers = timerHealth(backlog);
  const behind = [...backlogs(backlog, BACKLOG_MS).map(({ text }) => text), ...lateText(timers)];
  const worse = stuck.length + slow.length + behind.length > 0 ? "degraded" : status;
  return {
    status: broken.length > 0 ? "unhealthy" : status === "healthy" ? worse : status,
    reasons: [...broken, ...reasons, ...slow, ...behind, ...stuck],
    store,
    workers,
    queues: queueHealth(backlog),
    timers,
    ...shown,
  };
}

function queueHealth({ now, runs, tasks }: Backlog): QueueHealth[] {
  const names = [...new Set([...runs, ...tasks].map(({ queue }) => queue))].sort();
  return names.map((name) => {
    const due = { runs: dueIn(runs, name), tasks: dueIn(tasks, name) };
    const oldest = [due.runs, due.tasks].flatMap(({ oldestDueAt }) => (oldestDueAt ? [oldestDueAt.getTime()] : []));
    return { name, health: oldest.some((at) => now - at >= BACKLOG_MS) ? "degraded" : "healthy", ...due };
  });
}

function dueIn(lanes: Backlog["runs"] | Backlog["tasks"], name: string): DueWork {
  const there = lanes.filter(({ queue }) => queue === name);
  return {
    waiting: there.reduce((sum, { waiting }) => sum + waiting, 0),
    oldestDueAt: there.length === 0 ? null : new Date(Math.min(...there.map(({ oldestDueAt }) => oldestDueAt))),
  };
}

function timerHealth({ now, runs }: Backlog): TimerHealth {
  const since = runs.flatMap(({ timerDueAt }) => (timerDueAt === null ? [] : [timerDueAt]));
  return {
    late: runs.reduce((sum, { late }) => sum + late, 0),
    worstMs: since.length === 0 ? 0 : Math.max(0, now - Math.min(...since)),
  };
}

function lateText({ late, worstMs }: TimerHealth): string[] {
  if (worstMs < TOO_LATE_MS) return [];
  const worst = formatDuration(Math.round(worstMs / 1_000) * 1_000);
  return [`${late} ${late === 1 ? "timer is" : "timers are"} late, the worst by ${worst}.`];
}

function latency({ ports }: ClientCore): Pick<StoreHealth, "p50Ms" | "p99Ms"> {
  return latencyOf(ports.store) ?? { p50Ms: null, p99Ms: null };
}

function storeHealth(core: ClientCore): StoreHealth {
  const { p50Ms, p99Ms } = latency(core);
  const error = writeFaultOf(core.ports.store);
  if (error !== undefined) return { status: "unhealthy", p50Ms, p99Ms, error };
  return { status: isSlow({ p50Ms, p99Ms }) ? "degraded" : "healthy", p50Ms, p99Ms };
}

/** Whether the process can reach its store: a probe that restarts a process should ask no more than that. */
export async function checkLive(core: ClientCore): Promise<boolean> {
  core.life.assertOpen();
  const { clock } = core.ports;
  const answered = core
    .callOnce((store) => store.readClock())
    .then(
      () => true,
      () => false,
    );
  const waited = limitedWait(
    clock,
    answered.then(() => {}),
    LIVE_MS,
  );
  return Promise.race([answered, waited.over.then(() => false)]);
}

/** A worker of this client, as far as readiness is concerned. */
interface Asked {
  readonly name: string;
  readonly ready: boolean;
  /** It has been started, and has drained or stopped since. */
  readonly left: boolean;
}

/**
 * Whether the workers of this client take work, and the store answers and takes what they write. A worker that has left on purpose keeps the others from nothing, as
 * long as there are others.
 */
export async function checkReady(core: ClientCore, workers: readonly Asked[]): Promise<Readiness> {
  const some = workers.some(({ ready }) => ready);
  const reasons = workers
    .filter(({ ready, left }) => !ready && !(left && some))
    .map(({ name }) => `Worker ${name} takes no work.`);
  const live = await checkLive(core);
  const fault = writeFaultOf(core.ports.store);
  if (!live) reasons.unshift("The store does not answer.");
  else if (fault !== undefined) reasons.unshift(notWritten(fault));
  return { ready: reasons.length === 0, reasons };
}

function notWritten(fault: string): string {
  return `The store can be read, but not written: ${fault}`;
}

function workerHealth(row: WorkerRow, now: number): WorkerHealth {
  const { workerId, name, status, activeRuns, leaseMs } = row;
  const heartbeatAgeMs = Math.max(0, now - row.heartbeatAt);
  const late = heartbeatAgeMs > leaseMs / 2;
  const health =
    status === "offline" || heartbeatAgeMs >= leaseMs
      ? "unhealthy"
      : late || status === "draining"
        ? "degraded"
        : "healthy";
  return { workerId, name, status, health, heartbeatAgeMs, activeRuns };
}

function noWorkers(gone: readonly WorkerRow[], now: number): Pick<Health, "status" | "reasons"> {
  if (gone.length === 0) return { status: "degraded", reasons: ["No worker has registered."] };
  const leftAt = Math.max(...gone.map((row) => row.stoppedAt ?? row.heartbeatAt));
  const ago = Math.round(Math.max(0, now - leftAt) / 1000);
  return { status: "degraded", reasons: [`No worker is online; the last one left ${ago} s ago.`] };
}

function judge(workers: readonly WorkerHealth[]): Pick<Health, "status" | "reasons"> {
  const reasons = workers
    .filter((worker) => worker.health !== "healthy")
    .map(({ name, status, health, heartbeatAgeMs }) => {
      // A dead worker stays online in its row until another one sweeps.
      const state = status === "online" && health === "unhealthy" ? "silent, and its lease has expired" : status;
      return `Worker ${name} is ${state}; its last heartbeat is ${Math.round(heartbeatAgeMs / 1000)} s old.`;
    });
  if (workers.every((worker) => worker.health === "unhealthy")) return { status: "unhealthy", reasons };
  return { status: reasons.length > 0 ? "degraded" : "healthy", reasons };
}
