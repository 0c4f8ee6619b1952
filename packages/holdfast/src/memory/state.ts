import type { Lineage } from "../model/child.ts";
import type { AtArrival } from "../model/decisions/arrival.ts";
import { deadlineFrom, dueTime, firstDueTime, isDue } from "../model/decisions/due-time.ts";
import { creationTime, startTime } from "../model/decisions/start.ts";
import type { HistoryEvent } from "../model/event.ts";
import type { Message, ReplyAddress } from "../model/message.ts";
import type { RateRow } from "../model/rates.ts";
import type { RetentionRules } from "../model/retention.ts";
import { isClosed, type NewRun, type Run, type RunRow } from "../model/run.ts";
import type { Schedule, ScheduleDecision } from "../model/schedule.ts";
import type { VersionRow } from "../model/version-row.ts";
import type { WorkerLogRow, WorkerRow } from "../model/worker-row.ts";
import type { Hint } from "../ports/notifier.ts";
import type { AskAnswer, Departure, Leader, NewAsk, NewReply, RunRef, RunSegments, WorkerRef } from "../ports/store.ts";
import type { ChildRecord, DebtRecord, Watch } from "./debts/debt-record.ts";
import type { LockRecord } from "./locks/lock-record.ts";
import type { InQueue, LimitedQueue } from "./queues/queue-record.ts";
import type { TaskRecord } from "./tasks/task-record.ts";

/** A run as the memory store keeps it: row and data in one. */
export type RunRecord = { -readonly [K in keyof Run]: Run[K] };
export type VersionState = { -readonly [K in keyof VersionRow]: VersionRow[K] };
export type WorkerState = { -readonly [K in keyof WorkerRow]: WorkerRow[K] } & {
  /** When the last of its heartbeats was kept, or it registered. */
  loggedAt: number;
  /** The number of the counts that were added last. */
  ratesNo: number;
};
export type RateRecord = { -readonly [K in keyof RateRow]: RateRow[K] } & { readonly namespace: string };

/** An update in the inbox of a run. */
export interface UpdateRecord {
  readonly runId: string;
  readonly number: number;
  readonly name: string;
  /** Undefined also once that op was told what has become of it. */
  replyTo: ReplyAddress | undefined;
  reply: NewReply | undefined;
}

export interface AskRecord extends NewAsk {
  readonly goneAt: number;
  openAt: number;
  answer: AskAnswer | null;
}

/** A schedule; its open run is looked up. */
export interface ScheduleRecord extends Omit<Schedule, "open"> {
  readonly decisions: readonly ScheduleDecision[];
}

export type ArrivalNote = NonNullable<AtArrival["noted"]>;

export interface Debounced {
  readonly runId: string;
  call: string;
}

/** Everything the memory store knows. Each transition is a synchronous function over it, and therefore atomic. */
export interface MemoryState {
  readonly runs: Map<string, RunRecord>;
  /** Their numbers, in the order in which they came. */
  readonly runNumbers: Map<string, number>;
  newestRun: number;
  /** namespace + id → runIds, oldest first. */
  readonly byId: Map<string, string[]>;
  readonly events: Map<string, HistoryEvent[]>;
  /** Of runs that have or had any. */
  readonly segments: Map<string, RunSegments>;
  readonly inbox: Map<string, Message[]>;
  /** Message ids ever delivered to a chain of runs, by its first runId. */
  readonly messageIds: Map<string, Set<string>>;
  /** The updates of each chain of runs that has any, by message id; of those that were handed on, the newest. */
  readonly updates: Map<string, Map<string, UpdateRecord>>;
  readonly asks: Map<string, AskRecord>;
  readonly workers: Map<string, WorkerState>;
  /** By run id and seq. */
  readonly tasks: Map<string, TaskRecord>;
  /** The keys of the tasks of each run that has any. */
  readonly tasksOf: Map<string, Set<string>>;
  /** Tasks with a due time. */
  readonly dueTasks: Set<string>;
  readonly heldTasks: Map<string, Set<string>>;
  /** By namespace, workflow and version. */
  readonly versions: Map<string, VersionState>;
  /** Runs with a due time, so that a claim does not scan every run. */
  readonly queued: Set<string>;
  readonly held: Map<string, Set<string>>;
  /** Open runs with a deadline. */
  readonly deadlines: Set<string>;
  /** Open runs that code has parked since they last made progress. */
  readonly parkedBy: Map<string, string>;
  /** The children of each run that has any, and the starts that it does not want any more, by the first run id of the child. */
  readonly children: Map<string, Map<string, ChildRecord>>;
  /** Who watches a chain of runs, by its first run id. */
  readonly watches: Map<string, Watch[]>;
  readonly debts: Map<number, DebtRecord>;
  /** What each run owes that owes something. */
  readonly debtsOf: Map<string, Set<number>>;
  newestDebt: number;
  /** Requests for locks, in the order in which they were made. */
  readonly locks: Map<number, LockRecord>;
  /** Those of each run that has any. */
  readonly locksOf: Map<string, Set<number>>;
  newestLock: number;
  newestFence: number;
  /** The names of the queues of each namespace that have ever had runs or tasks. */
  readonly queues: Map<string, Set<string>>;
  /** By namespace and name: of queues whose limits were ever set. */
  readonly queueRevisions: Map<string, string>;
  /** Queues with limits, by kind, namespace and name. */
  readonly limited: Map<string, LimitedQueue>;
  /** What waits for a place in one of them, and what has one, by run id and seq. */
  readonly inLine: Map<string, InQueue>;
  readonly places: Map<string, InQueue>;
  /** The last run that was started or changed for each namespace, workflow and key, and by which call. */
  readonly debounces: Map<string, Debounced>;
  /** Whom each namespace has let in. */
  readonly allows: Map<string, Set<string>>;
  /** By namespace and id. */
  readonly schedules: Map<string, ScheduleRecord>;
  /** By namespace; none is empty. */
  readonly retention: Map<string, RetentionRules>;
  /** By run id: runs that have left, and are not known to have arrived. */
  readonly departures: Map<string, Departure & { readonly departureId: string }>;
  storeId: string | undefined;
  /** By run id: what became of the last arrival of an open run. */
  readonly arrivals: Map<string, ArrivalNote>;
  leader: Leader | null;
  readonly workerLog: WorkerLogRow[];
  newestLogEntry: number;
  /** By namespace, workflow and time. */
  readonly rates: Map<string, RateRecord>;
  /** Hints of the call in progress; published once it has taken effect. */
  hints: Hint[];
}

