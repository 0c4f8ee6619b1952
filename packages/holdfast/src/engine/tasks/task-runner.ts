/**
 * The tasks that a worker holds: claimed ones, and those that a run of this process has scheduled here. It starts their
 * attempts and reports how they end.
 *
 * Invariants
 *  T3. An attempt starts only when its task is durable, and while the lease of the worker is active.
 *  T4. A result is kept until the run's commit with it is written, or until the store has answered a report.
 *  T5. A slot is taken from the claim or the reservation until the task is gone from the store, or from this worker, or until
 *      a run of this process has its result: what waits for that run's commit executes nothing.
 */
import type { PortsBundle } from "../../calls/ports-bundle.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import { expiryError } from "../../calls/task-judgment.ts";
import { toErrorRecord } from "../../errors/error-record.ts";
import { fitsTask } from "../../model/decisions/task.ts";
import { uuidV7 } from "../../model/ids.ts";
import type { Payload } from "../../model/payload.ts";
import type { NewTask, Task, TaskKey } from "../../model/task.ts";
import type { TaskResult } from "../../ports/store.ts";
import type { AnyTask, TaskFunction } from "../../replay/ops/task-options.ts";
import type { Lease } from "../lease/lease.ts";
import type { TaskPool } from "../pool/task-pool.ts";
import type { Pace } from "../worker/pace.ts";
import { AttemptResults } from "./attempt-results.ts";
import { Beats } from "./beats.ts";
import { checkedOutput } from "./checked-output.ts";
import { HeldTask, type HeldTaskOwner, taskKey } from "./held-task.ts";
import type { LocalRun, LocalTasks, TaskReservation } from "./local-tasks.ts";
import { reportAttempt } from "./report-attempt.ts";
import {
  canceledError,
  leftWorker,
  stoppedError,
  type TaskAttempt,
  type TaskAttemptHost,
  type TaskEnd,
} from "./task-attempt.ts";
import type { TaskClaimer } from "./task-claimer.ts";
import { TaskReports } from "./task-reports.ts";
import { TaskReservations } from "./task-reservations.ts";

/** How far a worker's idea of the store's time may be from it. */
const CLOCKS_APART_MS = 250;

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
  /** What the deaths of those processes mean. */
  readonly deaths: { readonly suspectAfter: number; readonly parkAfter: number };
  readonly storeTime: StoreTime;
  readonly lease: Lease;
  readonly pace: Pace;
  readonly claimer: () => TaskClaimer;
  /** The worker takes nothing new. */
  readonly draining: () => boolean;
  /** It keeps itself empty. */
  readonly exclusive: () => boolean;
  /** A limit of a task passes at this store time, and no worker watches over it. */
  readonly noteLimit: (storeAt: number) => void;
  /** A task has reported something new. */
  readonly onProgress: (task: TaskKey) => void;
  /** A task has left the worker. */
  readonly onLeft: (task: TaskKey) => void;
  /** An attempt has failed that somebody waits for. */
  readonly onFailed: (task: Task, result: TaskResult) => void;
}

export class TaskRunner implements LocalTasks, HeldTaskOwner {
  /** Of the tasks that it executes. */
  readonly names: readonly string[];
  readonly #params: TaskRunnerParams;
  readonly #byName: ReadonlyMap<string, AnyTask>;
  readonly #fit: Parameters<typeof fitsTask>[1];
  readonly #held = new Map<string, HeldTask>();
  readonly #attemptHost: TaskAttemptHost;
  readonly #beats: Beats;
  readonly #results: AttemptResults;
  readonly #reports: TaskReports;
  /** Under which tasks are held that runs of this process have scheduled. */
  readonly #claimId: string;
  readonly #reservations = new TaskReservations();
  /** How many of the held tasks need no slot. */
  #taken = 0;
  #stopped = true;
  #emptyWaiters: (() => void)[] = [];

