import type { HistoryEvent, NewTask, TaskFailure, TaskFinisher, TaskResult } from "holdfast/adapter";
import { bytes, START_MS } from "./sample-data.ts";

/** A task that any worker of its queue can do, without limits; `seq` is that of the event that schedules it. */
export function newTask(seq: number, fields: Partial<NewTask> = {}): NewTask {
  return {
    seq,
    inputSeq: seq,
    op: `mail#${seq}`,
    name: "mail",
    queue: "default",
    requires: [],
    priority: 0,
    external: false,
    failOnCrash: false,
    secret: secretOf(seq),
    holdBy: null,
    timeoutMs: null,
    startTimeoutMs: null,
    totalTimeoutMs: null,
    heartbeatMs: null,
    ...fields,
  };
}

/** The event that schedules it. */
export function taskEvent({ seq, op, name }: NewTask, at: number = START_MS): HistoryEvent {
  return { seq, type: "task_scheduled", op, at, payload: bytes(`"input ${seq}"`), meta: { task: { name } } };
}

export function secretOf(n: number): string {
  return n.toString(16).padStart(32, "0");
}

export const COMPLETED: TaskResult = { type: "completed", payload: bytes('"sent"') };
export const GIVEN_BACK: TaskResult = { type: "release" };
export const MADE_EXTERNAL: TaskResult = { type: "external" };

export function failure(attempt = 1, fields: Partial<TaskFailure> = {}): TaskFailure {
  return { attempt, at: START_MS, name: "Error", message: `attempt ${attempt} failed`, ...fields };
}

export function failed(keep: boolean, failures: readonly TaskFailure[] = [failure()]): TaskResult {
  return { type: "failed", payload: bytes('{"failed":true}'), failures, keep };
}

export function retried(delayMs = 0, failures: readonly TaskFailure[] = [failure()]): TaskResult {
  return { type: "retry", delayMs, failures };
}

/** The process of the task has died. */
export function died(fields: Partial<Extract<TaskResult, { type: "died" }>> = {}): TaskResult {
  return { type: "died", alone: true, suspectAfter: 2, parkAfter: 3, failures: [], ...fields };
}

export const BY_EXPIRY: TaskFinisher = { type: "expiry" };

export function byHolder(workerId: string): Extract<TaskFinisher, { type: "holder" }> {
  return { type: "holder", workerId };
}

export function byToken(
  { secret }: { readonly secret: string },
  finishId: string,
): Extract<TaskFinisher, { type: "token" }> {
  return { type: "token", secret, finishId };
}
