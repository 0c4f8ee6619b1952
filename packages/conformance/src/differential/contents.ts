import type { HeldRun, HistoryEvent, Message, Run, RunRef, Store, VersionRow, WorkerRow } from "holdfast/adapter";

/** Everything that can be read from a store. */
export interface Contents {
  readonly runs: readonly Run[];
  readonly histories: Readonly<Record<string, readonly HistoryEvent[]>>;
  readonly inboxes: Readonly<Record<string, readonly Message[]>>;
  readonly newest: Readonly<Record<string, string | null>>;
  readonly workers: readonly WorkerRow[];
  readonly held: Readonly<Record<string, readonly HeldRun[]>>;
  readonly versions: readonly VersionRow[];
}

/** What can be read: the ids that were ever used. */
export interface KnownIds {
  readonly namespaces: readonly string[];
  readonly runIds: readonly string[];
  readonly ids: readonly { readonly namespace: string; readonly id: string }[];
  readonly workerIds: readonly string[];
}

export async function readContents(store: Store, known: KnownIds): Promise<Contents> {
  const { runIds, ids, workerIds, namespaces } = known;
  const refs: RunRef[] = runIds.map((runId) => ({ runId }));
  const [rows, newest, histories, messages, workers, held, versions] = await Promise.all([
    store.runs.read({ runs: refs }),
    store.runs.read({ runs: ids }),
    store.histories.read({ runs: runIds.map((runId) => ({ runId, afterSeq: 0 })), limitPerRun: 1_000_000 }),
    store.inbox.read({ runs: runIds.map((runId) => ({ runId, after: 0 })) }),
    Promise.all(namespaces.map((namespace) => store.workers.list({ namespace }))),
    Promise.all(workerIds.map((workerId) => store.workers.readHeld({ workerId }))),
    Promise.all(namespaces.map((namespace) => store.versions.list({ namespace }))),
  ]);
  const runs = rows.filter((run) => run !== null);
  return {
    runs,
    histories: Object.fromEntries(runIds.map((runId, i) => [runId, histories[i] ?? []])),
    inboxes: Object.fromEntries(runs.map((run) => [run.runId, messages.filter(({ runId }) => runId === run.runId)])),
    newest: Object.fromEntries(ids.map(({ namespace, id }, i) => [`${namespace}/${id}`, newest[i]?.runId ?? null])),
    workers: sortBy(workers.flat(), ({ workerId }) => workerId),
    held: Object.fromEntries(workerIds.map((workerId, i) => [workerId, sortBy(held[i] ?? [], ({ runId }) => runId)])),
    versions: sortBy(versions.flat(), (row) => `${row.namespace}/${row.workflow}/${row.registeredAt}/${row.version}`),
  };
}

/** Removes what the contract leaves to the store, so that equal contents compare as equal. */
export function comparable(contents: Contents): Contents {
  const inboxes = contents.runs.map((run) => {
    const messages = (contents.inboxes[run.runId] ?? []).flatMap((message) => comparableMessage(run, message));
    return [run.runId, messages] as const;
  });
  return { ...contents, inboxes: Object.fromEntries(inboxes) as Contents["inboxes"] };
}

function comparableMessage(run: Run, message: Message): unknown[] {
  // What a continued run left unconsumed is in its successor's inbox; the contract does not say whether it is also
  // here.
  if (run.status === "continued" && message.number > run.consumed) return [];
  const { payload: _payload, at: _at, ...rest } = message;
  // The payload of a consumed message may be gone; an inherited message may have either delivery time.
  return [
    {
      ...rest,
      ...(message.number > run.consumed ? { payload: message.payload } : {}),
      ...(run.continuedFrom === null ? { at: message.at } : {}),
    },
  ];
}

export function sortBy<T>(items: readonly T[], key: (item: T) => string): T[] {
  return [...items].sort((a, b) => (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0));
}
