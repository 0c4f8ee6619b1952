/** Follows every task in the store: what each call did to it, and whether what a run waits for is accounted for. */
import type { MemoryState } from "../../packages/holdfast/src/memory/state.ts";
import type { TaskRecord } from "../../packages/holdfast/src/memory/tasks/task-record.ts";
import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import { readTaskMessageId } from "../../packages/holdfast/src/model/ids.ts";
import { isTaskResult } from "../../packages/holdfast/src/model/message.ts";
import type { Payload } from "../../packages/holdfast/src/model/payload.ts";
import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type {
  ClaimTasksParams,
  CommitRunsParams,
  FinishTask,
  FinishTasksParams,
} from "../../packages/holdfast/src/ports/store.ts";
import type { StoreMethod } from "../../packages/holdfast/src/ports/store-calls.ts";
import type { TaskAccount, TaskChange, TaskSnapshot } from "../task-evidence.ts";
import type { Trace } from "../trace.ts";

export class TaskWatch {
  readonly changes: TaskChange[] = [];
  /** Tasks that were not exactly in one place. */
  readonly accounts: TaskAccount[] = [];
  readonly #state: MemoryState;
  readonly #trace: Trace;
  #known = new Map<string, TaskRecord>();
  /** By run, seq and epoch. */
  readonly #holds = new Map<string, TaskSnapshot>();
  readonly #details = new Map<string, (Payload | null)[]>();
  readonly #ends = new Map<string, FinishTask>();
  /** Tasks whose result was put into the inbox. */
  readonly #delivered = new Set<string>();

  constructor(state: MemoryState, trace: Trace) {
    this.#state = state;
    this.#trace = trace;
  }

  /** The task as it was when a worker took it under that epoch. */
  holdOf(runId: string, seq: number, epoch: number): TaskSnapshot | undefined {
    return this.#holds.get(`${runId}/${seq}/${epoch}`);
  }

  /** Its details since then: whoever has its token may report before the worker begins. */
  detailsOf(runId: string, seq: number, epoch: number): readonly (Payload | null)[] {
    return this.#details.get(`${runId}/${seq}/${epoch}`) ?? [];
  }

  /** The report that ended that attempt. */
  endOf(runId: string, seq: number, epoch: number): FinishTask | undefined {
    return this.#ends.get(`${runId}/${seq}/${epoch}`);
  }

  /** Notes what a call has just done. */
  note(at: number, storeAt: number, who: string, method: StoreMethod, params: unknown): void {
    const { tasks } = this.#state;
    const concerned = new Set<string>();
    if (method === "runs.commit") for (const { runId } of (params as CommitRunsParams).commits) concerned.add(runId);
    if (tasks.size === 0 && this.#known.size === 0) return this.#accountFor(at, concerned);
    for (const [key, now] of tasks) {
      const before = this.#known.get(key);
      if (before && isSame(before, now)) continue;
      this.#known.set(key, { ...now });
      this.#changed(at, storeAt, who, method, params, before, now);
      concerned.add(now.runId);
    }
    for (const [key, before] of this.#known) {
      if (tasks.has(key)) continue;
      this.#known.delete(key);
      this.#changed(at, storeAt, who, method, params, before, undefined);
      concerned.add(before.runId);
    }
    this.#accountFor(at, concerned);
  }

  #changed(
    at: number,
    storeAt: number,
    who: string,
    method: StoreMethod,
    params: unknown,
    was: TaskRecord | undefined,
    is: TaskRecord | undefined,
  ): void {
    const { runId, seq, op } = (is ?? was) as TaskRecord;
    const before = was && snapshot(was);
    const after = is && snapshot(is);
    const finishes =
      method === "tasks.finish"
        ? (params as FinishTasksParams).finishes.filter((finish) => finish.runId === runId && finish.seq === seq)
        : [];
    const run = this.#state.runs.get(runId);
    this.changes.push({
      at,
      storeAt,
      method,
      runId,
      seq,
      op,
      before,
      after,
      finishes,
      claim: method === "tasks.claim" ? (params as ClaimTasksParams) : undefined,
      ended: before === undefined ? false : this.#hasResult(runId, op, seq),
      holderLeft: before?.heldBy ? this.#state.workers.get(before.heldBy)?.status === "offline" : false,
      runClosed: run === undefined || isClosed(run.status),
      scheduledBy: this.#state.events.get(runId)?.[seq - 1]?.type,
    });
    if (after?.heldBy) this.#held(`${runId}/${seq}/${after.epoch}`, before, after);
    const [end] = finishes.filter(({ epoch }) => epoch === before?.epoch);
    if (end && before && before.epoch !== after?.epoch) this.#ends.set(`${runId}/${seq}/${before.epoch}`, end);
    const over = after === undefined || after.status === "dead";
    if (over && finishes.length > 0 && this.#unread(runId, seq) > 0) this.#delivered.add(`${runId}/${seq}`);
    const how = end ? ` ${end.result.type} by ${end.by.type}` : "";
    this.#trace.add(at, who, runId, `${method}${how}: ${op} (${seq}) ${describe(before)} -> ${describe(after)}`);
  }

  #held(key: string, before: TaskSnapshot | undefined, after: TaskSnapshot): void {
    if (before?.epoch !== after.epoch || before.heldBy === null) this.#holds.set(key, after);
    this.#details.set(key, [...(this.#details.get(key) ?? []), after.details]);
  }

