/**
 * Every call of the store port, and what a server must know of it: who may make it, and in which namespaces it is. A call without a row
 * does not compile.
 *
 * Where an op of one run acts on a run of another namespace (a message `from` there, a child, a watch), the namespace that acts
 * counts: whether it is let in is decided by the store, on the rows of `namespaces.allow`.
 */
import type { StoreCalls, StoreMethod } from "holdfast/adapter";

/** Stands for all of them. */
export const EVERY_NAMESPACE = "*";

/** What a connection may do in a namespace, each role with everything that those before it may do. */
export const STORE_ROLES = ["reader", "writer", "worker", "admin"] as const;
export type StoreRole = (typeof STORE_ROLES)[number];

export interface StoreCallRow<M extends StoreMethod = StoreMethod> {
  /**
   * Who may make it. `server`: a duty for all namespaces at once, which is never forwarded; the server does it by itself.
   */
  readonly role: StoreRole | "server";
  /** It changes nothing, so that repeating it is safe whatever happened. */
  readonly reads: boolean;
  /** The namespaces that it is about, or that act. None: it is about no namespace. */
  readonly namespaces: (params: Parameters<StoreCalls[M]>[0]) => readonly string[];
}

type Row<M extends StoreMethod> = readonly [
  role: StoreCallRow["role"],
  does: "reads" | "writes",
  namespaces: StoreCallRow<M>["namespaces"],
];

interface Named {
  readonly namespace: string;
}

const own = ({ namespace }: Named): readonly string[] => [namespace];
const all = (list: readonly Named[]): readonly string[] => list.map(({ namespace }) => namespace);
const none = (): readonly string[] => [];

