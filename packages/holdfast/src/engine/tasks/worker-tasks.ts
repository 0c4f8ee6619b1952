/** Everything about tasks on one worker: the tasks that it executes, and the tasks of all workers whose limits have passed. */
import { limitedWait } from "../../calls/limited-wait.ts";
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import { offeredLabels, type Task, type TaskKey } from "../../model/task.ts";
import type { Hint } from "../../ports/notifier.ts";
import type { HeartbeatResult } from "../../ports/store.ts";
import { writeFailedTask } from "../../report/failure-lines.ts";
import type { RepeatedLines } from "../../report/repeated-lines.ts";
import type { SoloRule } from "../claim/solo-rule.ts";
import type { Lease } from "../lease/lease.ts";
import type { TaskPoolStatus } from "../pool/pool-stats.ts";
import { TaskPool } from "../pool/task-pool.ts";
import type { Pace } from "../worker/pace.ts";
import type { ResolvedWorkerOptions } from "../worker/worker-options.ts";
import type { LocalTasks, TaskReservation } from "./local-tasks.ts";
import { TaskClaimer } from "./task-claimer.ts";
import { TaskReconciler } from "./task-reconciler.ts";
import { TaskRunner } from "./task-runner.ts";
import { TaskSweeper } from "./task-sweeper.ts";

export interface WorkerTasksParams {
  readonly ports: PortsBundle;
  readonly namespace: string;
  readonly options: ResolvedWorkerOptions;
  readonly storeTime: StoreTime;
  readonly lease: Lease;
  readonly solo: SoloRule;
  /** Whether the worker holds no run and expects none. */
  readonly noRuns: () => boolean;
  readonly draining: () => boolean;
  /** A slot is free that a suspect run may wait for. `freed`: the task was alone here, and any run may wait for it to go. */
  readonly onLeft: (freed: boolean) => void;
  readonly onDead: () => void;
  readonly lines: RepeatedLines;
  readonly pace: Pace;
}

export class WorkerTasks {
  readonly #params: WorkerTasksParams;
  readonly #pool: TaskPool | undefined;
  readonly #claimer: TaskClaimer;
  readonly #runner: TaskRunner;
  readonly #sweeper: TaskSweeper;
  readonly #reconciler: TaskReconciler;

