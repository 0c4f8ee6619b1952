import type {
  CommitOutcome,
  Debt,
  DeliverMessage,
  NewRun,
  RunCommit,
  StartParent,
  Store,
  Transition,
} from "holdfast/adapter";
import { aStart, ERROR, event, firstCommit, idOf, newRun } from "./sample-runs.ts";

export const END: Transition = {
  type: "end",
  status: "completed",
  output: new Uint8Array([48]),
  error: null,
  compensation: null,
  unlessBehind: false,
};

/** The run with this number starts something. */
export function parentOf(n: number, fields: Partial<StartParent> = {}): StartParent {
  const { runId, id, namespace } = newRun(n);
  return { parent: { namespace, runId, id }, op: "child", root: { runId, id }, depth: 1, policy: "cancel", ...fields };
}

/** Starts children, each of the run with that number; returns the outcomes. */
export async function startChildren(
  store: Store,
  children: readonly { readonly run: NewRun; readonly of: number }[],
  workerId?: string,
): Promise<readonly string[]> {
  const { outcomes } = await store.runs.start({
    starts: children.map(({ run, of }) => aStart(run, { parent: parentOf(of), hold: workerId !== undefined })),
    holdBy: workerId === undefined ? null : { workerId, claimId: idOf(999_999) },
    replaceError: ERROR,
  });
  return outcomes.map(({ outcome }) => outcome);
}

export function endOf(n: number, fields: Partial<RunCommit> = {}): RunCommit {
  return firstCommit(n, { transition: END, ...fields });
}

export async function commit(store: Store, ...commits: readonly RunCommit[]): Promise<readonly CommitOutcome[]> {
  return (await store.runs.commit({ commits })).outcomes;
}

export function ref(n: number) {
  return { namespace: "default", runId: idOf(n) };
}

/** The message that tells the parent, or a cancel for a child. */
export function messagesFor(debt: Debt): readonly DeliverMessage[] {
  const payload = new Uint8Array(0);
  if (debt.kind === "close")
    return debt.children.map(({ namespace, openRunId: runId }) => {
      return { to: { namespace, runId }, kind: "cancel", name: "", messageId: `close ${debt.runId}`, payload };
    });
  if (debt.kind === "reply" || debt.kind === "lock") return [];
  const told = [...(debt.parent ? [debt.parent] : []), ...debt.watchers];
  return told.map(({ namespace, runId, op }) => {
    return { to: { namespace, runId }, kind: "child_completed", name: op, messageId: `end ${debt.runId}`, payload };
  });
}

/** Pays as a payer does: delivers, then notes what got through. Returns how many debts there were. */
export async function payAll(store: Store, limit = 50): Promise<number> {
  const debts = await store.debts.read({ limit });
  const messages = debts.flatMap((debt) => messagesFor(debt).map((message) => ({ debt, message })));
  const sent = await store.inbox.deliver({ messages: messages.map(({ message }) => message), inboxMax: 10 });
  const busy = new Set(messages.filter((_, i) => sent.outcomes[i]?.outcome === "busy").map(({ debt }) => debt.debtNo));
  const isClosed = messages.map((_, i) => sent.outcomes[i]?.outcome === "closed");
  const ended = new Set(messages.flatMap(({ message: { to } }, i) => (isClosed[i] && "runId" in to ? [to.runId] : [])));
  const paid = debts.filter(({ debtNo }) => !busy.has(debtNo));
  await store.debts.pay({
    debts: paid.map((debt) => {
      const { namespace, runId, debtNo } = debt;
      const about = { namespace, runId, debtNo };
      if (debt.kind === "result") return { ...about, watchers: debt.watchers };
      if (debt.kind === "reply") return { ...about, replies: debt.replies.map(({ messageId }) => messageId) };
      if (debt.kind === "lock") return about;
      const told = debt.children.filter(({ openRunId }) => !ended.has(openRunId));
      return { ...about, children: told.map((child) => child.runId) };
    }),
  });
  return debts.length;
}

export function failed(n: number): RunCommit {
  const transition: Transition = {
    ...(END as Extract<Transition, { type: "end" }>),
    status: "failed",
    output: null,
    error: ERROR,
  };
  return firstCommit(n, { events: [event(1)], transition });
}
