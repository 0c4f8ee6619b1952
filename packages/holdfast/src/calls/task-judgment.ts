/** What a failed attempt of a task means for it: another attempt, or the end. The same for every process that has to judge it. */
import { classifyError } from "../errors/classify.ts";
import type { ErrorRecordOptions } from "../errors/error-record.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { type RetryIf, shouldRetry } from "../errors/retry-rule.ts";
import { formatDuration } from "../model/duration.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import { DEFAULT_RETRY, mayTryAgain, tryAgainInMs } from "../model/retry-policy.ts";
import type { Task, TaskExpiry, TaskSpec } from "../model/task.ts";
import { encodeFailedTask, shortFailure, withFailure } from "../model/task-failure.ts";
import type { TaskResult } from "../ports/store.ts";

export interface JudgeHost {
  /** An error as history stores it. */
  readonly record: (error: unknown, about?: ErrorRecordOptions) => ErrorRecord;
  /** Store time. */
  readonly now: () => number;
  readonly random: () => number;
}

/** What is known of a failed attempt. */
export interface FailedAttemptFacts {
  readonly error: unknown;
  readonly ms?: number;
  /** Whether it took effect is not known. */
  readonly unknown?: boolean;
  /** No worker has ever taken it. */
  readonly neverBegan?: boolean;
  /** No other attempt may follow, whatever the rule says. */
  readonly final?: boolean;
  /** The attempt that was due has not begun. */
  readonly unbegun?: boolean;
  /** The rule of the definition, if this process has it and the run has not named another. */
  readonly retryIf?: RetryIf | undefined;
  /** What the other side asked for, if the error no longer tells. */
  readonly retryAfterMs?: number | undefined;
}

export function judgeFailure(task: Task, facts: FailedAttemptFacts, host: JudgeHost): TaskResult {
  const { error, ms = 0, unknown = false, neverBegan = false, unbegun = false, final = task.canceled } = facts;
  const { attempt } = task;
  const spec: TaskSpec = task.spec ?? { name: task.name };
  const at = host.now();
  const { kind, retryAfterMs = facts.retryAfterMs } = classifyError(error, { nowMs: at });
  const record: ErrorRecord = {
    ...host.record(error, { kind, attempts: attempt - Number(unbegun), op: task.op }),
    task: task.name,
  };
  const failures = withFailure(task.failures, shortFailure(record, attempt, at));
  const failed = { attempt, retryAfterMs };
  const retry = spec.retry ?? DEFAULT_RETRY;
  const rule = spec.retryIf ?? facts.retryIf ?? "default";
  if (!final && mayTryAgain(retry, failed, () => shouldRetry(rule, error, { kind, attempt })))
    return { type: "retry", delayMs: tryAgainInMs(retry, failed, host.random), failures };
  const about = {
    error: record,
    failures,
    ...(ms < 1 ? {} : { ms }),
    ...(unknown ? { unknown: true as const } : {}),
    ...(neverBegan ? { neverBegan: true as const } : {}),
  };
  return { type: "failed", payload: encodeFailedTask(about), failures, keep: !task.canceled };
}

/** A limit of the task has passed, or its worker has died. */
export function judgeExpiry(task: Task, host: JudgeHost): TaskResult {
  const expires = task.expires as TaskExpiry;
  const error = expiryError(task, expires);
  const neverBegan = task.status === "due" && task.epoch === 0;
  // While nobody holds it, nothing of it is in progress.
  const unknown = !neverBegan && (task.status !== "due" || expires === "crash" || expires === "cancel");
  return judgeFailure(task, { error, unknown, neverBegan, unbegun: !unknown, final: FINAL.has(expires) }, host);
}

const FINAL: ReadonlySet<TaskExpiry> = new Set(["start_timeout", "total_timeout", "cancel", "crash"]);

/** The name of the failure that the death of a process leaves with its task. */
export const PROCESS_DIED = "ProcessDied";

export function expiryError({ op, attempt, queue, spec, failures }: Task, expires: TaskExpiry): HoldfastError {
  const about = `task "${op}"`;
  const limit = (ms: number | undefined): string => formatDuration(ms ?? 0);
  switch (expires) {
    case "timeout":
      return new HoldfastError(
        "task_timeout",
        `Attempt ${attempt} of ${about} took longer than ${limit(spec?.timeoutMs)}.`,
      );
    case "heartbeat":
      return new HoldfastError(
        "task_heartbeat_timeout",
        `Attempt ${attempt} of ${about} sent no heartbeat for ${limit(spec?.heartbeatMs)}.`,
      );
    case "start_timeout":
      return new HoldfastError(
        "task_start_timeout",
        `No worker took ${about} from queue "${queue}" within ${limit(spec?.startTimeoutMs)}.`,
      );
    case "total_timeout":
      return new HoldfastError(
        "task_total_timeout",
        `${cap(about)} did not end within ${limit(spec?.totalTimeoutMs)}.`,
      );
    case "cancel":
      return new HoldfastError("task_canceled", `${cap(about)} was canceled, and did not say in time how far it came.`);
    case "crash": {
      const last = failures.at(-1);
      const how = last?.name === PROCESS_DIED ? `: ${last.message}` : "";
      return new HoldfastError(
        "task_crashed",
        `The ${how === "" ? "worker" : "process"} died during attempt ${attempt} of ${about}; whether it took effect is unknown${how}.`,
      );
    }
  }
}

function cap(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
