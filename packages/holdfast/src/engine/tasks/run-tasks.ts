/**
 * The tasks of one live run: which tasks its next commit creates and deletes, which of them run in this process, and what
 * becomes of those that the code has given up. What history says about a task is in replay/ops/task.ts.
 *
 * Invariants
 *  T1. A scheduled task that has no outcome exists in the store, or its result is in the inbox. What a commit creates and
 *      deletes follows from its events alone, so that the two cannot differ.
 *  P6. A result names the event that it answers. If that is not the newest of its op, the result is dropped.
 */
import { DEFAULT_QUEUE } from "../../define/definitions.ts";
import type { EventDraft, EventMeta, HistoryEvent } from "../../model/event.ts";
import { EMPTY_PAYLOAD, type Payload } from "../../model/payload.ts";
import { appended, NONE } from "../../model/short-list.ts";
import type { NewTask, Task, TaskSpec } from "../../model/task.ts";
import type { Timer } from "../../ports/clock.ts";
import type { CommitOutcome, RunCommit, Transition } from "../../ports/store.ts";
import type { DrivenOp } from "../../replay/op.ts";
import { TaskWork } from "../../replay/ops/task-work.ts";
import type { ExecutorHost } from "../execute/executor-host.ts";
import type { HeldRun } from "../execute/held-run.ts";
import { attemptMeta, type QueuedDraft } from "../execute/message-draft.ts";
import { GivenUpTasks, type TaskOwner, type Written } from "./given-up-tasks.ts";
import type { LocalRun, LocalTask, TaskReservation } from "./local-tasks.ts";
import { rescheduleDue } from "./lost-tasks.ts";

/** What a commit does about tasks. */
export type CommitTasks = Required<Pick<RunCommit, "tasks" | "settled" | "dropTasks">>;

interface Scheduled {
  readonly task: NewTask;
  readonly work: TaskWork;
  readonly reservation: TaskReservation | undefined;
}

/** Longer lists are searched in a set. */
const FEW = 8;

const NONE_RUNNING = new Set<number>();
const NO_RESULTS = new Map<number, LocalTask>();
const NONE_RESERVED = new Map<number, TaskReservation>();

export class RunTasks implements LocalRun {
  readonly #host: ExecutorHost;
  readonly #run: TaskOwner;
  /** Created by the commit in flight. */
  #scheduling: readonly Scheduled[] = NONE;
  // Most runs have no tasks, and these stay empty: a shared one until something is put in.
  /** Tasks of this run that are executed in this process, by seq, and when the newest of them began. */
  #running: Set<number> = NONE_RUNNING;
  #newestStart = 0;
  /** Results that are not durable yet, by seq. */
  #results: Map<number, LocalTask> = NO_RESULTS;
  /** Slots for tasks that the next commit creates, by seq; all up to that one have been considered. */
  #reserved: Map<number, TaskReservation> = NONE_RESERVED;
  #reservedSeq = 0;
  /** Created when first needed. */
  #closing: GivenUpTasks | undefined;
  /** Must be scheduled again, but not yet. */
  lost: readonly DrivenOp[] = NONE;
  #holdTimer: Timer | undefined;
  #attended = false;

  constructor(host: ExecutorHost, run: TaskOwner) {
    this.#host = host;
    this.#run = run;
  }

