import type { ErrorKind } from "./error-kind.ts";
import type { Payload } from "./payload.ts";
import type { RetryPolicy } from "./retry-policy.ts";

export const TASK_STATUSES = ["due", "held", "external", "dead"] as const;

/**
 * The status of a task that is not finished: `due` (it waits for a worker, perhaps until its next attempt), `held` (a worker
 * has it), `external` (someone with its token will finish it), `dead` (it used up its attempts; kept to be looked at).
 */
export type TaskStatus = (typeof TASK_STATUSES)[number];

/** What a run asks for, as its history keeps it. What is absent has its default. */
export interface TaskSpec {
  readonly name: string;
  readonly queue?: string;
  readonly requires?: readonly string[];
  readonly priority?: number;
  readonly retry?: RetryPolicy;
  /** A rule that can be written down; if its definition has a function, the worker asks that. */
  readonly retryIf?: "default" | "retryable" | "any" | "never" | readonly ErrorKind[];
  readonly timeoutMs?: number;
  readonly startTimeoutMs?: number;
  readonly totalTimeoutMs?: number;
  readonly heartbeatMs?: number;
  readonly onCrash?: "fail";
  readonly external?: true;
  /** For limits and fairness. */
  readonly key?: string;
  /** The trace context in which the run was started, for whoever executes the task. */
  readonly trace?: string;
}

/** A task by its key: the run that scheduled it, and the event with which it did. */
export interface TaskKey {
  readonly runId: string;
  readonly seq: number;
}

/** One hold of a task: the key, and the epoch under which it was taken. Nothing else finishes that attempt. */
export interface TaskHold extends TaskKey {
  readonly epoch: number;
}

/** How long a task may take, in milliseconds; null where there is no limit. */
export interface TaskLimits {
  /** One attempt. */
  readonly timeoutMs: number | null;
  /** From when it is due until a worker takes it. */
  readonly startTimeoutMs: number | null;
  /** From when it was scheduled, all attempts together. */
  readonly totalTimeoutMs: number | null;
  /** The longest silence between two heartbeats of an attempt. */
  readonly heartbeatMs: number | null;
}

/** What is fixed when a task is scheduled. */
export interface NewTask extends TaskLimits {
  /** The event that creates it, in the same commit. */
  readonly seq: number;
  /** The event with its input and options; the same unless the task was rescheduled. */
  readonly inputSeq: number;
  /** The op in the run that receives its result. */
  readonly op: string;
  readonly name: string;
  readonly queue: string;
  /** Labels that a worker must have, sorted, without duplicates. */
  readonly requires: readonly string[];
  /** Larger is sooner. */
  readonly priority: number;
  /** No worker executes it: someone with its token finishes it. */
  readonly external: boolean;
  /** The death of its worker fails it, instead of returning it to the queue. */
  readonly failOnCrash: boolean;
  /** 32 lower-case hexadecimal digits that no reader of the history can know: with the key and the epoch, the token. */
  readonly secret: string;
  /** Hold it from the beginning for this worker, if that worker is of the run's namespace and not offline. */
  readonly holdBy: { readonly workerId: string; readonly claimId: string } | null;
  /** What the limits and the fairness of its queue go by; absent: the key of its run. */
  readonly key?: string;
}

/** A task as the store keeps it, until its result is delivered. */
export interface TaskRow extends TaskKey {
  readonly namespace: string;
  readonly inputSeq: number;
  readonly op: string;
  readonly name: string;
  readonly queue: string;
  readonly requires: readonly string[];
  readonly priority: number;
  readonly status: TaskStatus;
  /** +1 whenever it is claimed, returned, retried or taken from its holder: the fence. */
  readonly epoch: number;
  readonly secret: string;
  /** The attempt that is due or in progress, from 1. The death of a worker is not an attempt. */
  readonly attempt: number;
  readonly heldBy: string | null;
  readonly claimId: string | null;
  /** When a worker may take it; null unless it is `due`. */
  readonly availableAt: number | null;
  /** The earliest of its time limits that run now. */
  readonly expiresAt: number | null;
  /** Which limit that is. */
  readonly expires: TaskExpiry | null;
  /** The run no longer wants the result; whoever holds the task should stop and say how far it came. */
  readonly canceled: boolean;
  /** Deaths of workers since it last reported something new, and those of them in which it ran alone. */
  readonly deaths: number;
  readonly aloneDeaths: number;
  readonly alone: boolean;
  /** It has seen too many deaths: it is claimed alone. */
  readonly suspect: boolean;
  readonly failOnCrash: boolean;
  readonly createdAt: number;
  /** The details of its last heartbeat. */
  readonly details: Payload | null;
  /** The failures of its attempts so far, the newest last. Opaque to the store. */
  readonly failures: readonly TaskFailure[];
}

/** What ends an attempt, or the task, if time passes: the four limits, the time to stop after a cancel, a death. */
export type TaskExpiry = "timeout" | "start_timeout" | "total_timeout" | "heartbeat" | "cancel" | "crash";

/** A failed attempt, as the row keeps it. */
export interface TaskFailure {
  readonly attempt: number;
  readonly at: number;
  readonly name: string;
  readonly message: string;
  readonly code?: string;
}

/** How many of them are kept. */
export const TASK_FAILURES_KEPT = 10;

/** A task with what its run asked for. */
export interface Task extends TaskRow {
  readonly input: Payload | null;
  /** `meta.task` of the event that scheduled it; null if that has none. */
  readonly spec: TaskSpec | null;
}

/** The labels that a worker with these labels offers: `gpu: "a100"` is `gpu` and `gpu=a100`; an empty value only the name. */
export function offeredLabels(labels: Readonly<Record<string, string>>): string[] {
  return Object.entries(labels).flatMap(([name, value]) => (value === "" ? [name] : [name, `${name}=${value}`]));
}
