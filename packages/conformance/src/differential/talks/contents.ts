import type { AskAnswer, Debt, LockRequest, ReplyState, Store } from "holdfast/adapter";
import { type KnownIds, sortBy } from "../contents.ts";

/** What can be read of conversations. */
export interface Talks {
  readonly debts: readonly Debt[];
  /** By the newest run of an id and the id of the update. */
  readonly replies: Readonly<Record<string, ReplyState>>;
  /** The children of each run that was named as a parent, newest first. */
  readonly children: Readonly<Record<string, readonly string[]>>;
  readonly allows: Readonly<Record<string, readonly string[]>>;
  readonly answers: Readonly<Record<string, AskAnswer | null>>;
  /** By namespace and name. */
  readonly locks: Readonly<Record<string, readonly LockRequest[]>>;
}

/** The locks that sequences request. */
export const LOCK_NAMES: readonly string[] = ["x", "y"];

export const NO_TALKS: Talks = { debts: [], replies: {}, children: {}, allows: {}, answers: {}, locks: {} };

/** Reads nothing in sequences that are about something else. */
export async function readTalks(store: Store, known: KnownIds): Promise<Talks> {
  if (!known.talks) return NO_TALKS;
  const { namespaces, ids, talks } = known;
  const updates = ids.flatMap((run) => talks.updateIds.map((messageId) => ({ run, messageId })));
  const asked = namespaces.flatMap((namespace) => talks.askIds.map((askId) => ({ namespace, askId })));
  const families = namespaces.flatMap((namespace) => talks.parents.map((parent) => ({ namespace, parent })));
  const named = namespaces.flatMap((namespace) => LOCK_NAMES.map((name) => ({ namespace, of: { name } })));
  const [debts, replies, children, allows, answers, locks] = await Promise.all([
    store.debts.read({ limit: 100_000 }),
    updates.length > 0 ? store.inbox.replies({ updates }) : [],
    Promise.all(families.map((family) => store.runs.list({ ...family, limit: 10_000 }))),
    Promise.all(namespaces.map((namespace) => store.namespaces.read({ namespace }))),
    asked.length > 0 ? store.asks.read({ asks: asked }) : [],
    Promise.all(named.map((lock) => store.locks.list({ ...lock, limit: 1_000 }))),
  ]);
  const entries = <T, V>(keys: readonly T[], name: (key: T) => string, values: readonly V[]) =>
    Object.fromEntries(keys.map((key, i) => [name(key), values[i] as V]));
  return {
    debts,
    replies: entries(updates, ({ run, messageId }) => `${run.namespace}/${run.id}/${messageId}`, replies),
    children: entries(
      families,
      ({ namespace, parent }) => `${namespace}/${parent}`,
      children.map((rows) => rows.map(({ runId }) => runId)),
    ),
    allows: entries(
      namespaces,
      (namespace) => namespace,
      allows.map((one) => one.allows),
    ),
    answers: entries(asked, ({ namespace, askId }) => `${namespace}/${askId}`, answers),
    locks: entries(named, ({ namespace, of }) => `${namespace}/${of.name}`, locks),
  };
}

/**
 * Without what the contract leaves to the store: the numbers of debts, the order of those that were made in one call, and of
 * what they list; and what is left of an update if a run of its chain was purged.
 */
export function comparableTalks(talks: Talks, isPurged: (idKey: string) => boolean): unknown {
  const replies = Object.entries(talks.replies).filter(([key]) => !isPurged(key.split("/").slice(0, 2).join("/")));
  const locks = Object.entries(talks.locks).map(([name, line]) => [name, line.map(comparableLock)]);
  const comparable = { debts: comparableDebts(talks.debts), locks: Object.fromEntries(locks) };
  return { ...talks, ...comparable, replies: Object.fromEntries(replies) };
}

/** Of names that were passed on in one call, any may come first. */
function comparableLock({ fence, ...lock }: LockRequest): unknown {
  return { ...lock, granted: fence !== null };
}

export function comparableDebts(debts: readonly Debt[]): unknown {
  const inOrder = debts.every(({ debtNo }, i) => i === 0 || debtNo > (debts[i - 1]?.debtNo ?? 0));
  const listed = sortBy(debts, debtKey).map(({ debtNo: _debtNo, ...debt }) =>
    debt.kind === "reply"
      ? { ...debt, replies: sortBy(debt.replies, ({ messageId }) => messageId) }
      : debt.kind === "close"
        ? { ...debt, children: sortBy(debt.children, ({ runId }) => runId) }
        : debt.kind === "lock"
          ? debt
          : { ...debt, watchers: sortBy(debt.watchers, ({ runId, op }) => `${runId} ${op}`) },
  );
  return { inOrder, listed };
}

/** A run has at most one debt of each kind. */
export function debtKey({ runId, kind }: Debt): string {
  return `${runId} ${kind}`;
}
