/**
 * The task sweeper: finds tasks whose time limits have passed and says what becomes of them. The store decides that a limit has
 * passed, again when the judgment arrives; this decides, by the retry rule of the task, whether another attempt follows. After a
 * store outage it waits: heartbeats and results that could not be reported meanwhile are repeated, and must come first.
 */
import { EarliestTimer } from "../../calls/earliest-timer.ts";
import { isTransient } from "../../calls/store-retry.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { type JudgeHost, judgeExpiry } from "../../calls/task-judgment.ts";
import type { Task } from "../../model/task.ts";
import type { Clock } from "../../ports/clock.ts";
import type { Logger } from "../../ports/logger.ts";
import type { FinishTask, Store } from "../../ports/store.ts";

const EXPIRED_PER_SWEEP_MAX = 500;
/** Not more often than this, however many limits are about to pass. */
const SWEEP_MS_MIN = 50;
/** After a failure. */
const OUTAGE_MS = 5_000;
/** So long after the last sign of an outage nothing is judged: longer than the longest pause between repeated calls. */
const QUIET_MS = 15_000;

export interface TaskSweeperParams {
  readonly clock: Clock;
  readonly store: Store;
  readonly storeTime: StoreTime;
  readonly log: Logger;
  readonly judge: JudgeHost;
}

export class TaskSweeper {
  readonly #params: TaskSweeperParams;
  readonly #timer: EarliestTimer;
  #running = false;
  #sweeping = false;
  #again = false;
  /** When the store was last found to be away. */
  #outageAt = Number.NEGATIVE_INFINITY;

  constructor(params: TaskSweeperParams) {
    this.#params = params;
    this.#timer = new EarliestTimer(params.clock, () => void this.#sweep());
  }

  start(): void {
    this.#running = true;
  }

  stop(): void {
    this.#running = false;
    this.#timer.cancel();
  }

  /** A limit of a task passes at this store time. */
  note(storeAt: number): void {
    if (this.#running) this.#timer.ringIn(Math.max(SWEEP_MS_MIN, storeAt - this.#params.storeTime.now()));
  }

  /** The store could not be reached. */
  noteOutage(): void {
    this.#outageAt = this.#params.clock.monotonic();
  }

  async #sweep(): Promise<void> {
    if (this.#sweeping) {
      this.#again = true;
      return;
    }
    this.#sweeping = true;
    this.#again = false;
    const { store, log, clock } = this.#params;
    // The sweep of workers tells of limits that nothing else has announced.
    let waitMs = Number.POSITIVE_INFINITY;
    try {
      const { tasks, now, nextExpiryAt } = await store.tasks.expired({ limit: EXPIRED_PER_SWEEP_MAX });
      if (nextExpiryAt !== null) waitMs = Math.max(SWEEP_MS_MIN, nextExpiryAt - now);
      const quietMs = this.#outageAt + QUIET_MS - clock.monotonic();
      if (tasks.length > 0) waitMs = Math.max(SWEEP_MS_MIN, quietMs);
      if (tasks.length > 0 && quietMs <= 0) await this.#finish(tasks);
    } catch (error) {
      waitMs = OUTAGE_MS;
      if (isTransient(error)) this.noteOutage();
      else log.error({ error: String(error) }, "looking for expired tasks failed");
    }
    this.#sweeping = false;
    if (!this.#running) return;
    if (this.#again || waitMs < Number.POSITIVE_INFINITY) this.#timer.ringIn(this.#again ? SWEEP_MS_MIN : waitMs);
  }

  async #finish(tasks: readonly Task[]): Promise<void> {
    const { store, log, judge } = this.#params;
    const finishes = tasks.map(
      (task): FinishTask => ({
        namespace: task.namespace,
        runId: task.runId,
        seq: task.seq,
        epoch: task.epoch,
        by: { type: "expiry" },
        result: judgeExpiry(task, judge),
      }),
    );
    const { outcomes } = await store.tasks.finish({ finishes });
    const ended = outcomes.filter(({ outcome }) => outcome === "done").length;
    if (ended > 0)
      log.warn({ tasks: ended }, `the time limits of ${ended} ${ended === 1 ? "task has" : "tasks have"} passed`);
  }
}
