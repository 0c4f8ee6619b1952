import type { ErrorRecord } from "./error-record.ts";
import type { Payload } from "./payload.ts";
import { TASK_FAILURES_KEPT, type TaskFailure } from "./task.ts";

/** What a run learns of a task that has failed: the payload of its `task_failed` message. */
export interface FailedTask {
  readonly error: ErrorRecord;
  readonly failures: readonly TaskFailure[];
  /** How long the last attempt took. */
  readonly ms?: number;
  /** Whether the last attempt took effect is not known. */
  readonly unknown?: true;
  /** No worker has ever taken it. */
  readonly neverBegan?: true;
}

export function encodeFailedTask(failed: FailedTask): Payload {
  return new TextEncoder().encode(JSON.stringify(failed));
}

export function decodeFailedTask(payload: Payload): FailedTask {
  return JSON.parse(new TextDecoder().decode(payload)) as FailedTask;
}

/** A failure in short, for the list that a task carries. */
export function shortFailure({ name, message, code }: ErrorRecord, attempt: number, at: number): TaskFailure {
  const short = message.length > MESSAGE_LENGTH_MAX ? `${message.slice(0, MESSAGE_LENGTH_MAX)} …` : message;
  return { attempt, at, name, message: short, ...(code === undefined ? {} : { code }) };
}

const MESSAGE_LENGTH_MAX = 500;

/** The newest are kept. */
export function withFailure(failures: readonly TaskFailure[], failure: TaskFailure): readonly TaskFailure[] {
  return [...failures, failure].slice(-TASK_FAILURES_KEPT);
}