  #hasResult(runId: string, op: string, seq: number): boolean {
    const events = this.#state.events.get(runId) ?? [];
    const recorded = events.some((event) => event.op === op && event.seq > seq && isEnd(event));
    return recorded || this.#unread(runId, seq) > 0;
  }

  #unread(runId: string, seq: number): number {
    const consumed = this.#state.runs.get(runId)?.consumed ?? 0;
    return (this.#state.inbox.get(runId) ?? []).filter(
      ({ kind, number, messageId }) =>
        isTaskResult(kind) && number > consumed && readTaskMessageId(messageId).seq === seq,
    ).length;
  }

  /** Every task that an open run waits for is in exactly one place, and a closed run has none. */
  #accountFor(at: number, runIds: ReadonlySet<string>): void {
    for (const runId of runIds) {
      const run = this.#state.runs.get(runId);
      const live = [...this.#known.values()].filter((task) => task.runId === runId && task.status !== "dead");
      if (!run || isClosed(run.status)) {
        for (const { op, seq } of live) this.accounts.push({ at, runId, op, seq, closed: true, live: 1, unread: 0 });
        continue;
      }
      const pending = pendingTasks(this.#state.events.get(runId) ?? []);
      for (const [op, seq] of pending) {
        const rows = live.filter((task) => task.seq === seq).length;
        const unread = this.#unread(runId, seq);
        // A result that came when the code no longer waited for it is consumed without an event.
        if (rows + unread === 0 && this.#delivered.has(`${runId}/${seq}`)) continue;
        if (rows + unread !== 1) this.accounts.push({ at, runId, op, seq, closed: false, live: rows, unread });
      }
      for (const { op, seq } of live)
        if (pending.get(op) !== seq)
          this.accounts.push({ at, runId, op, seq, closed: false, live: 1, unread: 0, unasked: true });
    }
  }
}

/** The tasks that a run waits for, by op, with the event that made each exist. */
function pendingTasks(events: readonly HistoryEvent[]): ReadonlyMap<string, number> {
  const pending = new Map<string, number>();
  const tasks = new Set<string | null>();
  for (const { type, op, seq, meta } of events) {
    if (type === "task_scheduled") tasks.add(op);
    if (type === "op_rescheduled" && !tasks.has(op)) continue; // a child, or a lock
    if (meta?.later) continue; // it is scheduled when the run has regained its locks
    if (type === "task_scheduled" || type === "op_rescheduled") pending.set(op as string, seq);
    else if (type === "task_completed" || type === "task_failed" || type === "op_canceled")
      pending.delete(op as string);
    // After its end a run has no tasks: they are scheduled again when it goes on.
    else if (type === "run_retried" && meta?.attempt === undefined) pending.clear();
  }
  return pending;
}

function isEnd({ type }: HistoryEvent): boolean {
  return type === "task_completed" || type === "task_failed";
}

function isSame(a: TaskRecord, b: TaskRecord): boolean {
  return (
    a.epoch === b.epoch &&
    a.status === b.status &&
    a.heldBy === b.heldBy &&
    a.attempt === b.attempt &&
    a.canceled === b.canceled &&
    a.deaths === b.deaths &&
    a.details === b.details &&
    a.expiresAt === b.expiresAt &&
    a.availableAt === b.availableAt
  );
}

function snapshot(task: TaskRecord): TaskSnapshot {
  const { epoch, status, heldBy, attempt, secret, availableAt, expiresAt, expires, deaths, canceled, alone } = task;
  const { failures, details, name, queue, requires, inLine } = task;
  const about = { epoch, status, heldBy, attempt, secret, availableAt, expiresAt, expires, deaths, canceled, alone };
  return { ...about, failures: failures.length, details, name, queue, requires, inLine };
}

function describe(task: TaskSnapshot | undefined): string {
  if (!task) return "nothing";
  const { epoch, status, attempt, heldBy, canceled } = task;
  return `${status} ${epoch}/${attempt}${heldBy ? ` by ${heldBy.slice(-6)}` : ""}${canceled ? " canceled" : ""}`;
}
