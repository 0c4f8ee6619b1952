import { fitsTask } from "../model/decisions/task.ts";
import { DEFAULT_RETRY } from "../model/retry-policy.ts";
import { offeredLabels, type Task } from "../model/task.ts";
import { isAlive, type WorkerRow } from "../model/worker-row.ts";
import type { Cause } from "./cause.ts";
import type { ClientCore } from "./client-core.ts";

/** Of so many due tasks the place in line is asked for. */
const POSITIONS_MAX = 5;
/** A place in line beyond this is not counted exactly. */
const POSITION_MAX = 10_000;

/** A task that a run waits for, with its place in line. */
export interface AwaitedTask {
  readonly task: Task;
  /** How many come before it; undefined if it is not due, or was not asked for. */
  readonly before: number | undefined;
}

export async function placesInLine(core: ClientCore, tasks: readonly Task[], now: number): Promise<AwaitedTask[]> {
  const { namespace } = core;
  let asked = 0;
  return Promise.all(
    tasks.map(async (task): Promise<AwaitedTask> => {
      const due = task.status === "due" && task.availableAt !== null && task.availableAt <= now;
      if (!due || asked++ >= POSITIONS_MAX) return { task, before: undefined };
      const { runId, seq } = task;
      const before = await core.call((store) => store.tasks.position({ namespace, runId, seq, atMost: POSITION_MAX }));
      return { task, before: before ?? undefined };
    }),
  );
}

/** Why the task is not done yet, for programs. */
export function taskCause({ task, before }: AwaitedTask, workers: readonly WorkerRow[], now: number): Cause {
  const { op, status, attempt, failures, availableAt, heldBy, requires, createdAt, expiresAt } = task;
  const failure = failures.at(-1);
  const error = failure ? { error: { name: failure.name, message: failure.message, kind: "Unknown" as const } } : {};
  const about = { op, attempt, queue: task.queue, ...(requires.length > 0 ? { requires } : {}) };
  if (status === "due" && availableAt !== null && availableAt > now)
    return {
      kind: "backoff",
      ...about,
      attempt: attempt - 1,
      attempts: (task.spec?.retry ?? DEFAULT_RETRY).attempts,
      at: new Date(availableAt),
      ...error,
    };
  const worker = workers.find(({ workerId }) => workerId === heldBy)?.name ?? heldBy;
  return {
    kind: "task",
    ...about,
    since: new Date(availableAt ?? createdAt),
    ...(worker === null ? {} : { worker }),
    ...(before === undefined ? {} : { position: before + 1 }),
    ...(expiresAt === null ? {} : { at: new Date(expiresAt) }),
    ...error,
  };
}

/** The same in words for the person on call. */
export function taskText({ task, before }: AwaitedTask, workers: readonly WorkerRow[], now: number): string {
  const { op, status, queue, attempt, heldBy } = task;
  const which = attempt > 1 ? ` (attempt ${attempt})` : "";
  if (status === "held") {
    const worker = workers.find(({ workerId }) => workerId === heldBy)?.name ?? heldBy;
    return `Task "${op}"${which} is being executed by worker ${worker}.`;
  }
  if (status === "external") return `Task "${op}"${which} waits for someone to complete it with its token.`;
  if (status === "due" && task.expires === "crash")
    return `Task "${op}"${which} is about to fail: its worker is gone, and it must not begin again.`;
  if (status === "dead" || before === undefined) return "";
  const line = before >= POSITION_MAX ? `behind at least ${POSITION_MAX} others` : `${ordinal(before + 1)} in line`;
  return `Task "${op}"${which} waits on queue "${queue}", ${line}${unservedText(task, workers, now)}.`;
}

/** Why no worker takes it; empty if one could. */
function unservedText(task: Task, workers: readonly WorkerRow[], now: number): string {
  const live = workers.filter((worker) => worker.status === "online" && isAlive(worker, now));
  const able = live.map(({ tasks = [], queues, labels }) => ({ names: tasks, queues, labels: offeredLabels(labels) }));
  if (able.some((worker) => fitsTask(task, worker))) return "";
  const executing = able.filter((worker) => fitsTask({ ...task, requires: [] }, worker));
  if (executing.length === 0) return `; no live worker executes "${task.name}" on that queue`;
  const nowhere = task.requires.filter((label) => !executing.some(({ labels }) => labels.includes(label)));
  if (nowhere.length === 0) return `; no live worker has all of the labels ${task.requires.join(", ")}`;
  return `; no live worker has ${nowhere.length === 1 ? "label" : "the labels"} ${nowhere.join(", ")}`;
}

function ordinal(n: number): string {
  const tens = n % 100;
  const suffix = tens > 10 && tens < 14 ? "th" : (["th", "st", "nd", "rd"][n % 10] ?? "th");
  return `${n}${suffix}`;
}