  /** What the events of a commit mean for the tasks of the run. */
  gather(events: readonly HistoryEvent[], transition: Transition): CommitTasks {
    const { machine } = this.#run;
    const firstSeq = events[0]?.seq ?? 0;
    let created: readonly Scheduled[] = NONE;
    let settled: readonly number[] = NONE;
    for (const event of events) {
      // Until it has repeated what is put back, a machine does not know all of it.
      const work = machine.replaying ? recordedTask(machine.recorded, event.op, event.seq) : machine.task(event.op);
      if (!work) continue;
      const makes = event.type === "task_scheduled" || event.type === "op_rescheduled";
      if (makes && !work.lost && !machine.isEdited(event.op))
        created = appended(created, this.#scheduled(work, event.seq, event.op as string));
      const seq = settledBy(event, work);
      if (seq === undefined) continue;
      if (seq < firstSeq) settled = appended(settled, seq);
      else created = withoutTask(created, seq);
    }
    const ends = transition.type === "end" || transition.type === "continue";
    if (ends) for (const { reservation } of created) reservation?.cancel();
    this.#scheduling = ends ? NONE : created;
    const tasks = this.#scheduling.length === 0 ? NONE : this.#scheduling.map(({ task }) => task);
    if (tasks.length > 0) this.#noteLimits(tasks);
    return { tasks, settled, dropTasks: ends };
  }

  #scheduled(work: TaskWork, seq: number, op: string): Scheduled {
    const { spec, inputSeq } = work;
    const { name, queue, requires } = placeOf(spec);
    const reservation = this.#reserved.get(seq);
    this.#reserved.delete(seq);
    const task: NewTask = {
      seq,
      inputSeq,
      op,
      name,
      queue,
      requires,
      priority: spec.priority ?? this.#run.run.priority,
      external: spec.external ?? false,
      failOnCrash: spec.onCrash === "fail",
      secret: hex(this.#host.random.bytes(16)),
      timeoutMs: spec.timeoutMs ?? null,
      startTimeoutMs: spec.startTimeoutMs ?? null,
      totalTimeoutMs: spec.totalTimeoutMs ?? null,
      heartbeatMs: spec.heartbeatMs ?? null,
      holdBy: reservation ? { workerId: reservation.workerId, claimId: reservation.claimId } : null,
      ...(spec.key === undefined ? {} : { key: spec.key }),
    };
    return { task, work, reservation };
  }

  /** The limits that nobody but a sweep watches over: those of tasks that no worker of this process holds. */
  #noteLimits(tasks: readonly NewTask[]): void {
    const now = this.#host.storeTime.now();
    for (const { external, timeoutMs, heartbeatMs, startTimeoutMs, totalTimeoutMs } of tasks) {
      const limits = external ? [timeoutMs, heartbeatMs, totalTimeoutMs] : [startTimeoutMs, totalTimeoutMs];
      for (const ms of limits) if (ms !== null) this.#host.noteTaskLimit(now + ms);
    }
  }

