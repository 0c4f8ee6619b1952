import type { TaskExpiry, TaskLimits } from "../task.ts";

/**
 * A worker reports a limit that has passed itself; only one that does not is expired by a sweep, this much later. The report of
 * an attempt that has ended in time may be under way for seconds while the store is under load: it must not be overtaken.
 */
export const TASK_GRACE_MS = 5_000;
/** How long the holder of a canceled task may take to stop and to report. */
export const TASK_CANCEL_MS = 30_000;

/** What the limits of a task are counted from. */
export interface TaskTimes extends TaskLimits {
  readonly createdAt: number;
  readonly external: boolean;
}

export interface Expiry {
  readonly expiresAt: number | null;
  readonly expires: TaskExpiry | null;
}

/** When a task that waits for a worker expires. `availableAt`: since when it is due, or will be. */
export function expiryWhenDue(task: TaskTimes, availableAt: number): Expiry {
  return earliest([
    [plus(availableAt, task.startTimeoutMs), "start_timeout"],
    [plus(task.createdAt, task.totalTimeoutMs), "total_timeout"],
  ]);
}

/**
 * When an attempt that began at `since` expires. Nobody watches over an external task but the store: it has no grace.
 * `heardAt`: when it last reported.
 */
export function expiryWhenHeld(task: TaskTimes, since: number, heardAt: number): Expiry {
  const grace = task.external ? 0 : TASK_GRACE_MS;
  return earliest([
    [plus(since, task.timeoutMs, grace), "timeout"],
    [plus(heardAt, task.heartbeatMs, grace), "heartbeat"],
    [plus(task.createdAt, task.totalTimeoutMs), "total_timeout"],
  ]);
}

/** When a canceled task expires: its holder does not report, or whoever canceled it has never got the answer. */
export function expiryWhenCanceled(now: number): Expiry {
  return { expiresAt: now + TASK_CANCEL_MS, expires: "cancel" };
}

export function isExpired({ expiresAt }: { readonly expiresAt: number | null }, now: number): boolean {
  return expiresAt !== null && expiresAt <= now;
}

/** A task as far as the end of an attempt is concerned. */
export interface FencedTask {
  readonly epoch: number;
  readonly status: string;
  readonly heldBy: string | null;
  readonly secret: string;
  readonly expiresAt: number | null;
  readonly finishId: string | null;
}

/** Who says that an attempt has ended: the worker that holds it, someone with its token, time, or somebody who gives the attempt of a worker up. */
export type TaskFinisher =
  | { readonly type: "holder"; readonly workerId: string }
  | { readonly type: "token"; readonly secret: string; readonly finishId: string }
  | { readonly type: "expiry" }
  | { readonly type: "order" };

/**
 * Whether an attempt ends by this call. `again`: an earlier call with the same id has ended it (only for tokens; a worker may
 * hear `lost`, because nothing depends on its hearing more).
 */
export function judgeFinish(
  task: FencedTask,
  epoch: number,
  by: TaskFinisher,
  now: number,
): "finish" | "again" | "lost" {
  if (by.type === "token" && by.secret !== task.secret) return "lost";
  // Also if a worker has taken the next attempt since.
  if (by.type === "token" && task.epoch > epoch && task.finishId === by.finishId) return "again";
  if (task.epoch !== epoch || task.status === "dead") return "lost";
  switch (by.type) {
    case "holder":
      return task.heldBy === by.workerId ? "finish" : "lost";
    case "token":
      return task.status === "held" || task.status === "external" ? "finish" : "lost";
    case "expiry":
      return isExpired(task, now) ? "finish" : "lost";
    case "order":
      return task.status === "held" ? "finish" : "lost";
  }
}

/** Whether a worker can do the task: it has the code, serves the queue, and has all labels that the task requires. */
export function fitsTask(
  task: { readonly name: string; readonly queue: string; readonly requires: readonly string[] },
  worker: {
    readonly names: readonly string[];
    readonly queues: readonly string[];
    readonly labels: readonly string[];
  },
): boolean {
  return (
    worker.names.includes(task.name) &&
    worker.queues.includes(task.queue) &&
    task.requires.every((label) => worker.labels.includes(label))
  );
}

/**
 * What it does to a task that its worker is gone: it is due again, or it fails, which the next look for expired tasks decides.
 * One that must not be repeated fails even if its worker only stopped: it may have begun.
 */
export function afterTaskHolder(
  task: { readonly deaths: number; readonly aloneDeaths: number; readonly alone: boolean; readonly suspect: boolean },
  died: boolean,
  failOnCrash: boolean,
  limits: { readonly suspectAfter: number; readonly parkAfter: number },
): { readonly deaths: number; readonly aloneDeaths: number; readonly suspect: boolean; readonly crashed: boolean } {
  const deaths = task.deaths + Number(died);
  const aloneDeaths = task.aloneDeaths + Number(died && task.alone);
  const suspect = died ? deaths >= limits.suspectAfter : task.suspect;
  return { deaths, aloneDeaths, suspect, crashed: failOnCrash || (died && aloneDeaths >= limits.parkAfter) };
}

/** The death of a process that a worker has for its tasks. */
export interface ProcessDeath {
  /** The process executed no other task. */
  readonly alone: boolean;
  readonly suspectAfter: number;
  readonly parkAfter: number;
}

/**
 * What the death of its process does to a task whose worker lives on. A task that was alone in its process has harmed nobody
 * else: that makes no suspect of it.
 */
export function afterTaskProcess(
  task: Parameters<typeof afterTaskHolder>[0],
  death: ProcessDeath,
  failOnCrash: boolean,
): ReturnType<typeof afterTaskHolder> {
  const alone = task.alone || death.alone;
  const { suspect, ...after } = afterTaskHolder({ ...task, alone }, true, failOnCrash, death);
  return { ...after, suspect: task.suspect || (suspect && !death.alone) };
}

function earliest(times: readonly (readonly [at: number | null, expires: TaskExpiry])[]): Expiry {
  let first: Expiry = { expiresAt: null, expires: null };
  for (const [at, expires] of times) {
    if (at !== null && (first.expiresAt === null || at < first.expiresAt)) first = { expiresAt: at, expires };
  }
  return first;
}

function plus(from: number, ms: number | null, grace = 0): number | null {
  return ms === null ? null : from + ms + grace;
}