const ROWS: { readonly [M in StoreMethod]: Row<M> } = {
  "runs.start": ["writer", "writes", ({ starts }) => starts.flatMap(actsIn)],
  "runs.debounce": ["writer", "writes", ({ start }) => actsIn(start)],
  "runs.claim": ["worker", "writes", own],
  "runs.commit": ["worker", "writes", committing],
  "runs.releaseIfHeld": ["worker", "writes", own],
  "runs.restartIfHeld": ["writer", "writes", own],
  "runs.holdIfParkedByOtherCode": ["worker", "writes", own],
  "runs.pauseIfIdle": ["writer", "writes", ({ run }) => own(run)],
  "runs.resumeIfParked": ["writer", "writes", ({ run }) => own(run)],
  "runs.terminate": ["writer", "writes", ({ runs }) => all(runs)],
  "runs.reopenIfFailed": ["writer", "writes", ({ run }) => own(run)],
  "runs.fork": ["writer", "writes", ({ origin, run }) => [origin.namespace, run.namespace]],
  "runs.watch": ["worker", "writes", ({ watches }) => watches.map(({ by }) => by.namespace)],
  "runs.read": ["reader", "reads", ({ runs }) => all(runs)],
  "runs.list": ["reader", "reads", own],
  "runs.count": ["reader", "reads", own],
  "runs.purge": ["admin", "writes", own],
  "histories.read": ["reader", "reads", ({ runs }) => all(runs)],
  "segments.read": ["reader", "reads", ({ runs }) => all(runs)],
  "segments.addIfCurrent": ["worker", "writes", own],
  "segments.drop": ["worker", "writes", ({ runs }) => all(runs)],
  "inbox.deliver": ["writer", "writes", ({ messages }) => messages.map(({ to, from }) => from ?? to.namespace)],
  "inbox.read": ["reader", "reads", ({ runs }) => all(runs)],
  "inbox.replies": ["reader", "reads", ({ updates }) => updates.map(({ run }) => run.namespace)],
  "tasks.claim": ["worker", "writes", own],
  "tasks.finish": ["writer", "writes", ({ finishes }) => all(finishes)],
  "tasks.beat": ["writer", "writes", ({ beats }) => all(beats)],
  "tasks.cancel": ["worker", "writes", own],
  "tasks.expired": ["server", "reads", none],
  "tasks.read": ["reader", "reads", own],
  "tasks.list": ["reader", "reads", own],
  "tasks.position": ["reader", "reads", own],
  "versions.register": ["worker", "writes", own],
  "versions.updateIfKnown": ["admin", "writes", own],
  "versions.list": ["reader", "reads", own],
  "workers.register": ["worker", "writes", own],
  "workers.heartbeat": ["worker", "writes", own],
  "workers.readHeld": ["worker", "reads", own],
  "workers.readHeldTasks": ["worker", "reads", own],
  "workers.stop": ["worker", "writes", own],
  "workers.sweep": ["server", "writes", none],
  "workers.list": ["reader", "reads", own],
  "workers.askToDrain": ["admin", "writes", own],
  "workers.readLog": ["reader", "reads", own],
  "workers.addRates": ["worker", "writes", own],
  "workers.readRates": ["reader", "reads", own],
  "workers.forget": ["server", "writes", none],
  "workers.readLeader": ["reader", "reads", none],
  "debts.read": ["worker", "reads", ({ runs }) => (runs ? all(runs) : [EVERY_NAMESPACE])],
  "debts.pay": ["worker", "writes", ({ debts }) => all(debts)],
  "locks.pass": ["worker", "writes", ({ asks, givenBackBy }) => [...all(asks), ...all(givenBackBy)]],
  "locks.list": ["reader", "reads", own],
  "queues.setIfRevision": ["admin", "writes", own],
  "queues.list": ["reader", "reads", own],
  "queues.backlog": ["reader", "reads", own],
  "namespaces.allow": ["admin", "writes", own],
  "namespaces.disallow": ["admin", "writes", own],
  "namespaces.read": ["reader", "reads", own],
  "asks.ask": ["reader", "writes", ({ asks }) => all(asks)],
  "asks.take": ["worker", "writes", own],
  "asks.answer": ["worker", "writes", ({ answers }) => all(answers)],
  "asks.read": ["reader", "reads", ({ asks }) => all(asks)],
  "asks.forget": ["reader", "writes", ({ asks }) => all(asks)],
  "payloads.read": ["admin", "reads", ({ runs }) => all(runs)],
  "payloads.replaceIfUnchanged": ["admin", "writes", ({ payloads }) => all(payloads)],
  "schedules.putIfRevision": [
    "writer",
    "writes",
    ({ puts }) => puts.flatMap(({ namespace, starts }) => [namespace, ...starts.map(({ run }) => run.namespace)]),
  ],
  "schedules.due": ["reader", "reads", none],
  "schedules.read": ["reader", "reads", ({ schedules }) => all(schedules)],
  "schedules.decisions": ["reader", "reads", own],
  "schedules.list": ["reader", "reads", own],
  "schedules.remove": ["writer", "writes", own],
  "retention.set": ["admin", "writes", own],
  "retention.read": ["reader", "reads", own],
  "retention.list": ["server", "reads", none],
  "transfers.identify": ["admin", "writes", none],
  "transfers.read": ["admin", "reads", ({ runs }) => all(runs)],
  "transfers.departIfIdle": ["admin", "writes", own],
  "transfers.departures": ["admin", "reads", own],
  "transfers.arrive": ["admin", "writes", ({ image }) => [image.run.namespace]],
  "transfers.confirm": ["admin", "writes", own],
  transact: ["server", "writes", none],
  readClock: ["reader", "reads", none],
};

/** The table, by the name of the call. */
export const STORE_CALL_TABLE: ReadonlyMap<string, StoreCallRow> = new Map(
  Object.entries(ROWS).map(([method, [role, does, namespaces]]) => [
    method,
    { role, reads: does === "reads", namespaces: namespaces as StoreCallRow["namespaces"] },
  ]),
);

export function isStoreMethod(method: string): method is StoreMethod {
  return STORE_CALL_TABLE.has(method);
}

/** Commits of one call are mostly of one namespace: it is named once, and not once for each of hundreds. */
function committing({ commits }: Parameters<StoreCalls["runs.commit"]>[0]): readonly string[] {
  const names: string[] = [];
  const name = (namespace: string): void => {
    // Also if it is none: whoever looks at the names must see that.
    if (names.length === 0 || namespace !== names[names.length - 1]) names.push(namespace);
  };
  for (const { namespace, transition } of commits) {
    name(namespace);
    if (transition.type === "continue") name(transition.next.namespace);
  }
  return names;
}

/** A child is started by its parent: that is who acts. */
function actsIn({ run, parent }: Parameters<StoreCalls["runs.start"]>[0]["starts"][number]): readonly string[] {
  return parent ? [parent.parent.namespace] : [run.namespace];
}