export function emptyState(): MemoryState {
  return {
    runs: new Map(),
    runNumbers: new Map(),
    newestRun: 0,
    byId: new Map(),
    events: new Map(),
    segments: new Map(),
    inbox: new Map(),
    messageIds: new Map(),
    updates: new Map(),
    asks: new Map(),
    workers: new Map(),
    tasks: new Map(),
    tasksOf: new Map(),
    dueTasks: new Set(),
    heldTasks: new Map(),
    versions: new Map(),
    queued: new Set(),
    held: new Map(),
    deadlines: new Set(),
    parkedBy: new Map(),
    children: new Map(),
    watches: new Map(),
    debts: new Map(),
    debtsOf: new Map(),
    newestDebt: 0,
    locks: new Map(),
    locksOf: new Map(),
    newestLock: 0,
    newestFence: 0,
    queues: new Map(),
    queueRevisions: new Map(),
    limited: new Map(),
    inLine: new Map(),
    places: new Map(),
    debounces: new Map(),
    allows: new Map(),
    schedules: new Map(),
    retention: new Map(),
    departures: new Map(),
    storeId: undefined,
    arrivals: new Map(),
    leader: null,
    workerLog: [],
    newestLogEntry: 0,
    rates: new Map(),
    hints: [],
  };
}

export function idKey(namespace: string, id: string): string {
  return `${namespace}\n${id}`;
}

/** The run of that id, if it is of that namespace. */
export function runIn(state: MemoryState, namespace: string, runId: string): RunRecord | undefined {
  const row = state.runs.get(runId);
  return row?.namespace === namespace ? row : undefined;
}

/** The worker of that id, if it is of that namespace. */
export function workerIn(state: MemoryState, { namespace, workerId }: WorkerRef): WorkerState | undefined {
  const worker = state.workers.get(workerId);
  return worker?.namespace === namespace ? worker : undefined;
}

export function findRun(state: MemoryState, ref: RunRef): RunRecord | undefined {
  if ("runId" in ref) return runIn(state, ref.namespace, ref.runId) ?? newestOfChain(state, ref);
  const newest = state.byId.get(idKey(ref.namespace, ref.id))?.at(-1);
  return newest === undefined ? undefined : state.runs.get(newest);
}

/** For a run id that no run has: the run may have been purged, and others have continued it. */
function newestOfChain(state: MemoryState, ref: { namespace: string; runId: string }): RunRecord | undefined {
  for (const { namespace, firstRunId, id } of state.runs.values()) {
    if (firstRunId !== ref.runId || namespace !== ref.namespace) continue;
    const runs = (state.byId.get(idKey(namespace, id)) ?? []).map((runId) => state.runs.get(runId));
    return runs.findLast((run) => run?.firstRunId === firstRunId);
  }
  return undefined;
}

