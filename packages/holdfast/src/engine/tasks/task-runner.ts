/**
 * The tasks that a worker holds: claimed ones, and those that a run of this process has scheduled here. It starts their
 * attempts and reports how they end.
 *
 * Invariants
 *  T3. An attempt starts only when its task is durable, and while the lease of the worker is active.
 *  T4. A result is kept until the run's commit with it is written, or until the store has answered a report.
 *  T5. A slot is taken from the claim or the reservation until the task is gone from the store, or from this worker.
 */
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { type JudgeHost, judgeFailure } from "../../calls/task-judgment.ts";
import { invalidValue, validateWith } from "../../define/standard-schema.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { describeValue } from "../../errors/safe-read.ts";
import { fitsTask } from "../../model/decisions/task.ts";
import { uuidV7 } from "../../model/ids.ts";
import type { Payload } from "../../model/payload.ts";
import type { NewTask, Task, TaskKey } from "../../model/task.ts";
import type { FinishTask, TaskResult } from "../../ports/store.ts";
import type { AnyTask, TaskFunction } from "../../replay/ops/task-options.ts";
import type { Lease } from "../lease/lease.ts";
import { Beats } from "./beats.ts";
import { Finisher } from "./finisher.ts";
import type { LocalRun, LocalTask, LocalTasks, TaskReservation } from "./local-tasks.ts";
import { LATER, leftWorker, TaskAttempt, type TaskAttemptOwner, type TaskEnd } from "./task-attempt.ts";
import type { TaskClaimer } from "./task-claimer.ts";

export interface TaskRunnerParams {
  readonly ports: PortsBundle;
  readonly namespace: string;
  readonly workerName: string;
  readonly tasks: readonly AnyTask[];
  readonly queues: readonly string[];
  /** As in `requires`. */
  readonly labels: readonly string[];
  readonly concurrency: number;
  readonly storeTime: StoreTime;
  readonly lease: Lease;
  readonly claimer: () => TaskClaimer;
  /** The worker takes nothing new, or keeps itself empty. */
  readonly closed: () => boolean;
  /** A limit of a task passes at this store time, and no worker watches over it. */
  readonly noteLimit: (storeAt: number) => void;
  /** A task has left the worker. */
  readonly onLeft: (task: TaskKey) => void;
}

interface Held {
  readonly task: Task;
  readonly attempt: TaskAttempt;
  /** The run that waits for it here. */
  readonly run: LocalRun | undefined;
  canceled: boolean;
}

export class TaskRunner implements LocalTasks, TaskAttemptOwner {
  readonly #params: TaskRunnerParams;
  readonly #byName: ReadonlyMap<string, AnyTask>;
  readonly #held = new Map<string, Held>();
  readonly #finisher: Finisher;
  readonly #beats: Beats;
  readonly #judge: JudgeHost;
  /** Under which tasks are held that runs of this process have scheduled. */
  readonly #claimId: string;
  #reserved = 0;
  #stopped = true;
  #emptyWaiters: (() => void)[] = [];