  constructor(params: WorkerTasksParams) {
    const { ports, namespace, options, storeTime, lease, solo } = params;
    const { clock, random, store, log, redact } = ports;
    this.#params = params;
    const labels = offeredLabels(options.labels);
    this.#pool = this.#makePool();
    this.#runner = new TaskRunner({
      ports,
      namespace,
      workerName: options.name,
      tasks: options.tasks,
      queues: options.queues,
      labels,
      concurrency: options.taskConcurrency,
      pool: this.#pool,
      deaths: options.tuning,
      storeTime,
      lease,
      pace: params.pace,
      claimer: () => this.#claimer,
      draining: params.draining,
      exclusive: () => solo.exclusive,
      noteLimit: (storeAt) => this.noteLimit(storeAt),
      onProgress: (task) => this.#progressed(task),
      onLeft: (task) => this.#left(task),
      onFailed: (task, result) => {
        const failure = "failures" in result ? result.failures.at(-1) : undefined;
        if (failure) writeFailedTask(params.lines, task, failure, result.type === "retry" ? result.delayMs : undefined);
      },
    });
    this.#claimer = new TaskClaimer({
      clock,
      random,
      store,
      storeTime,
      log,
      telemetry: ports.telemetry,
      fallbackMs: options.tuning.claimFallbackMs,
      base: () => ({
        workerId: lease.workerId,
        namespace,
        queues: options.queues,
        names: this.#runner.names,
        labels,
      }),
      // What nobody may start would only be given back.
      freeSlots: () => (lease.active() ? this.#runner.free : 0),
      mayTakeSuspect: () => solo.wants("task") && lease.active() && this.#runner.allFree && params.noRuns(),
      onSuspectDue: () => solo.want("task"),
      onSoloAsked: () => solo.asked(),
      onSoloAnswered: (task) => solo.claimed(task && soloKey(task)),
      onClaimed: (task) => this.#runner.hold(task),
      onDead: () => params.onDead(),
    });
    this.#sweeper = new TaskSweeper({
      clock,
      store,
      storeTime,
      log,
      judge: {
        record: (error, about) => toErrorRecord(error, redact ? { ...about, redact } : about),
        now: () => storeTime.now(),
        random: () => random.next(),
      },
    });
    const askingSince = (): number | undefined => earlier(this.#claimer.askingSince, this.#runner.reservedSince);
    this.#reconciler = new TaskReconciler({ clock, store, log, namespace, lease, runner: this.#runner, askingSince });
  }

  #makePool(): TaskPool | undefined {
    const { ports, options } = this.#params;
    if (!options.pool || !ports.processes) return undefined;
    return new TaskPool({
      ports,
      processes: ports.processes,
      workerName: options.name,
      options: options.pool,
      tasks: options.tasks.map(({ name }) => name),
      onFree: () => this.#claimer.slotFreed(),
    });
  }

  /** The state of its task pool, if it has one. */
  get pool(): TaskPoolStatus | undefined {
    return this.#pool?.status();
  }

  /** Rejects if the processes of the pool cannot be started. */
  async openPool(): Promise<void> {
    await this.#pool?.start();
  }

  async closePool(): Promise<void> {
    await this.#pool?.stop();
  }

  /** The names of the tasks that it executes. */
  get names(): readonly string[] {
    return this.#runner.names;
  }

  get count(): number {
    return this.#runner.count;
  }

  get allFree(): boolean {
    return this.#runner.allFree && this.#claimer.asking === 0;
  }

  /** A slot for a task that a run of this process is about to schedule; undefined if it cannot start here now. */
  reserve(...wanted: Parameters<LocalTasks["reserve"]>): TaskReservation | undefined {
    return this.names.length === 0 || this.#params.draining() ? undefined : this.#runner.reserve(...wanted);
  }

  /** A run of this process has taken the task back. */
  takenBack(task: TaskKey): void {
    this.#runner.takenBack(task);
  }

  start(): void {
    this.#sweeper.start();
    if (this.names.length === 0) return;
    this.#runner.start();
    this.#reconciler.start();
    this.#claimer.start();
  }

  /** Takes nothing new. */
  close(): void {
    this.#claimer.stop();
    this.#sweeper.stop();
  }

  untilEmpty(): Promise<void> {
    return this.#runner.untilEmpty();
  }

  /** What has ended is reported, and what has not begun is given back, before the rest is returned to the store. */
  async stop(waitMs: number): Promise<void> {
    const { clock } = this.#params.ports;
    this.#reconciler.stop();
    this.#runner.leave();
    const coming = Promise.all([this.#claimer.untilIdle(), this.#runner.untilUnreserved()]);
    const over = coming.then(() => this.#runner.untilReported());
    await limitedWait(clock, over, waitMs).over;
    this.#runner.stop();
    this.#claimer.abandon();
    await this.closePool();
  }

  /** The store has returned all that this worker held. */
  lose(): void {
    this.#runner.dropAll();
    this.#claimer.abandon();
  }

  poke(): void {
    if (this.names.length > 0) this.#claimer.poke();
  }

  /** The store could not be reached. */
  noteOutage(): void {
    this.#sweeper.noteOutage();
  }

  noteLimit(storeAt: number): void {
    this.#sweeper.note(storeAt);
  }

  /** Hints for this namespace and these queues. */
  noteDue(at: number | undefined): void {
    if (this.names.length === 0) return;
    if (at === undefined) this.#claimer.poke();
    else this.#claimer.noteDueAt(at);
  }

  onHint(hint: Extract<Hint, { type: "task" }>): void {
    if (hint.workerId === this.#params.lease.workerId) this.#runner.ask(hint);
  }

  onHeartbeat({ heldTasks, canceledTasks }: HeartbeatResult): void {
    for (const key of canceledTasks) this.#runner.cancel(key);
    void this.#reconciler.compare(heldTasks);
  }

  /** What has made progress need not be alone any more. */
  #progressed(task: TaskKey): void {
    if (!this.#params.solo.cleared(soloKey(task))) return;
    this.#claimer.poke();
    this.#params.onLeft(true);
  }

  #left(task: TaskKey): void {
    const { solo } = this.#params;
    const cleared = solo.cleared(soloKey(task));
    if (cleared || solo.wants("task")) this.#claimer.poke();
    else this.#claimer.slotFreed();
    this.#params.onLeft(cleared);
  }
}

function earlier(one: number | undefined, other: number | undefined): number | undefined {
  return one !== undefined && other !== undefined ? Math.min(one, other) : (one ?? other);
}

function soloKey({ runId, seq }: TaskKey | Task): string {
  return `${runId}/${seq}`;
}
