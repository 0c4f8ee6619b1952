import {
  type Backlog,
  type BacklogParams,
  gatherBacklog,
  type ListQueuesParams,
  type PlaceHolder,
  type QueueLimits,
  type QueueLoad,
  type QueueState,
  type SetQueueParams,
  type SetQueueResult,
} from "holdfast/adapter";
import type { Row } from "./database/driver.ts";
import type { Server } from "./database/server.ts";
import { callOf, readingCallOf } from "./database/server-call.ts";

const SET_QUEUE = callOf<SetQueueParams & { readonly notify: boolean }>("set_queue", {
  p_namespace: ({ namespace }) => namespace,
  p_queue: ({ queue }) => queue,
  p_limits: ({ limits }) => (limits === null ? null : JSON.stringify(limits)),
  p_revision: ({ revision }) => revision,
  p_next: ({ next }) => next,
  p_notify: ({ notify }) => notify,
});

const LIST_QUEUES = readingCallOf<ListQueuesParams>("list_queues", {
  p_namespace: ({ namespace }) => namespace,
  p_queue: ({ queue }) => queue ?? null,
  p_key: ({ key }) => key ?? null,
  p_holders: ({ holdersMax }) => holdersMax,
});

const BACKLOG = readingCallOf<BacklogParams>("read_backlog", {
  p_namespace: ({ namespace }) => namespace,
  p_at_most: ({ atMost }) => atMost,
  p_late: ({ lateMs }) => lateMs,
});

/** One of the rows has nothing but the time, so that there is always one. */
export async function readBacklog(server: Server, params: BacklogParams): Promise<Backlog> {
  const rows = await server.read(BACKLOG, params);
  const found = rows.filter(({ queue }) => queue !== null);
  const runs = found
    .filter(({ requires }) => requires === null)
    .map((row) => ({ workflow: row.name as string, version: row.version as string, ...dueIn(row) }));
  const tasks = found
    .filter(({ requires }) => requires !== null)
    .map((row) => ({ name: row.name as string, requires: row.requires as string[], ...dueIn(row) }));
  return gatherBacklog(Number(rows[0]?.now), params.atMost, runs, tasks);
}

function dueIn({ queue, waiting, oldest, suspect, late, timer }: Row) {
  return {
    queue: queue as string,
    waiting: waiting as number,
    oldestDueAt: Number(oldest),
    suspects: suspect ? (waiting as number) : 0,
    late: late as number,
    timerDueAt: timer === null ? null : Number(timer),
  };
}

export async function setQueue(server: Server, params: SetQueueParams): Promise<SetQueueResult> {
  const row = await server.writeOne(SET_QUEUE, { ...params, notify: server.notify });
  if (row.o_written) return { outcome: "written" };
  return { outcome: "moved", revision: row.o_revision as string | null };
}

/** A row for the runs of each queue, and one for its tasks. */
export async function listQueues(server: Server, params: ListQueuesParams): Promise<QueueState[]> {
  const rows = await server.read(LIST_QUEUES, params);
  return rows
    .filter(({ kind }) => kind === "runs")
    .map((runs) => {
      const tasks = rows.find(({ queue, kind }) => kind === "tasks" && queue === runs.queue) as Row;
      const limits = runs.limits as QueueLimits | null;
      return { name: runs.queue as string, limits, runs: loadOf(runs), tasks: loadOf(tasks) };
    });
}

function loadOf({ waiting, running, oldest, per_second, token_at, holders }: Row): QueueLoad {
  return {
    waiting: Number(waiting),
    running: Number(running),
    oldestDueAt: oldest === null ? null : Number(oldest),
    perSecond: per_second as number,
    tokenAt: token_at === null ? null : Number(token_at),
    holders: ((holders ?? []) as StoredHolder[]).map(({ op, ...holder }) => (op === null ? holder : { ...holder, op })),
  };
}

type StoredHolder = Omit<PlaceHolder, "op"> & { readonly op: string | null };
