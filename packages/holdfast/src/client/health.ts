import { latencyOf } from "../calls/answering-store.ts";
import { limitedWait } from "../calls/limited-wait.ts";
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

/** The store, judged by whether it answers, and how fast it has answered the last calls of this client and its workers. */
export interface StoreHealth {
  readonly status: HealthStatus;
  /** Of the last 256 calls, the median; null if it is not known. A call may concern many runs. */
  readonly p50Ms: number | null;
  /** Of the last 256 calls, the slowest but two; null if it is not known. */
  readonly p99Ms: number | null;
  readonly error?: string;
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
  /** Schedules whose runs fail, at most 100: how many in a row, and what the last one failed with. */
  readonly schedules: readonly FailingSchedule[];
  /** The worker that fires the schedules of the store; null if there is none, or if it has died. */
  readonly leader: { readonly workerId: string; readonly since: Date } | null;
}

/** A worker that died longer ago than this no longer affects health. */
const DEAD_WORKER_MS = 10 * 60 * 1000;
/** A store whose calls take so long, half of them or the slowest, keeps runs from making progress. */
const SLOW_P50_MS = 500;
const SLOW_P99_MS = 5_000;
/** How long a store may take to show that it is there. */
const LIVE_MS = 5_000;

export async function checkHealth(core: ClientCore): Promise<Health> {
  let rows: readonly WorkerRow[];
  let now: number;
  let scheduling: Awaited<ReturnType<typeof checkSchedules>>;
  try {
    rows = await core.callOnce((store) => store.workers.list({ namespace: core.namespace }));
    // Heartbeats carry the store's time, and this machine's clock may be wrong.
    ({ now } = await core.callOnce((store) => store.readClock()));
    scheduling = await checkSchedules(core, rows, now);
  } catch (error) {
    if (core.life.over) throw error;
    const message = error instanceof Error ? error.message : String(error);
    const store = { status: "unhealthy", ...latency(core), error: message } as const;
    const reasons = [`The store does not answer: ${message}`];
    return { status: "unhealthy", reasons, store, workers: [], schedules: [], leader: null };
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
  const slow = store.status === "healthy" ? [] : [slowText(store)];
  return {
    status: status === "healthy" && stuck.length + slow.length > 0 ? "degraded" : status,
    reasons: [...reasons, ...slow, ...stuck],
    store,
    workers,
    ...shown,
  };
}

function latency({ ports }: ClientCore): Pick<StoreHealth, "p50Ms" | "p99Ms"> {
  return latencyOf(ports.store) ?? { p50Ms: null, p99Ms: null };
}

function storeHealth(core: ClientCore): StoreHealth {
  const { p50Ms, p99Ms } = latency(core);
  const slow = (p50Ms ?? 0) > SLOW_P50_MS || (p99Ms ?? 0) > SLOW_P99_MS;
  return { status: slow ? "degraded" : "healthy", p50Ms, p99Ms };
}

function slowText({ p50Ms, p99Ms }: StoreHealth): string {
  return `The store answers slowly: half of its last calls took longer than ${p50Ms} ms, and one in a hundred ${p99Ms} ms.`;
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

/** Whether the workers of this client take work, and the store answers. */
export async function checkReady(
  core: ClientCore,
  workers: readonly { readonly name: string; readonly ready: boolean }[],
): Promise<Readiness> {
  const reasons = workers.filter(({ ready }) => !ready).map(({ name }) => `Worker ${name} takes no work.`);
  if (!(await checkLive(core))) reasons.unshift("The store does not answer.");
  return { ready: reasons.length === 0, reasons };
}

/**
 * Whether `other` has replaced the dead worker: it has the same host and name, and registered after the dead worker's
 * last heartbeat. A worker that registered earlier only shares the name.
 */
function succeeds(other: WorkerRow, dead: WorkerRow): boolean {
  const samePlace = dead.host !== undefined && other.host === dead.host && other.name === dead.name;
  return samePlace && other.workerId !== dead.workerId && other.startedAt >= dead.heartbeatAt;
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
