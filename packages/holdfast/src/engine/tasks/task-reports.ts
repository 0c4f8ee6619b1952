import { OpenCalls } from "../../calls/open-calls.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { describeValue } from "../../errors/safe-read.ts";
import type { Task } from "../../model/task.ts";
import type { Logger } from "../../ports/logger.ts";
import type { FinishTask, TaskResult } from "../../ports/store.ts";
import type { AttemptResults } from "./attempt-results.ts";
import { Finisher, type FinisherParams } from "./finisher.ts";
import type { HeldTask } from "./held-task.ts";

export interface TaskReportsParams extends FinisherParams {
  readonly log: Logger;
  readonly storeTime: StoreTime;
  readonly results: AttemptResults;
  /** A limit of a task passes at this store time, and no worker watches over it. */
  readonly noteLimit: (storeAt: number) => void;
}

/** What a worker tells the store of its tasks, until it is answered (T4). */
export class TaskReports {
  readonly #params: TaskReportsParams;
  readonly #finisher: Finisher;
  readonly #open = new OpenCalls();

  constructor(params: TaskReportsParams) {
    this.#params = params;
    this.#finisher = new Finisher(params);
  }

  untilIdle(): Promise<void> {
    return this.#open.untilNone();
  }

  /** The end of an attempt, once `before` is over. Never rejects. */
  report(held: HeldTask, result: TaskResult, before?: Promise<void>): Promise<void> {
    return this.#open.during(this.#report(held, result, before));
  }

  async #report(held: HeldTask, result: TaskResult, before: Promise<void> | undefined): Promise<void> {
    if (before !== undefined) await before;
    const { log, stopped, noteLimit, storeTime } = this.#params;
    const { runId, op } = held.task;
    const finish: FinishTask = { ...holdOf(held.task), result };
    this.#noteLimits(held, result);
    try {
      await this.#finisher.finish(finish);
      // The store may have decided that this death fails the task: it has expired by now.
      if (result.type === "died") noteLimit(storeTime.now());
    } catch (error) {
      if (stopped()) return;
      log.error({ runId, op, error: describeValue(error) }, "the store refuses the result of a task");
      await this.#refused(held, finish, error);
    }
  }

  /** A task that has not begun here. */
  async giveBack(task: Task): Promise<void> {
    const released = this.#finisher.finish({ ...holdOf(task), result: { type: "release" } });
    await this.#open.during(released.catch(() => "lost" as const));
  }

  /** Limits that this worker no longer watches over. */
  #noteLimits({ task: { spec }, attempt }: HeldTask, result: TaskResult): void {
    const { storeTime, noteLimit } = this.#params;
    const now = storeTime.now();
    const later = (ms: number | undefined): void => {
      if (ms !== undefined) noteLimit(now + ms);
    };
    if ("delayMs" in result && spec?.startTimeoutMs !== undefined) later(result.delayMs + spec.startTimeoutMs);
    if (result.type !== "external") return;
    later(spec?.timeoutMs === undefined ? undefined : spec.timeoutMs - attempt.ms);
    later(spec?.heartbeatMs);
  }

  /** The store refuses what the task has returned: the run learns that instead. */
  async #refused(held: HeldTask, finish: FinishTask, error: unknown): Promise<void> {
    if (finish.result.type === "failed") return;
    const result = this.#params.results.failed(held, { ok: false, error }, true);
    await this.#finisher.finish({ ...finish, result }).catch(() => "lost");
  }
}

/** Not the worker's current id: a worker that was declared dead registers under a new one. */
function holdOf({ namespace, runId, seq, epoch, heldBy }: Task): Omit<FinishTask, "result"> {
  return { namespace, runId, seq, epoch, by: { type: "holder", workerId: heldBy as string } };
}