  constructor(params: TaskRunnerParams) {
    const { clock, random, store, redact, codec, log, telemetry } = params.ports;
    this.#params = params;
    this.#attemptHost = { clock, codec, log, telemetry, redact };
    this.#byName = new Map(params.tasks.map((task) => [task.name, task]));
    this.names = [...this.#byName.keys()];
    this.#fit = { names: this.names, queues: params.queues, labels: params.labels };
    this.#claimId = uuidV7(clock.now(), random.bytes(16));
    const stopped = (): boolean => this.#stopped;
    this.#beats = new Beats({
      clock,
      random,
      store,
      stopped,
      onHeard: (attempt, { outcome, canceled }, progress) => {
        // The answer to an earlier attempt says nothing about this one.
        if (this.#held.get(taskKey(attempt.task))?.attempt !== attempt) return;
        if (outcome === "heard" && progress) params.onProgress(attempt.task);
        if (outcome === "lost" && canceled) this.takenBack(attempt.task);
        else if (outcome === "lost") this.lost(attempt.task);
        else if (canceled) this.cancel(attempt.task);
      },
    });
    this.#results = new AttemptResults({
      codec,
      deaths: params.deaths,
      onFailed: params.onFailed,
      judge: {
        record: (error, about) => toErrorRecord(error, redact ? { ...about, redact } : about),
        now: () => params.storeTime.now(),
        random: () => random.next(),
      },
      definition: (name) => this.#byName.get(name) as AnyTask,
    });
    const { storeTime, noteLimit } = params;
    this.#reports = new TaskReports({
      clock,
      random,
      store,
      stopped,
      log,
      storeTime,
      noteLimit,
      results: this.#results,
    });
  }

  get count(): number {
    return this.#held.size;
  }

  get allFree(): boolean {
    return this.#held.size === 0 && this.#reservations.count === 0;
  }

  get free(): number {
    const { draining, exclusive, concurrency, pool } = this.#params;
    if (draining() || exclusive()) return 0;
    const slots = concurrency - this.#held.size + this.#taken;
    return Math.min(slots, pool ? pool.free : slots) - this.#reservations.count;
  }

  /** Since when the oldest commit that may bring a task has been under way; undefined if there is none. */
  get reservedSince(): number | undefined {
    return this.#reservations.since;
  }

  start(): void {
    this.#stopped = false;
  }

  has(key: TaskKey): boolean {
    return this.#held.has(taskKey(key));
  }

  all(): readonly Task[] {
    return [...this.#held.values()].map(({ task }) => task);
  }

  untilEmpty(): Promise<void> {
    if (this.#held.size === 0) return Promise.resolve();
    return new Promise((resolve) => this.#emptyWaiters.push(resolve));
  }

  /** No commit that may bring a task is under way. */
  untilUnreserved(): Promise<void> {
    return this.#reservations.untilNone();
  }

  untilReported(): Promise<void> {
    return this.#reports.untilIdle();
  }

  /** Starts the attempt of a task that the store says we hold. */
  hold(task: Task, run?: LocalRun): void {
    const key = taskKey(task);
    const known = this.#held.get(key);
    if (known && known.task.epoch >= task.epoch) return;
    if (known) this.#drop(known);
    // The answer came too late: nothing may start here any more.
    if (!this.#params.lease.active() || this.#params.draining()) {
      run?.released(task);
      void this.#giveBack(task);
      return;
    }
    const held = new HeldTask(task, run, this.#attemptHost, this);
    this.#held.set(key, held);
    this.#begin(held);
  }

  async #giveBack(task: Task): Promise<void> {
    await this.#reports.giveBack(task);
    // The worker may have made room for this one alone.
    this.#params.onLeft(task);
  }

  /** The interceptor of steps also wraps tasks: mocks in tests. */
  #begin(held: HeldTask): void {
    const { attempt, task } = held;
    const { pool, ports } = this.#params;
    const { tasks } = ports;
    const fn = this.#definition(held).fn as TaskFunction<never, unknown>;
    if (pool) pool.run(attempt);
    else attempt.run(tasks ? (input, info) => tasks.around(task, input, info, () => fn(input, info)) : fn);
    if (task.canceled) attempt.abort(canceledError(task));
  }

  /** A slot for a task that is about to be created by a run of this process; undefined if it cannot start here now. */
  reserve(wanted: Pick<NewTask, "name" | "queue" | "requires">): TaskReservation | undefined {
    const { lease, claimer } = this.#params;
    const { workerId } = lease;
    if (workerId === "" || this.#stopped || !lease.active()) return undefined;
    // A new task must not overtake those that wait.
    if (claimer().hasBacklog || this.free <= claimer().keepsFree) return undefined;
    if (!fitsTask(wanted, this.#fit)) return undefined;
    return this.#reservations.add(workerId, this.#claimId, this.#params.ports.clock.monotonic(), this.#useReserved);
  }

  /** Without a task, the slot was not needed. */
  readonly #useReserved = ({ workerId }: TaskReservation, task?: Task, run?: LocalRun): void => {
    const { lease, claimer } = this.#params;
    if (!task) claimer().slotFreed();
    // It has registered under another id since: the store has returned the task.
    else if (lease.workerId === workerId && !this.#stopped) this.hold(task, run);
    else run?.released(task);
  };

  /** The run no longer wants the result: the function should stop, and what it says is reported. */
  cancel(key: TaskKey): void {
    const held = this.#held.get(taskKey(key));
    if (!held || held.canceled) return;
    held.canceled = true;
    held.attempt.abort(canceledError(held.task));
  }

  /** Something has happened to a held task: a beat tells what. */
  ask(key: TaskKey): void {
    const held = this.#held.get(taskKey(key));
    if (held && !held.attempt.over) void this.#beats.ask(held.attempt);
  }

  /** The store does not list that hold, which was here before it was asked. A report in flight may explain it. */
  lostIf(task: Task): void {
    const held = this.#held.get(taskKey(task));
    if (held?.task.epoch === task.epoch && !held.attempt.over) this.#drop(held);
  }

  /** The store says that this worker no longer holds the task. */
  lost(key: TaskKey): void {
    const held = this.#held.get(taskKey(key));
    if (held) this.#drop(held, this.#isOverdue(held.task) ? expiryError(held.task, "total_timeout") : undefined);
  }

  /** Its time was over, and not its worker's: only a sweep watches over that limit. */
  #isOverdue({ spec, createdAt }: Task): boolean {
    const endsAt = createdAt + (spec?.totalTimeoutMs ?? Number.POSITIVE_INFINITY);
    return this.#params.storeTime.now() + CLOCKS_APART_MS >= endsAt;
  }

  /** A run of this process has taken the task back. */
  takenBack(key: TaskKey): void {
    const held = this.#held.get(taskKey(key));
    if (held) this.#drop(held, canceledError(held.task));
  }

  /** The worker stops. What must not begin again, or is no longer wanted, ends here; the rest will be returned to the store. */
  leave(): void {
    for (const held of [...this.#held.values()]) {
      if ((held.task.failOnCrash || held.canceled) && !held.result) this.#failStopped(held);
      this.#drop(held);
    }
  }

  #failStopped(held: HeldTask): void {
    const error = stoppedError(this.#params.workerName, held.task);
    held.result = this.#results.failed(held, { ok: false, error, unknown: true }, true);
    void this.#finish(held, held.result);
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

  #drop(held: HeldTask, reason = leftWorker(this.#params.workerName)): void {
    held.attempt.discard(reason);
    this.#leave(held);
    held.run?.released(held.task);
  }

  #leave(held: HeldTask): void {
    const { task, attempt } = held;
    if (this.#held.get(held.key) !== held) return;
    this.#held.delete(held.key);
    this.#takeSlot(held);
    this.#beats.forget(attempt);
    if (this.#held.size === 0) for (const resolve of this.#emptyWaiters.splice(0)) resolve();
    this.#params.onLeft(task);
  }

  // Attempts ----------------------------------------------------------------------------------------------------------

  heard(attempt: TaskAttempt, details: Payload | null): Promise<void> {
    return this.#beats.beat(attempt, details);
  }

  ended(attempt: TaskAttempt, end: TaskEnd): void {
    const held = this.#held.get(taskKey(attempt.task));
    if (held?.attempt !== attempt) return;
    const { pool } = this.#params;
    // A process that still executes it would do so beside the next attempt.
    if (pool) pool.whenOver(attempt, () => this.#receive(held, end));
    else this.#receive(held, end);
  }

  #receive(held: HeldTask, end: TaskEnd): void {
    if (this.#held.get(held.key) !== held) return;
    const unchecked = "value" in end && !end.checked && this.#definition(held).outputSchema;
    if (unchecked) void this.#checkAndReport(held, end.value);
    else this.#report(held, end);
  }

  async #checkAndReport(held: HeldTask, value: unknown): Promise<void> {
    let end: TaskEnd;
    try {
      end = { ok: true, value: await checkedOutput(this.#definition(held), value) };
    } catch (error) {
      end = { ok: false, error };
      held.result = this.#results.failed(held, end, true);
    }
    if (this.#held.get(held.key) === held) this.#report(held, end);
  }

  #report(held: HeldTask, end: TaskEnd): void {
    const { task, attempt, run } = held;
    const result = held.result ?? this.#results.resultOf(held, end);
    held.result = result;
    const { pace, ports } = this.#params;
    reportAttempt({ pace, telemetry: ports.telemetry }, attempt, result, end);
    if (result.type === "completed" && run?.take(held, result.payload, attempt.ms)) return this.#freeSlot(held);
    run?.released(task);
    // The next attempt must see what this one has reported.
    void this.#finish(held, result, result.type === "completed" ? undefined : this.#beats.flush(attempt));
  }

  #definition({ task }: HeldTask): AnyTask {
    return this.#byName.get(task.name) as AnyTask;
  }

  settled(held: HeldTask): void {
    this.#leave(held);
  }

  handedBack(held: HeldTask): void {
    this.#takeSlot(held);
    if (held.result) void this.#finish(held, held.result);
  }

  #freeSlot(held: HeldTask): void {
    // Unless it has been handed back already.
    if (this.#held.get(held.key) !== held) return;
    held.taken = true;
    this.#taken += 1;
    this.#params.claimer().slotFreed();
  }

  #takeSlot(held: HeldTask): void {
    if (held.taken) this.#taken -= 1;
    held.taken = false;
  }

  async #finish(held: HeldTask, result: TaskResult, before?: Promise<void>): Promise<void> {
    await this.#reports.report(held, result, before);
    this.#leave(held);
  }
}
