import type {
  DueSchedulesResult,
  HeldRun,
  HeldTask,
  HistoryEvent,
  Leader,
  Message,
  QueueLoad,
  QueueState,
  Run,
  Schedule,
  ScheduleDecision,
  Store,
  Task,
  VersionRow,
  WorkerRow,
} from "holdfast/adapter";
import { comparableTalks, readTalks, type Talks } from "./talks/contents.ts";

/** Everything that can be read from a store. */
export interface Contents extends Talks {
  readonly runs: readonly Run[];
  readonly histories: Readonly<Record<string, readonly HistoryEvent[]>>;
  readonly inboxes: Readonly<Record<string, readonly Message[]>>;
  readonly newest: Readonly<Record<string, string | null>>;
  readonly workers: readonly WorkerRow[];
  readonly held: Readonly<Record<string, readonly HeldRun[]>>;
  readonly heldTasks: Readonly<Record<string, readonly HeldTask[]>>;
  readonly tasks: readonly Task[];
  readonly versions: readonly VersionRow[];
  /** Only if schedules are looked at. */
  readonly schedules?: Schedules;
  /** Only if queues with limits are: by namespace. */
  readonly queues?: Readonly<Record<string, readonly QueueState[]>>;
}

export interface Schedules {
  readonly all: readonly Schedule[];
  readonly decisions: readonly (readonly ScheduleDecision[])[];
  readonly due: DueSchedulesResult;
  readonly leader: Leader | null;
}

/** What can be read: the ids that were ever used. */
export interface KnownIds {
  readonly namespaces: readonly string[];
  readonly runIds: readonly string[];
  readonly ids: readonly { readonly namespace: string; readonly id: string }[];
  readonly workerIds: readonly string[];
  /** Null: nothing of that was ever used. */
  readonly talks: {
    readonly parents: readonly string[];
    readonly updateIds: readonly string[];
    readonly askIds: readonly string[];
  } | null;
  readonly timed: boolean;
  readonly limited: boolean;
}

async function readQueues(store: Store, namespaces: readonly string[]): Promise<NonNullable<Contents["queues"]>> {
  const all = await Promise.all(namespaces.map((namespace) => store.queues.list({ namespace, holdersMax: 100 })));
  return Object.fromEntries(namespaces.map((namespace, i) => [namespace, comparableQueues(all[i] ?? [])]));
}

/**
 * Averages depend on when they were last looked at, and a queue that has nothing may be known because of a call that was refused.
 */
export function comparableQueues(queues: readonly QueueState[]): QueueState[] {
  const comparableLoad = (load: QueueLoad): QueueLoad => ({ ...load, perSecond: 0 });
  const some = queues.filter(
    ({ limits, runs, tasks }) => limits || runs.waiting + runs.running + tasks.waiting + tasks.running > 0,
  );
  return some.map(({ runs, tasks, ...rest }) => ({
    ...rest,
    runs: comparableLoad(runs),
    tasks: comparableLoad(tasks),
  }));
}

async function readSchedules(store: Store, namespaces: readonly string[]): Promise<Schedules> {
  const pages = await Promise.all(namespaces.map((namespace) => store.schedules.list({ namespace, limit: 100 })));
  const all = pages.flat();
  const decisions = await Promise.all(all.map((one) => store.schedules.decisions(one)));
  const [due, leader] = await Promise.all([store.schedules.due({ limit: 100 }), store.workers.readLeader({})]);
  return { all, decisions, due, leader };
}