  /** The commit was written: its tasks exist, and local ones start. */
  written({ settled = NONE, dropTasks = false }: RunCommit, { tasksHeld = NONE }: CommitOutcome): void {
    const scheduling = this.#scheduling;
    this.#scheduling = NONE;
    for (const seq of settled) this.#settled(seq);
    for (const seq of dropTasks ? [...this.#running, ...this.#results.keys()] : NONE) this.#settled(seq);
    const held = tasksHeld.length > FEW ? new Set(tasksHeld) : undefined;
    for (const { task, work, reservation } of scheduling) {
      if (!reservation) continue;
      if (!(held?.has(task.seq) ?? tasksHeld.includes(task.seq))) {
        reservation.cancel();
        continue;
      }
      if (this.#running === NONE_RUNNING) this.#running = new Set();
      this.#running.add(task.seq);
      this.#newestStart = this.#host.clock.monotonic();
      reservation.start(this.#heldTask(task, work), this);
    }
  }

  #settled(seq: number): void {
    const result = this.#results.get(seq);
    this.#results.delete(seq);
    this.#closing?.forget(seq);
    // One without a result was taken back: it must stop.
    if (result) result.settled();
    else if (this.#running.has(seq)) this.#host.localTasks?.takenBack({ runId: this.#run.runId, seq });
    this.#running.delete(seq);
  }

  /** Nothing of the commit was written. */
  unwritten(): void {
    for (const { reservation } of this.#scheduling) reservation?.cancel();
    this.#scheduling = NONE;
  }

  /** As a claim would have returned it. */
  #heldTask(task: NewTask, { spec, recordedInput }: TaskWork): Task {
    const { namespace, runId } = this.#run.run;
    const { seq, inputSeq, op, name, queue, requires, priority, secret, failOnCrash, holdBy } = task;
    return {
      namespace,
      runId,
      seq,
      inputSeq,
      op,
      name,
      queue,
      requires,
      priority,
      secret,
      failOnCrash,
      status: "held",
      epoch: 1,
      attempt: 1,
      heldBy: holdBy?.workerId ?? null,
      claimId: holdBy?.claimId ?? null,
      availableAt: null,
      expiresAt: null,
      expires: null,
      canceled: false,
      deaths: 0,
      aloneDeaths: 0,
      alone: false,
      suspect: false,
      createdAt: this.#host.storeTime.now(),
      details: null,
      failures: [],
      input: recordedInput,
      spec,
    };
  }

  #givenUp(): GivenUpTasks {
    this.#closing ??= new GivenUpTasks(this.#host, this.#run);
    return this.#closing;
  }

  // Results -----------------------------------------------------------------------------------------------------------

  take(local: LocalTask, payload: Payload, ms: number): boolean {
    const { seq, op, attempt } = local.task;
    if (!this.#run.here || this.#run.machine.task(op)?.seq !== seq) return false;
    if (this.#results === NO_RESULTS) this.#results = new Map();
    this.#results.set(seq, local);
    const meta = attemptMeta(attempt, ms);
    const type = "task_completed";
    this.#run.push(
      withMeta(payload.length === 0 ? { type, op, taskSeq: seq } : { type, op, taskSeq: seq, payload }, meta),
    );
    return true;
  }

  released({ seq }: Task): void {
    if (this.#running.delete(seq)) this.#run.poke();
  }

  /** The code does not wait for this result; the store must not keep the task. */
  refuse(seq: number): void {
    this.#results.get(seq)?.handBack();
    this.#results.delete(seq);
    this.#running.delete(seq);
  }

  /** The run is no longer here: results that are not durable go to the store by themselves. To clear an empty map allocates another one. */
  leave(): void {
    this.unwritten();
    this.#releaseReserved();
    this.#holdTimer?.cancel();
    this.#holdTimer = undefined;
    for (const local of this.#results.values()) local.handBack();
    if (this.#results.size > 0) this.#results.clear();
    if (this.#running.size > 0) this.#running.clear();
    this.#closing?.clear();
    this.lost = NONE;
    this.#attended = false;
  }

  /** Tasks that are about to be created get a slot in this process, if there is one. */
  #reserve(): void {
    const { machine } = this.#run;
    if (!machine.hasTasks) return;
    for (const { type, op, seq } of machine.fresh) {
      if (seq <= this.#reservedSeq || (type !== "task_scheduled" && type !== "op_rescheduled")) continue;
      this.#reservedSeq = seq;
      const spec = machine.op(op)?.task?.spec;
      const reservation = spec && !spec.external ? this.#host.localTasks?.reserve(placeOf(spec)) : undefined;
      if (!reservation) continue;
      if (this.#reserved === NONE_RESERVED) this.#reserved = new Map();
      this.#reserved.set(seq, reservation);
    }
  }

  #releaseReserved(): void {
    for (const reservation of this.#reserved.values()) reservation.cancel();
    if (this.#reserved.size > 0) this.#reserved.clear();
    this.#reservedSeq = 0;
  }

  /** Whether the run should stay here, because a task of its own may end at any moment. */
  holding(): boolean {
    this.#reserve();
    // The answer may be all that the run waits for.
    if (this.#results.size > 0 || this.#closing?.asking || this.#reserved.size > 0) return true;
    const { clock, holdMs } = this.#host;
    if (this.#running.size === 0 || this.#host.draining()) return false;
    const leftMs = this.#newestStart + holdMs - clock.monotonic();
    if (leftMs <= 0) return false;
    // One that rings for an earlier task leads here again.
    this.#holdTimer ??= clock.setTimer(leftMs, () => {
      this.#holdTimer = undefined;
      this.#run.poke();
    });
    return true;
  }

  // What the code has given up ------------------------------------------------------------------------------------------

  /**
   * Tasks that no longer exist because the run was retried are scheduled again when they are due. Once after each claim, and once
   * after turns were taken back, the store is asked about those whose outcome must still be learned.
   */
  attend(written: Written): void {
    const { machine } = this.#run;
    this.#closing?.born(written);
    if (!machine.hasTasks || (this.#attended && this.lost.length === 0)) return;
    const ops = this.#attended ? this.lost : machine.pendingOps();
    this.#attended = true;
    this.lost = rescheduleDue(ops, machine, this.#host.storeTime.now());
    const closing = ops.filter(({ task }) => task?.closing);
    if (closing.length > 0) this.#givenUp().close(closing, written);
  }

  /** Whether the outcome of a task must be learned before the run is tried again: until then nobody knows what is left to do. */
  get learning(): boolean {
    const { machine } = this.#run;
    const canceled = machine.outcome?.type === "retried" && machine.outcome.canceled;
    return machine.hasTasks && !canceled && machine.pendingOps().some(({ task }) => task?.closing);
  }

  /** The code's last turns are taken back. */
  rebase(): void {
    this.#attended = false;
    this.lost = NONE;
    this.#closing?.clear();
    this.#releaseReserved();
  }

  /** The code has stopped waiting for these; the outcome of those that are closing must still be recorded. */
  stop(withdrawn: readonly DrivenOp[], closing: readonly DrivenOp[], written: Written): void {
    if (!this.#run.machine.hasTasks) return;
    this.#closing?.born(written);
    this.#withdraw(withdrawn);
    if (closing.length > 0) this.#givenUp().close(closing, written);
  }

  /** The next commit deletes them. */
  #withdraw(ops: readonly DrivenOp[]): void {
    const { machine } = this.#run;
    // With its end a run loses all of its tasks; when it is tried again, only those that its code had given up.
    if (machine.outcome && machine.outcome.type !== "retried") return;
    const now = this.#host.storeTime.now();
    for (const { id, task } of ops)
      if (task && !wasCanceled(machine.recorded, id, task)) machine.noteRun({ type: "op_canceled", op: id }, now);
  }
}

/** Where a task waits, and who can do it. */
function placeOf({
  name,
  queue = DEFAULT_QUEUE,
  requires = NONE,
}: TaskSpec): Pick<NewTask, "name" | "queue" | "requires"> {
  return { name, queue, requires };
}

/** The task of the op as history has it up to that event. */
function recordedTask(recorded: readonly HistoryEvent[], op: string | null, seq: number): TaskWork | undefined {
  let work: TaskWork | undefined;
  for (const event of recorded) {
    if (event.op !== op || event.seq > seq) continue;
    const { type, meta, payload = EMPTY_PAYLOAD } = event;
    if (type === "task_scheduled" && meta?.task) {
      work = new TaskWork(meta.task, () => payload);
      work.scheduled(event);
    } else if (type === "op_rescheduled") work?.rescheduled(event.seq);
  }
  return work;
}

/** Whether history says that it was taken back. */
function wasCanceled(recorded: readonly HistoryEvent[], op: string, { seq }: TaskWork): boolean {
  return recorded.some((event) => event.type === "op_canceled" && event.op === op && event.seq > seq);
}

function withMeta(draft: QueuedDraft, meta: EventMeta | undefined): QueuedDraft {
  return meta === undefined ? draft : { ...draft, meta };
}

/** Which task goes with this event, if any. */
function settledBy({ type, meta }: HistoryEvent, { seq, formerSeq }: TaskWork): number | undefined {
  if (type === "op_rescheduled") return formerSeq;
  const ends = type === "task_completed" || type === "op_canceled" || (type === "task_failed" && meta?.withdrawn);
  return ends ? seq : undefined;
}

/** A task that was scheduled and given up in the same commit is never created. */
function withoutTask(created: readonly Scheduled[], seq: number): readonly Scheduled[] {
  for (const { task, reservation } of created) if (task.seq === seq) reservation?.cancel();
  return created.filter(({ task }) => task.seq !== seq);
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

function hex(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += HEX[byte];
  return text;
}

/** A result is dropped unless its op still waits for it (P6). */
export function isUnwanted({ op, taskSeq }: QueuedDraft, machine: HeldRun["machine"]): boolean {
  return taskSeq !== undefined && machine.op(op)?.task?.seq !== taskSeq;
}

/** A failure of a task, or of a child, that the run has given up says so. */
export function withWithdrawn(draft: EventDraft, machine: HeldRun["machine"]): EventDraft {
  if (draft.type !== "task_failed" && draft.type !== "child_failed") return draft;
  const op = machine.op(draft.op);
  if (!op?.task?.closing && !op?.child?.closing) return draft;
  return { ...draft, meta: { ...draft.meta, withdrawn: true } };
}
