import {
  afterGuest,
  HEARTBEAT_KEPT_EVERY_MS,
  type HeartbeatParams,
  type HeartbeatResult,
  type HeldRunState,
  type HeldTask,
  type ListWorkersParams,
  type RegisterWorkerParams,
  type RegisterWorkerResult,
  type ReleaseRunsParams,
  type WorkerAbout,
  type WorkerLoad,
  type WorkerRef,
  type WorkerRow,
} from "holdfast/adapter";
import type { Call } from "./database/call.ts";
import { OFFLINE, workerStatusCode, workerStatusName } from "./database/codes.ts";
import { newUuidBytes, uuidBytes, uuidText } from "./database/uuid.ts";
import { lead, stepDown } from "./leadership.ts";
import { giveBack, type StateRow, stateByKey, stateOf } from "./runs/run-state.ts";
import { takeTaskBack, tasksHeldBy } from "./tasks/task-state.ts";
import { logMoment } from "./worker-log.ts";

/** Whoever holds something at its start looks here, and must know whether there are limits that may forbid it. */
const BY_ID = `
  select worker_key as workerKey, namespace, status, taken, exists (select 1 from holdfast_limited) as someLimits
  from holdfast_workers where worker_id = ?`;
const INSERT = `
  insert into holdfast_workers (worker_id, namespace, name, host, pid, queues, workflows, tasks, labels, about, drain_asked,
    rates_no, taken, status, died, emptied, lease_ms, logged_at, started_at, heartbeat_at, lease_expires_at, known_schema)
  values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, ?, 0, 0, ?, ?, ?, ?, ?, ?)`;
const NAMESAKES = `
  select worker_id as workerId, pid from holdfast_workers
  where emptied = 0 and status < ? and namespace = ? and host = ? and name = ? and worker_id <> ?`;
const LAST_HEARTBEAT =
  "select status, logged_at as loggedAt, drain_asked as drainAsked from holdfast_workers where worker_key = ?";
const HEARTBEAT = `
  update holdfast_workers set heartbeat_at = ?, lease_ms = ?, lease_expires_at = ?, status = ?, load = coalesce(?, load), logged_at = ?
  where worker_key = ?`;
const HELD_KEYS = "select run_key as runKey from holdfast_runs where held_by = ?";
const LISTED = `
  select worker_id as workerId, namespace, name, host, pid, queues, workflows, tasks, labels, about, load,
    drain_asked as drainAsked, status, died, lease_ms as leaseMs,
    started_at as startedAt, heartbeat_at as heartbeatAt, lease_expires_at as leaseExpiresAt, stopped_at as stoppedAt,
    (select count(*) from holdfast_runs r where r.held_by = w.worker_key) as activeRuns,
    (select count(*) from holdfast_tasks t where t.held_by = w.worker_key) as activeTasks
  from holdfast_workers w where`;
const LIST = `${LISTED} namespace = ? order by worker_key`;
/** Few of those that are remembered. */
const LIST_SINCE = `${LISTED} worker_key in (
    select worker_key from holdfast_workers where emptied = 0 and status < ?
    union all select worker_key from holdfast_workers where emptied = 0 and status = ? and stopped_at >= ?
    union all select worker_key from holdfast_workers where emptied = 1 and stopped_at >= ?) and namespace = ? order by worker_key`;

const COUNT_TASKS = "select count(*), total(canceled) from holdfast_tasks where held_by = ?";
const HELD_TASKS = "select run_id as runId, seq, epoch, canceled from holdfast_tasks where held_by = ?";

export interface StoredWorker {
  readonly workerKey: number;
  readonly namespace: string;
  readonly status: number;
  readonly taken: number;
  /** 1 if any queue has limits. */
  readonly someLimits: number;
}

interface ListedWorker
  extends Omit<
    WorkerRow,
    | "workerId"
    | "host"
    | "pid"
    | "queues"
    | "workflows"
    | "tasks"
    | "labels"
    | "about"
    | "load"
    | "drainAsked"
    | "status"
    | "died"
  > {
  readonly workerId: Uint8Array;
  readonly host: string | null;
  readonly pid: number | null;
  readonly queues: string;
  readonly workflows: string;
  readonly tasks: string | null;
  readonly labels: string;
  readonly about: string;
  readonly load: string | null;
  readonly drainAsked: number;
  readonly status: number;
  readonly died: number;
}

/** The worker with that id, if it belongs to the namespace. */
function workerIn(call: Call, { namespace, workerId }: WorkerRef): StoredWorker | undefined {
  const worker = find(call, workerId);
  return worker?.namespace === namespace ? worker : undefined;
}