export async function readContents(store: Store, known: KnownIds): Promise<Contents> {
  const { runIds, ids, workerIds, namespaces } = known;
  const everywhere = runIds.flatMap((runId) => namespaces.map((namespace) => ({ namespace, runId })));
  const workersEverywhere = workerIds.flatMap((workerId) => namespaces.map((namespace) => ({ namespace, workerId })));
  const [rows, newest, histories, messages, workers, held, heldTasks, tasks, versions, talks] = await Promise.all([
    store.runs.read({ runs: everywhere }),
    store.runs.read({ runs: ids }),
    store.histories.read({ runs: everywhere.map((run) => ({ ...run, afterSeq: 0 })), limitPerRun: 1_000_000 }),
    store.inbox.read({ runs: everywhere.map((run) => ({ ...run, after: 0 })) }),
    Promise.all(namespaces.map((namespace) => store.workers.list({ namespace }))),
    Promise.all(workersEverywhere.map((worker) => store.workers.readHeld(worker))),
    Promise.all(workersEverywhere.map((worker) => store.workers.readHeldTasks(worker))),
    Promise.all(namespaces.map((namespace) => store.tasks.list({ namespace, limit: 100_000 }))),
    Promise.all(namespaces.map((namespace) => store.versions.list({ namespace }))),
    readTalks(store, known),
  ]);
  const heldBy = (workerId: string): HeldRun[] =>
    sortBy(held.filter((_, i) => workersEverywhere[i]?.workerId === workerId).flat(), ({ runId }) => runId);
  const tasksHeldBy = (workerId: string): HeldTask[] =>
    sortBy(
      heldTasks.filter((_, i) => workersEverywhere[i]?.workerId === workerId).flat(),
      ({ runId, seq }) => `${runId} ${seq}`,
    );
  const historyOf = (runId: string): HistoryEvent[] =>
    histories.filter((_, i) => everywhere[i]?.runId === runId).flat();
  // The run id of a purged run may mean one that continues it.
  const runs = rows.filter((run, i) => run !== null && run.runId === everywhere[i]?.runId) as Run[];
  return {
    runs,
    histories: Object.fromEntries(runIds.map((runId) => [runId, historyOf(runId)])),
    inboxes: Object.fromEntries(runs.map((run) => [run.runId, messages.filter(({ runId }) => runId === run.runId)])),
    newest: Object.fromEntries(ids.map(({ namespace, id }, i) => [`${namespace}/${id}`, newest[i]?.runId ?? null])),
    workers: sortBy(workers.flat(), ({ workerId }) => workerId),
    held: Object.fromEntries(workerIds.map((workerId) => [workerId, heldBy(workerId)])),
    heldTasks: Object.fromEntries(workerIds.map((workerId) => [workerId, tasksHeldBy(workerId)])),
    tasks: tasks.flat(),
    versions: sortBy(versions.flat(), (row) => `${row.namespace}/${row.workflow}/${row.registeredAt}/${row.version}`),
    ...talks,
    ...(known.limited ? { queues: await readQueues(store, namespaces) } : {}),
    ...(known.timed ? { schedules: await readSchedules(store, namespaces) } : {}),
  };
}

/** Removes what the contract leaves to the store, so that equal contents compare as equal. */
export function comparable(contents: Contents, isPurged: (idKey: string) => boolean): unknown {
  const inboxes = contents.runs.map((run) => {
    const messages = (contents.inboxes[run.runId] ?? []).flatMap((message) => comparableMessage(run, message));
    return [run.runId, messages] as const;
  });
  // A worker that named no tasks may be listed with none.
  const workers = contents.workers.map((worker) => ({ ...worker, tasks: worker.tasks ?? [] }));
  const { debts, replies, children, allows, answers, locks } = contents;
  const talks = comparableTalks({ debts, replies, children, allows, answers, locks }, isPurged) as object;
  return { ...contents, ...talks, workers, inboxes: Object.fromEntries(inboxes) };
}

function comparableMessage(run: Run, message: Message): unknown[] {
  // What a continued run left unconsumed is in its successor's inbox; the contract does not say whether it is also
  // here.
  if (run.status === "continued" && message.number > run.consumed) return [];
  const { payload: _payload, at: _at, ...rest } = withoutFence(message);
  // The payload of a consumed message may be gone; an inherited message may have either delivery time.
  return [
    {
      ...rest,
      ...(message.number > run.consumed ? { payload: message.payload } : {}),
      ...(run.continuedFrom === null ? { at: message.at } : {}),
    },
  ];
}

/** Locks of several names may be granted in one call, in any order. */
export function withoutFence(message: Message): Message {
  const { kind, messageId } = message;
  return kind === "lock_granted" ? { ...message, messageId: messageId.replace(/\d+$/, "") } : message;
}

export function sortBy<T>(items: readonly T[], key: (item: T) => string): T[] {
  return [...items].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}
