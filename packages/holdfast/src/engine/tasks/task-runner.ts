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
import { type JudgeHost, judgeFailure, PROCESS_DIED } from "../../calls/task-judgment.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { describeValue } from "../../errors/safe-read.ts";
import { fitsTask } from "../../model/decisions/task.ts";
import { uuidV7 } from "../../model/ids.ts";
import type { Payload } from "../../model/payload.ts";
import type { NewTask, Task, TaskKey } from "../../model/task.ts";
import { withFailure } from "../../model/task-failure.ts";
import type { FinishTask, TaskResult } from "../../ports/store.ts";
import type { AnyTask, TaskFunction } from "../../replay/ops/task-options.ts";
import type { Lease } from "../lease/lease.ts";
import type { TaskPool } from "../pool/task-pool.ts";
import { Beats } from "./beats.ts";
import { checkedOutput } from "./checked-output.ts";
import { Finisher } from "./finisher.ts";
import type { LocalRun, LocalTask, LocalTasks, TaskReservation } from "./local-tasks.ts";
import {
  type DeathInPool,
  type FailedEnd,
  LATER,
  leftWorker,
  TaskAttempt,
  type TaskAttemptOwner,
  type TaskEnd,
} from "./task-attempt.ts";
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
  /** The processes that call the functions; undefined: this one does. */
  readonly pool: TaskPool | undefined;
  /** What deaths in the pool mean. */
  readonly deaths: { readonly suspectAfter: number; readonly parkAfter: number };
  /** The store has been told of a death. */
  readonly onDied: () => void;
  readonly storeTime: StoreTime;
  readonly lease: Lease;
  readonly claimer: () => TaskClaimer;
  /** The worker takes nothing new, or keeps itself empty. */
  readonly closed: () => boolean;
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
      workerId: () => params.lease.workerId,
      onHeard: (attempt, { outcome, canceled }) => {
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
    const { closed, concurrency, pool } = this.#params;
    if (closed()) return 0;
    const slots = concurrency - this.#held.size;
    return Math.min(slots, pool ? pool.free : slots) - this.#reserved;
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
    this.#begin(held);
  }

  #giveBack({ namespace, runId, seq, epoch }: Task): void {
    const by = { type: "holder", workerId: this.#params.lease.workerId } as const;
    void this.#finisher.finish({ namespace, runId, seq, epoch, by, result: { type: "release" } }).catch(() => "lost");
  }

  /** The interceptor of steps also wraps tasks: mocks in tests. */
  #begin({ attempt, task }: Held): void {
    const { pool, ports } = this.#params;
    const { tasks } = ports;
    const fn = (this.#byName.get(task.name) as AnyTask).fn as TaskFunction<never, unknown>;
    if (pool) {
      attempt.begin();
      pool.run(attempt);
    } else attempt.run(tasks ? (input, info) => tasks.around(task, input, info, () => fn(input, info)) : fn);
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

  /** Every held task has been returned to the store. */
  dropAll(): void {
    for (const held of [...this.#held.values()]) this.#drop(held);
  }

  /** From here on no report is repeated. */
  stop(): void {
    this.#stopped = true;
    this.dropAll();
  }

  #drop(held: Held): void {
    held.attempt.discard(leftWorker(this.#params.workerName));
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
    // A process that still executes it would do so beside the next attempt.
    if (this.#params.pool) await this.#params.pool.untilOver(attempt);
    let result: TaskResult;
    try {
      result = await this.#resultOf(held, end);
    } catch (error) {
      // The work is done and would be done again: only new code can help, so it is not retried.
      result = this.#failed(held, { ok: false, error }, true);
    }
    if (this.#held.get(keyOf(task)) !== held) return;
    this.#count(attempt, result);
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

  #count({ task, ms }: TaskAttempt, { type }: TaskResult): void {
    const { telemetry } = this.#params.ports;
    if (!telemetry) return;
    const outcome = type === "completed" || type === "external" ? "completed" : "failed";
    telemetry.count("task_attempts", 1, { task: task.name, outcome });
    telemetry.duration("task_attempt", ms, { task: task.name, outcome });
  }

  async #resultOf(held: Held, end: TaskEnd): Promise<TaskResult> {
    const { task } = held;
    if ("died" in end) return this.#died(task, end.died);
    if (!end.ok) return this.#failed(held, end);
    if ("payload" in end) return { type: "completed", payload: end.payload };
    const definition = this.#byName.get(task.name) as AnyTask;
    return this.#completed(task, end.checked ? end.value : await checkedOutput(definition, end.value));
  }

  /** Whoever was killed because of another task is only returned, unless it must not begin twice. */
  #died(task: Task, { alone, innocent, message }: DeathInPool): TaskResult {
    if (innocent && !task.failOnCrash) return { type: "release" };
    const failure = { attempt: task.attempt, at: this.#judge.now(), name: PROCESS_DIED, message };
    const { suspectAfter, parkAfter } = this.#params.deaths;
    return { type: "died", alone, suspectAfter, parkAfter, failures: withFailure(task.failures, failure) };
  }

  #completed(task: Task, value: unknown): TaskResult {
    if (value === LATER) return { type: "external" };
    return { type: "completed", payload: this.#params.ports.codec.encode(value, `result of task "${task.op}"`) };
  }

  #failed({ task, attempt, canceled }: Held, end: FailedEnd, final = false): TaskResult {
    const { error, unknown = false, verdict } = end;
    const { retryIf: rule } = this.#byName.get(task.name) as AnyTask;
    // A function has been asked where the error was thrown.
    const retryIf = verdict && typeof rule === "function" ? verdict.retryIf : rule;
    const facts = { error, unknown, ms: attempt.ms, retryIf, retryAfterMs: verdict?.retryAfterMs };
    const isFinal = final || canceled || verdict?.final === true;
    return judgeFailure({ ...task, canceled }, { ...facts, final: isFinal }, this.#judge);
  }

  async #finish(held: Held, result: TaskResult): Promise<void> {
    const { task, attempt } = held;
    const { namespace, runId, seq, epoch } = task;
    const { log } = this.#params.ports;
    const { workerId } = this.#params.lease;
    const finish: FinishTask = { namespace, runId, seq, epoch, by: { type: "holder", workerId }, result };
    try {
      await this.#finisher.finish(finish);
      // The store may have decided that this death fails it; the sweeper judges that.
      if (result.type === "died") this.#params.onDied();
    } catch (error) {
      if (!this.#stopped) {
        log.error({ runId, op: task.op, error: describeValue(error) }, "the store refuses the result of a task");
        await this.#refused(held, finish, error);
      }
    }
    if (this.#held.get(keyOf(task))?.attempt === attempt) this.#leave(held);
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