  constructor(params: TaskRunnerParams) {
    const { clock, random, store, redact } = params.ports;
    this.#params = params;
    this.#byName = new Map(params.tasks.map((task) => [task.name, task]));
    this.#claimId = uuidV7(clock.now(), random.bytes(16));
    const stopped = (): boolean => this.#stopped;
    this.#finisher = new Finisher({ clock, random, store, stopped });
    this.#beats = new Beats({
      clock,
      random,
      store,
      stopped,
      onHeard: (attempt, { outcome, canceled }) => {
        // The answer to an earlier attempt says nothing about this one.
        if (this.#held.get(keyOf(attempt.task))?.attempt !== attempt) return;
        if (outcome === "lost") this.lost(attempt.task);
        else if (canceled) this.cancel(attempt.task);
      },
    });
    this.#judge = {
      record: (error, about) => toErrorRecord(error, redact ? { ...about, redact } : about),
      now: () => params.storeTime.now(),
      random: () => random.next(),
    };
  }

  get names(): readonly string[] {
    return [...this.#byName.keys()];
  }

  get count(): number {
    return this.#held.size;
  }

  get allFree(): boolean {
    return this.#held.size === 0 && this.#reserved === 0;
  }

  get free(): number {
    return this.#params.closed() ? 0 : this.#params.concurrency - this.#held.size - this.#reserved;
  }

  start(): void {
    this.#stopped = false;
  }

  has(key: TaskKey): boolean {
    return this.#held.has(keyOf(key));
  }

  all(): readonly Task[] {
    return [...this.#held.values()].map(({ task }) => task);
  }

  untilEmpty(): Promise<void> {
    if (this.#held.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptyWaiters.push(resolve));
  }

  untilReported(): Promise<void> {
    return this.#finisher.untilIdle();
  }

  /** Starts the attempt of a task that the store says we hold. */
  hold(task: Task, run?: LocalRun): void {
    const key = keyOf(task);
    const known = this.#held.get(key);
    if (known && known.task.epoch >= task.epoch) return;
    if (known) this.#drop(known);
    // The answer came too late: nothing may start here any more.
    if (!this.#params.lease.active()) {
      run?.released(task);
      return this.#giveBack(task);
    }
    const { clock, codec, log } = this.#params.ports;
    const attempt = new TaskAttempt(task, { clock, codec, log }, this);
    const held: Held = { task, attempt, run, canceled: task.canceled };
    this.#held.set(key, held);
    const { fn } = this.#byName.get(task.name) as AnyTask;
    this.#begin(held, fn as TaskFunction<never, unknown>);
  }

  #giveBack({ namespace, runId, seq, epoch, heldBy }: Task): void {
    const by = { type: "holder", workerId: heldBy as string } as const;
    void this.#finisher.finish({ namespace, runId, seq, epoch, by, result: { type: "release" } }).catch(() => "lost");
  }

  /** The interceptor of steps also wraps tasks: mocks in tests. */
  #begin({ attempt, task }: Held, fn: TaskFunction<never, unknown>): void {
    const { tasks } = this.#params.ports;
    attempt.run(tasks ? (input, info) => tasks.around(task, input, info, () => fn(input, info)) : fn);
    if (task.canceled) attempt.abort(canceledError(task));
  }

  /** A slot for a task that is about to be created by a run of this process; undefined if it cannot start here now. */
  reserve(wanted: Pick<NewTask, "name" | "queue" | "requires">): TaskReservation | undefined {
    const { lease, queues, labels, claimer } = this.#params;
    const { workerId } = lease;
    if (workerId === "" || this.#stopped || !lease.active()) return undefined;
    // A new task must not overtake those that wait.
    if (claimer().hasBacklog || this.free <= claimer().asking) return undefined;
    if (!fitsTask(wanted, { names: this.names, queues, labels })) return undefined;
    this.#reserved += 1;
    let open = true;
    const close = (): void => {
      if (open) this.#reserved -= 1;
      open = false;
    };
    return {
      workerId,
      claimId: this.#claimId,
      start: (task, run) => {
        close();
        // It has registered under another id since: the store has returned the task.
        if (lease.workerId === workerId && !this.#stopped) this.hold(task, run);
        else run.released(task);
      },
      cancel: () => {
        close();
        claimer().slotFreed();
      },
    };
  }

  /** The run no longer wants the result: the function should stop, and what it says is reported. */
  cancel(key: TaskKey): void {
    const held = this.#held.get(keyOf(key));
    if (!held || held.canceled) return;
    held.canceled = true;
    held.attempt.abort(canceledError(held.task));
  }

  /** Something has happened to a held task: a beat tells what. */
  ask(key: TaskKey): void {
    const held = this.#held.get(keyOf(key));
    if (held && !held.attempt.over) void this.#beats.ask(held.attempt);
  }

  /** The store does not list that hold, which was here before it was asked. A report in flight may explain it. */
  lostIf(task: Task): void {
    const held = this.#held.get(keyOf(task));
    if (held?.task.epoch === task.epoch && !held.attempt.over) this.#drop(held);
  }

  /** The store says that this worker no longer holds the task. */
  lost(key: TaskKey): void {
    const held = this.#held.get(keyOf(key));
    if (held) this.#drop(held);
  }

  /** A run of this process has taken the task back. */
  takenBack(key: TaskKey): void {
    const held = this.#held.get(keyOf(key));
    if (held) this.#drop(held, canceledError(held.task));
  }

  /** Every held task has been returned to the store. */
  dropAll(): void {
    for (const held of [...this.#held.values()]) this.#drop(held);
  }

  /** From here on no report is repeated. */
  stop(): void {
    this.#stopped = true;
    this.dropAll();
  }

  #drop(held: Held, reason = leftWorker(this.#params.workerName)): void {
    held.attempt.discard(reason);
    this.#leave(held);
    held.run?.released(held.task);
  }

  #leave({ task, attempt }: Held): void {
    if (this.#held.get(keyOf(task))?.attempt !== attempt) return;
    this.#held.delete(keyOf(task));
    this.#beats.forget(attempt);
    if (this.#held.size === 0) for (const resolve of this.#emptyWaiters.splice(0)) resolve();
    this.#params.onLeft(task);
  }

  // Attempts ----------------------------------------------------------------------------------------------------------

  heard(attempt: TaskAttempt, details: Payload | null): Promise<void> {
    return this.#beats.beat(attempt, details);
  }

  ended(attempt: TaskAttempt, end: TaskEnd): void {
    const held = this.#held.get(keyOf(attempt.task));
    if (held?.attempt === attempt) void this.#report(held, end);
  }

  async #report(held: Held, end: TaskEnd): Promise<void> {
    const { task, attempt, run } = held;
    const definition = this.#byName.get(task.name) as AnyTask;
    let result: TaskResult;
    try {
      result = end.ok ? this.#completed(task, await this.#checked(definition, end.value)) : this.#failed(held, end);
    } catch (error) {
      // The work is done and would be done again: only new code can help, so it is not retried.
      result = this.#failed(held, { ok: false, error }, true);
    }
    if (this.#held.get(keyOf(task)) !== held) return;
    const local: LocalTask = {
      task,
      settled: () => this.#leave(held),
      handBack: () => void this.#finish(held, result),
    };
    if (result.type === "completed" && run?.take(local, result.payload, attempt.ms)) return;
    run?.released(task);
    if (result.type !== "completed") await this.#beats.flush(attempt);
    await this.#finish(held, result);
  }

  #checked({ outputSchema, name }: AnyTask, value: unknown): unknown {
    if (!outputSchema || value === LATER) return value;
    const judge = (outcome: Awaited<ReturnType<typeof validateWith>>): unknown => {
      if (outcome.ok) return outcome.value;
      throw invalidValue("invalid_output", `result of task "${name}"`, outcome.issues);
    };
    const outcome = validateWith(outputSchema, value);
    return outcome instanceof Promise ? outcome.then(judge) : judge(outcome);
  }

  #completed(task: Task, value: unknown): TaskResult {
    if (value === LATER) return { type: "external" };
    return { type: "completed", payload: this.#params.ports.codec.encode(value, `result of task "${task.op}"`) };
  }

  #failed({ task, attempt, canceled }: Held, end: Extract<TaskEnd, { ok: false }>, final = false): TaskResult {
    const { retryIf } = this.#byName.get(task.name) as AnyTask;
    const facts = { error: end.error, unknown: end.unknown ?? false, ms: attempt.ms, retryIf };
    return judgeFailure({ ...task, canceled }, { ...facts, final: final || canceled }, this.#judge);
  }

  async #finish(held: Held, result: TaskResult): Promise<void> {
    const { task, attempt } = held;
    const { namespace, runId, seq, epoch } = task;
    const { log } = this.#params.ports;
    // Not the worker's current id: a worker that was declared dead registers under a new one.
    const by = { type: "holder", workerId: task.heldBy as string } as const;
    const finish: FinishTask = { namespace, runId, seq, epoch, by, result };
    this.#noteLimits(task, result);
    try {
      await this.#finisher.finish(finish);
    } catch (error) {
      if (!this.#stopped) {
        log.error({ runId, op: task.op, error: describeValue(error) }, "the store refuses the result of a task");
        await this.#refused(held, finish, error);
      }
    }
    if (this.#held.get(keyOf(task))?.attempt === attempt) this.#leave(held);
  }

  /** Limits that this worker no longer watches over. */
  #noteLimits({ spec }: Task, result: TaskResult): void {
    const { storeTime, noteLimit } = this.#params;
    const now = storeTime.now();
    const later = (ms: number | undefined): void => {
      if (ms !== undefined) noteLimit(now + ms);
    };
    if (result.type === "retry" && spec?.startTimeoutMs !== undefined) later(result.delayMs + spec.startTimeoutMs);
    if (result.type !== "external") return;
    later(spec?.timeoutMs);
    later(spec?.heartbeatMs);
  }

  /** The store refuses what the task has returned: the run learns that instead. */
  async #refused(held: Held, finish: FinishTask, error: unknown): Promise<void> {
    if (finish.result.type === "failed") return;
    const result = this.#failed(held, { ok: false, error }, true);
    await this.#finisher.finish({ ...finish, result }).catch(() => "lost");
  }
}

function keyOf({ runId, seq }: TaskKey): string {
  return `${runId}/${seq}`;
}

function canceledError({ op }: Task): HoldfastError {
  return new HoldfastError("task_canceled", `The run no longer wants the result of task "${op}".`);
}