/** `lineage`: that of a run which another one has started. A continuation inherits its own. */
export function insertRun(
  state: MemoryState,
  run: NewRun,
  now: number,
  from: RunRecord | null,
  lineage: Lineage | undefined = from?.lineage,
): RunRecord {
  const previous = findRun(state, { namespace: run.namespace, id: run.id });
  const createdAt = creationTime(now, previous);
  const row: RunRecord = {
    namespace: run.namespace,
    runId: run.runId,
    id: run.id,
    firstRunId: from?.firstRunId ?? run.runId,
    workflow: run.workflow,
    version: run.version,
    queue: run.queue,
    priority: run.priority,
    seed: run.seed,
    status: "pending",
    epoch: 0,
    commit: 0,
    heldBy: null,
    claimId: null,
    availableAt: null,
    eventCount: 0,
    delivered: 0,
    consumed: 0,
    deaths: 0,
    aloneDeaths: 0,
    alone: false,
    suspect: false,
    createdAt,
    startedAt: null,
    endedAt: null,
    deadlineAt: deadlineFrom(createdAt, run.timeoutMs),
    timeoutMs: run.timeoutMs ?? null,
    attributes: run.attributes,
    waitingFor: [],
    input: run.input,
    output: null,
    error: null,
    compensation: null,
    continuedFrom: from?.runId ?? null,
    continuedAs: null,
    ...(lineage ? { lineage } : {}),
    ...(run.key === undefined ? {} : { key: run.key }),
  };
  keepRun(state, row);
  noteQueue(state, row);
  if (row.deadlineAt !== null) state.deadlines.add(row.runId);
  addTo(state.byId, idKey(row.namespace, row.id), row.runId);
  setAvailable(state, row, firstDueTime(run, row.deadlineAt, now), now);
  // The holder of a run knows when it is due again; for a new run that begins later, no worker does.
  const at = row.availableAt as number;
  if (!isDue(at, now)) state.hints.push({ type: "due", namespace: row.namespace, queue: row.queue, at });
  return row;
}

/** A run that is new to this store. */
export function keepRun(state: MemoryState, row: RunRecord): void {
  state.runs.set(row.runId, row);
  state.runNumbers.set(row.runId, ++state.newestRun);
}

export function noteQueue({ queues }: MemoryState, { namespace, queue }: { namespace: string; queue: string }): void {
  const known = queues.get(namespace);
  if (known) known.add(queue);
  else queues.set(namespace, new Set([queue]));
}

/** Sets the due time (a later one not after the deadline), keeps the queue in step, and announces a run that is due now. */
export function setAvailable(state: MemoryState, row: RunRecord, dueAt: number | null, now: number): void {
  const availableAt = dueTime(dueAt, row.deadlineAt, now);
  row.availableAt = availableAt;
  if (availableAt === null) {
    state.queued.delete(row.runId);
    return;
  }
  state.queued.add(row.runId);
  if (isDue(availableAt, now)) state.hints.push({ type: "due", namespace: row.namespace, queue: row.queue });
}

export function hold(state: MemoryState, row: RunRecord, workerId: string, claimId: string, now: number): void {
  row.epoch += 1;
  row.heldBy = workerId;
  row.claimId = claimId;
  row.startedAt ??= startTime(now, row.createdAt);
  if (row.status !== "compensating") row.status = "running";
  row.waitingFor = [];
  row.availableAt = null;
  state.queued.delete(row.runId);
  const runIds = state.held.get(workerId);
  if (runIds) runIds.add(row.runId);
  else state.held.set(workerId, new Set([row.runId]));
}

export function letGo(state: MemoryState, row: RunRecord): void {
  if (row.heldBy !== null) state.held.get(row.heldBy)?.delete(row.runId);
  row.heldBy = null;
  row.claimId = null;
  row.alone = false;
}

/** Epoch + 1, so that the former holder is fenced off at its next write. */
export function giveBack(state: MemoryState, row: RunRecord, now: number): void {
  row.epoch += 1;
  letGo(state, row);
  setAvailable(state, row, now, now);
}

/** 0 if there is none. */
export function lastEventAt(state: MemoryState, runId: string): number {
  return state.events.get(runId)?.at(-1)?.at ?? 0;
}

export function addTo<T>(lists: Map<string, T[]>, key: string, item: T): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

/** The row without the payloads. */
export function leanRow(run: RunRecord): RunRow {
  const { input: _input, output: _output, error: _error, ...row } = run;
  return row;
}

export function openRun(state: MemoryState, namespace: string, runId: string): RunRecord | undefined {
  const row = runIn(state, namespace, runId);
  return row && !isClosed(row.status) ? row : undefined;
}

/** Not offline. An expired lease counts only once a sweep has noticed it. */
export function isLive(state: MemoryState, ref: WorkerRef): boolean {
  const worker = workerIn(state, ref);
  return worker !== undefined && worker.status !== "offline";
}
