import type {
  ListQueuesParams,
  PlaceHolder,
  QueueLimits,
  QueueLoad,
  QueueState,
  SetQueueParams,
} from "holdfast/adapter";
import type { Row } from "./database/driver.ts";
import type { Server } from "./database/server.ts";
import { callOf, readingCallOf } from "./database/server-call.ts";

const SET_QUEUE = callOf<SetQueueParams & { readonly notify: boolean }>("set_queue", {
  p_namespace: ({ namespace }) => namespace,
  p_queue: ({ queue }) => queue,
  p_limits: ({ limits }) => (limits === null ? null : JSON.stringify(limits)),
  p_notify: ({ notify }) => notify,
});

const LIST_QUEUES = readingCallOf<ListQueuesParams>("list_queues", {
  p_namespace: ({ namespace }) => namespace,
  p_queue: ({ queue }) => queue ?? null,
  p_key: ({ key }) => key ?? null,
  p_holders: ({ holdersMax }) => holdersMax,
});

export async function setQueue(server: Server, params: SetQueueParams): Promise<void> {
  await server.writeOne(SET_QUEUE, { ...params, notify: server.notify });
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

function loadOf({ waiting, running, oldest, per_second, holders }: Row): QueueLoad {
  return {
    waiting: Number(waiting),
    running: Number(running),
    oldestDueAt: oldest === null ? null : Number(oldest),
    perSecond: per_second as number,
    holders: ((holders ?? []) as StoredHolder[]).map(({ op, ...holder }) => (op === null ? holder : { ...holder, op })),
  };
}

type StoredHolder = Omit<PlaceHolder, "op"> & { readonly op: string | null };
