import type {
  HeartbeatParams,
  HeartbeatResult,
  HeldRunState,
  HeldTask,
  ListWorkersParams,
  RegisterWorkerParams,
  RegisterWorkerResult,
  ReleaseRunsParams,
  TaskHold,
  WorkerRef,
  WorkerRow,
} from "holdfast/adapter";
import * as binary from "./database/binary-array.ts";
import type { Row } from "./database/driver.ts";
import type { Server } from "./database/server.ts";
import { callOf, queryOf } from "./database/server-call.ts";
import { leadingIn } from "./leadership.ts";
import { workerOf } from "./runs/run-rows.ts";

interface Notified {
  readonly notify: boolean;
}

const WORKER = {
  p_namespace: ({ namespace }: WorkerRef) => namespace,
  p_worker: ({ workerId }: WorkerRef) => workerId,
};

const REGISTER = callOf<RegisterWorkerParams & Notified>("register_worker", {
  ...WORKER,
  p_name: ({ name }) => name,
  p_host: ({ host }) => host ?? null,
  p_pid: ({ pid }) => pid ?? null,
  p_queues: ({ queues }) => binary.textArray(queues),
  p_workflows: ({ workflows }) => binary.textArray(workflows),
  p_tasks: ({ tasks }) => (tasks ? binary.textArray(tasks) : null),
  p_labels: ({ labels }) => JSON.stringify(labels),
  p_about: ({ about }) => JSON.stringify(about ?? {}),
  p_lease_ms: ({ leaseMs }) => Math.ceil(leaseMs),
  p_coordinates: ({ coordinates }) => coordinates ?? false,
  p_notify: ({ notify }) => notify,
});

const HEARTBEAT = callOf<HeartbeatParams & Notified>("heartbeat_worker", {
  ...WORKER,
  p_lease_ms: ({ leaseMs }) => Math.ceil(leaseMs),
  p_draining: ({ draining }) => draining,
  p_load: ({ load }) => (load ? JSON.stringify(load) : null),
  p_coordinates: ({ coordinates }) => coordinates ?? false,
  p_notify: ({ notify }) => notify,
});

const RELEASE = callOf<ReleaseRunsParams & Notified>("release_runs", {
  ...WORKER,
  p_run: ({ runs }) => binary.uuidArray(runs, (run) => run.runId),
  p_epoch: ({ runs }) => binary.int4Array(runs, (run) => run.epoch),
  p_died_alone: ({ died }) => died?.alone ?? null,
  p_notify: ({ notify }) => notify,
});

const STOP = callOf<WorkerRef & Notified>("stop_worker", { ...WORKER, p_notify: ({ notify }) => notify });

const READ_HELD = queryOf<WorkerRef>(
  "read_held",
  (at) => `
    select r.run_id, r.epoch, r.commit_no, greatest(r.event_count, (select e.seq from ${at}.events e where e.run_no = r.run_no
             order by e.seq desc limit 1)) as event_count from ${at}.workers w join ${at}.runs r on r.held_by = w.worker_id
     where w.namespace = $namespace and w.worker_id = $worker order by r.run_id`,
  { namespace: ({ namespace }) => namespace, worker: ({ workerId }) => workerId },
);

const READ_HELD_TASKS = queryOf<WorkerRef>(
  "read_held_tasks",
  (at) => `
    select t.run_id, t.seq, t.epoch, t.canceled from ${at}.workers w join ${at}.tasks t on t.held_by = w.worker_id
     where w.namespace = $namespace and w.worker_id = $worker order by t.run_id, t.seq`,
  { namespace: ({ namespace }) => namespace, worker: ({ workerId }) => workerId },
);

const listText = (at: string, from: string): string => `
  select w.*, (select count(*)::int from ${at}.runs r where r.held_by = w.worker_id) as active_runs,
         (select count(*)::int from ${at}.tasks t where t.held_by = w.worker_id) as active_tasks
    from ${from} w where w.namespace = $namespace order by w.started_at, w.worker_id`;
const LIST = queryOf<ListWorkersParams>("list_workers", (at) => listText(at, `${at}.workers`), {
  namespace: ({ namespace }) => namespace,
});
/** Few of those that are remembered. */
export const LIST_SINCE = queryOf<ListWorkersParams>(
  "list_workers_since",
  (at) =>
    listText(
      at,
      `(select * from ${at}.workers where not emptied and (status <> 'offline' or stopped_at >= $since)
        union all select * from ${at}.workers where emptied and stopped_at >= $since)`,
    ),
  { namespace: ({ namespace }) => namespace, since: ({ goneSince }) => goneSince },
);

export async function registerWorker(server: Server, params: RegisterWorkerParams): Promise<RegisterWorkerResult> {
  const row = await server.writeOne(REGISTER, { ...params, notify: server.notify });
  const pids = row.o_pids as number[];
  const namesakes = (row.o_namesakes as string[]).map((workerId, i) => ({ workerId, pid: pids[i] as number }));
  const known = params.host === undefined ? {} : { namesakes };
  return { live: row.o_live as boolean, now: row.o_now as number, ...known, ...leadingIn(row) };
}

export async function heartbeatWorker(server: Server, params: HeartbeatParams): Promise<HeartbeatResult> {
  const row = await server.writeOne(HEARTBEAT, { ...params, notify: server.notify });
  return {
    live: row.o_live as boolean,
    now: row.o_now as number,
    heldCount: row.o_held as number,
    behind: row.o_behind as string[],
    heldTasks: row.o_tasks as number,
    canceledTasks: canceledIn(row),
    ...(row.o_drain ? { drain: true } : {}),
    ...leadingIn(row),
  };
}

function canceledIn(row: Row): readonly TaskHold[] {
  const seqs = row.o_canceled_seq as number[] | null;
  const epochs = row.o_canceled_epoch as number[] | null;
  const runIds = (row.o_canceled_run ?? []) as string[];
  return runIds.map((runId, i) => ({ runId, seq: seqs?.[i] as number, epoch: epochs?.[i] as number }));
}

export async function readHeld(server: Server, params: WorkerRef): Promise<readonly HeldRunState[]> {
  const rows = await server.read(READ_HELD, params);
  return rows.map((row) => ({
    runId: row.run_id as string,
    epoch: row.epoch as number,
    commit: row.commit_no as number,
    eventCount: row.event_count as number,
  }));
}

export async function readHeldTasks(server: Server, params: WorkerRef): Promise<readonly HeldTask[]> {
  const rows = await server.read(READ_HELD_TASKS, params);
  return rows.map((row) => ({
    runId: row.run_id as string,
    seq: row.seq as number,
    epoch: row.epoch as number,
    canceled: row.canceled as boolean,
  }));
}

export async function releaseRunsIfHeld(
  server: Server,
  params: ReleaseRunsParams,
): Promise<{ readonly released: number }> {
  const row = await server.writeOne(RELEASE, { ...params, notify: server.notify });
  return { released: row.o_released as number };
}

export async function stopWorker(server: Server, params: WorkerRef): Promise<void> {
  await server.writeOne(STOP, { ...params, notify: server.notify });
}

export async function listWorkers(server: Server, params: ListWorkersParams): Promise<readonly WorkerRow[]> {
  return (await server.read(params.goneSince === undefined ? LIST : LIST_SINCE, params)).map(workerOf);
}
