import { type JudgeHost, judgeFailure, PROCESS_DIED } from "../../calls/task-judgment.ts";
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import type { Task } from "../../model/task.ts";
import { withFailure } from "../../model/task-failure.ts";
import type { Codec } from "../../ports/codec.ts";
import type { TaskResult } from "../../ports/store.ts";
import type { AnyTask } from "../../replay/ops/task-options.ts";
import { type DeathInPool, type FailedEnd, LATER, type TaskAttempt, type TaskEnd } from "./task-attempt.ts";

/** How long a task is left alone for which a worker has no key: at first, and at most. */
const KEY_WAIT_MS = 1_000;
const KEY_WAIT_MS_MAX = 300_000;

export interface AttemptResultsParams {
  readonly codec: Codec;
  readonly judge: JudgeHost;
  /** What the deaths of processes mean. */
  readonly deaths: { readonly suspectAfter: number; readonly parkAfter: number };
  readonly definition: (name: string) => AnyTask;
  /** An attempt has failed, and its run still wants the result. */
  readonly onFailed: (task: Task, result: TaskResult) => void;
}

interface Ended {
  readonly task: Task;
  readonly attempt: TaskAttempt;
  readonly canceled: boolean;
}

/** What the end of an attempt means for its task. */
export class AttemptResults {
  readonly #params: AttemptResultsParams;

  constructor(params: AttemptResultsParams) {
    this.#params = params;
  }

  resultOf(ended: Ended, end: TaskEnd): TaskResult {
    if ("died" in end) return this.#died(ended.task, end.died);
    if ("unread" in end && !ended.canceled && isHoldfastError(end.error, "codec_key_missing"))
      return this.#unread(ended, end.error);
    if ("payload" in end) return { type: "completed", payload: end.payload };
    try {
      return end.ok ? this.#completed(ended.task, end.value) : this.failed(ended, end);
    } catch (error) {
      // The work is done and would be done again: only new code can help, so it is not retried.
      return this.failed(ended, { ok: false, error }, true);
    }
  }

  failed({ task, attempt, canceled }: Ended, end: FailedEnd, final = false): TaskResult {
    const { error, unknown = false, verdict } = end;
    const { retryIf: rule } = this.#params.definition(task.name);
    // A function has been asked where the error was thrown.
    const retryIf = verdict && typeof rule === "function" ? verdict.retryIf : rule;
    const facts = { error, unknown, ms: attempt.ms, retryIf, retryAfterMs: verdict?.retryAfterMs };
    const isFinal = final || canceled || verdict?.final === true;
    const result = judgeFailure({ ...task, canceled }, { ...facts, final: isFinal }, this.#params.judge);
    if (!canceled) this.#params.onFailed(task, result);
    return result;
  }

  #completed(task: Task, value: unknown): TaskResult {
    if (value === LATER) return { type: "external" };
    return { type: "completed", payload: this.#params.codec.encode(value, `result of task "${task.op}"`) };
  }

  /** A worker that has the key may take it; the attempt does not count. Later each time, so that nobody spins. */
  #unread({ task, attempt }: Ended, { message }: Error): TaskResult {
    // Being claimed and being given back both count as an epoch.
    const delayMs = Math.min(KEY_WAIT_MS_MAX, KEY_WAIT_MS * 2 ** Math.min(task.epoch >> 1, 20));
    attempt.log.warn({ delayMs }, `a task waits for a worker that has its key: ${message}`);
    return { type: "release", delayMs };
  }

  /** Whoever was killed because of another task is only returned, unless it must not begin twice. */
  #died(task: Task, { begun, alone, innocent, message }: DeathInPool): TaskResult {
    if (!begun || (innocent && !task.failOnCrash)) return { type: "release" };
    const failure = { attempt: task.attempt, at: this.#params.judge.now(), name: PROCESS_DIED, message };
    const { suspectAfter, parkAfter } = this.#params.deaths;
    return { type: "died", alone, suspectAfter, parkAfter, failures: withFailure(task.failures, failure) };
  }
}