function find({ sql }: Call, workerId: string): StoredWorker | undefined {
  return sql.get<StoredWorker>(BY_ID, uuidBytes(workerId));
}

/** For callers that have checked the run's namespace: a worker holds only runs of its own namespace. */
export function workerKeyOf(call: Call, workerId: string): number | undefined {
  return find(call, workerId)?.workerKey;
}

/** Not offline. An expired lease counts only once a sweep has noticed it. */
export function liveWorker(call: Call, workerId: string): StoredWorker | undefined {
  const worker = find(call, workerId);
  return worker && worker.status !== OFFLINE ? worker : undefined;
}

export function liveWorkerKey(call: Call, ref: WorkerRef): number | undefined {
  const worker = liveWorker(call, ref.workerId);
  return worker?.namespace === ref.namespace ? worker.workerKey : undefined;
}

/** The workers that a call has looked up: the commits of one call nearly always belong to one. */
export class KnownWorkers {
  readonly #call: Call;
  readonly #workers = new Map<string, StoredWorker | undefined>();

  constructor(call: Call) {
    this.#call = call;
  }

  find(workerId: string): StoredWorker | undefined {
    if (!this.#workers.has(workerId)) this.#workers.set(workerId, find(this.#call, workerId));
    return this.#workers.get(workerId);
  }

  /** If it is of the namespace and not offline. */
  live(namespace: string, workerId: string): StoredWorker | undefined {
    const worker = this.find(workerId);
    return worker && worker.status !== OFFLINE && worker.namespace === namespace ? worker : undefined;
  }
}

export function registerWorker(call: Call, params: RegisterWorkerParams): RegisterWorkerResult {
  const { sql, now } = call;
  const { workerId, namespace, name, host, pid, queues, workflows, tasks, labels, leaseMs } = params;
  const mayLead = params.coordinates === true;
  if (find(call, workerId)) {
    const live = liveWorkerKey(call, params);
    const leading = live === undefined ? {} : lead(call, live, mayLead);
    return { live: live !== undefined, now, ...namesakesOf(call, params), ...leading };
  }
  const workerKey = sql.insert(
    INSERT,
    ...[newUuidBytes(workerId), namespace, name, host ?? null, pid ?? null],
    ...[
      JSON.stringify(queues),
      JSON.stringify(workflows),
      tasks ? JSON.stringify(tasks) : null,
      JSON.stringify(labels),
      JSON.stringify(params.about ?? {}),
    ],
    ...[workerStatusCode("online"), leaseMs, now, now, now, now + leaseMs, call.knownSchema],
  );
  logMoment(call, workerKey, "started");
  return { live: true, now, ...namesakesOf(call, params), ...lead(call, workerKey, mayLead) };
}

function namesakesOf({ sql }: Call, { workerId, namespace, name, host }: RegisterWorkerParams) {
  if (host === undefined) return {};
  const rows = sql.all<{ workerId: Uint8Array; pid: number }>(
    NAMESAKES,
    ...[OFFLINE, namespace, host, name, newUuidBytes(workerId)],
  );
  return { namesakes: rows.map((row) => ({ workerId: uuidText(row.workerId), pid: row.pid })) };
}

export function heartbeatWorker(call: Call, params: HeartbeatParams): HeartbeatResult {
  const { sql, now } = call;
  const workerKey = liveWorkerKey(call, params);
  if (workerKey === undefined) return { live: false, now, heldCount: 0, behind: [], heldTasks: 0, canceledTasks: [] };
  const before = sql.get<{ status: number; loggedAt: number; drainAsked: number }>(LAST_HEARTBEAT, workerKey);
  if (params.draining && before?.status !== workerStatusCode("draining")) logMoment(call, workerKey, "stopping");
  const kept = before && now - before.loggedAt >= HEARTBEAT_KEPT_EVERY_MS ? now : (before?.loggedAt ?? now);
  if (kept !== before?.loggedAt) logMoment(call, workerKey, "heartbeat");
  sql.run(
    HEARTBEAT,
    ...[now, params.leaseMs, now + params.leaseMs, workerStatusCode(params.draining ? "draining" : "online")],
    ...[params.load ? JSON.stringify(params.load) : null, kept, workerKey],
  );
  const held = sql.get<{ count: number }>("select count(*) as count from holdfast_runs where held_by = ?", workerKey);
  const behind = sql.all<{ runId: Uint8Array }>(
    "select run_id as runId from holdfast_runs where held_by = ? and delivered > consumed",
    workerKey,
  );
  const [heldTasks, canceledCount] = (sql.columns(COUNT_TASKS, workerKey) ?? [0, 0]) as readonly number[];
  const canceled = canceledCount ? sql.all<StoredHold>(`${HELD_TASKS} and canceled = 1`, workerKey) : [];
  return {
    live: true,
    now,
    heldCount: held?.count ?? 0,
    behind: behind.map(({ runId }) => uuidText(runId)),
    heldTasks: heldTasks ?? 0,
    canceledTasks: canceled.map(({ runId, seq, epoch }) => ({ runId: uuidText(runId), seq, epoch })),
    ...(before?.drainAsked ? { drain: true } : {}),
    ...lead(call, workerKey, params.coordinates === true && !params.draining),
  };
}

export function readHeld(call: Call, params: WorkerRef): HeldRunState[] {
  const worker = workerIn(call, params);
  if (!worker) return [];
  return heldRows(call, worker.workerKey).map(({ runId, epoch, commit, eventCount }) => ({
    runId: uuidText(runId),
    epoch,
    commit,
    eventCount,
  }));
}

interface StoredHold {
  readonly runId: Uint8Array;
  readonly seq: number;
  readonly epoch: number;
  readonly canceled: number;
}

export function readHeldTasks(call: Call, params: WorkerRef): HeldTask[] {
  const worker = workerIn(call, params);
  if (!worker) return [];
  const held = call.sql.all<StoredHold>(HELD_TASKS, worker.workerKey);
  return held.map(({ runId, seq, epoch, canceled }) => ({
    runId: uuidText(runId),
    seq,
    epoch,
    canceled: canceled === 1,
  }));
}

export function heldRows(call: Call, workerKey: number): StateRow[] {
  return call.sql.all<{ runKey: number }>(HELD_KEYS, workerKey).map(({ runKey }) => stateByKey(call, runKey));
}

const GUEST_DIED = "update holdfast_runs set deaths = ?, alone_deaths = ? where run_key = ?";

export function releaseRunsIfHeld(call: Call, params: ReleaseRunsParams): { released: number } {
  const workerKey = workerKeyOf(call, params.workerId);
  let released = 0;
  for (const { runId, epoch } of params.runs) {
    const row = stateOf(call, params.namespace, runId);
    if (!row || workerKey === undefined || row.heldBy !== workerKey || row.epoch !== epoch) continue;
    if (params.died) {
      const { deaths, aloneDeaths } = afterGuest(row, params.died);
      call.sql.run(GUEST_DIED, deaths, aloneDeaths, row.runKey);
    }
    giveBack(call, row);
    released += 1;
  }
  return { released };
}

/** Nothing is held against a task whose worker only stopped. */
const NOT_DEAD = { suspectAfter: Number.POSITIVE_INFINITY, parkAfter: Number.POSITIVE_INFINITY };

export function stopWorker(call: Call, params: WorkerRef): void {
  const worker = workerIn(call, params);
  if (!worker) return;
  if (worker.status !== OFFLINE) {
    call.sql.run(
      "update holdfast_workers set status = ?, stopped_at = ? where worker_key = ?",
      ...[OFFLINE, call.now, worker.workerKey],
    );
    logMoment(call, worker.workerKey, "stopped");
  }
  stepDown(call, worker.workerKey);
  for (const row of heldRows(call, worker.workerKey)) giveBack(call, row);
  for (const task of tasksHeldBy(call, worker.workerKey)) takeTaskBack(call, task, false, NOT_DEAD);
}

export function listWorkers({ sql }: Call, { namespace, goneSince: since }: ListWorkersParams): WorkerRow[] {
  const rows =
    since === undefined
      ? sql.all<ListedWorker>(LIST, namespace)
      : sql.all<ListedWorker>(LIST_SINCE, OFFLINE, OFFLINE, since, since, namespace);
  return rows.map(({ host, pid, tasks, ...row }) => ({
    ...row,
    ...(host === null ? {} : { host }),
    ...(pid === null ? {} : { pid }),
    workerId: uuidText(row.workerId),
    queues: JSON.parse(row.queues) as string[],
    workflows: JSON.parse(row.workflows) as string[],
    ...(tasks === null ? {} : { tasks: JSON.parse(tasks) as string[] }),
    labels: JSON.parse(row.labels) as Record<string, string>,
    about: JSON.parse(row.about) as WorkerAbout,
    load: row.load === null ? null : (JSON.parse(row.load) as WorkerLoad),
    drainAsked: row.drainAsked === 1,
    status: workerStatusName(row.status),
    died: row.died === 1,
  }));
}
