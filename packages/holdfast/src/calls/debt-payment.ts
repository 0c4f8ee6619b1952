/** Paying debts: each by calls that are idempotent, and then it is deleted. Whoever pays twice has told nobody anything new. */
import { toErrorRecord } from "../errors/error-record.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { ChildToClose, Debt, ResultReceiver } from "../model/debt.ts";
import { type EndedRun, endMessageId, endPayload } from "../model/ended-run.ts";
import { closeMessageId } from "../model/ids.ts";
import type { MessageKind } from "../model/message.ts";
import { EMPTY_PAYLOAD } from "../model/payload.ts";
import type { DeliverMessage, DeliverOutcome, PaidDebt, Store, TerminateOutcome } from "../ports/store.ts";
import { closeReasons } from "./close-reason.ts";
import { deliverHolding, type ReserveDelivery } from "./holding-delivery.ts";
import { replyMessage } from "./update-answer.ts";

/** Messages in one call. */
const MESSAGES_MAX = 500;

export interface Payment {
  /** How many debts were paid, all of them or in part. */
  readonly paid: number;
  /** Of how many the store has noted it. */
  readonly noted: number;
  /** Runs that owe something because of it: they were ended. */
  readonly owing: readonly { readonly namespace: string; readonly runId: string }[];
}

/** Tells those who wait, and closes those who are to be closed. What another transaction has locked is left for the next time. */
export async function payDebts(
  store: Store,
  debts: readonly Debt[],
  inboxMax: number,
  reserve?: ReserveDelivery,
): Promise<Payment> {
  const mail = new Mail();
  const owing: { namespace: string; runId: string }[] = [];
  const payments: (() => PaidDebt | undefined)[] = [];
  const closing = debts.filter(({ kind }) => kind === "close");
  const reasonFor = closing.length === 0 ? undefined : await closeReasons(store, closing);
  const passed = await passLocks(store, debts);
  for (const debt of debts) {
    if (debt.kind === "lock") payments.push(() => (passed.has(debt) ? paidLock(debt) : undefined));
    else if (debt.kind === "result") payments.push(tell(debt, mail));
    else if (debt.kind === "reply") payments.push(answer(debt, mail));
    else payments.push(await close(debt, (child) => reasonFor?.(debt, child) ?? "", mail, store, owing));
  }
  await mail.send(store, inboxMax, reserve);
  const paid = payments.flatMap((payment) => payment() ?? []);
  const { paid: noted } = paid.length > 0 ? await store.debts.pay({ debts: paid }) : { paid: 0 };
  return { paid: paid.length, noted, owing };
}

/** Messages that are sent together, and what has become of each. */
class Mail {
  readonly #messages: DeliverMessage[] = [];
  readonly #outcomes: DeliverOutcome[] = [];

  /** Returns a function that says whether it has arrived, or never can. */
  add(message: DeliverMessage): () => boolean {
    const outcome = this.addAndAsk(message);
    return () => outcome() !== "busy";
  }

  /** Returns a function that says what has become of it. */
  addAndAsk(message: DeliverMessage): () => DeliverOutcome["outcome"] | undefined {
    const place = this.#messages.push(message) - 1;
    return () => this.#outcomes[place]?.outcome;
  }

  async send(store: Store, inboxMax: number, reserve: ReserveDelivery | undefined): Promise<void> {
    for (let i = 0; i < this.#messages.length; i += MESSAGES_MAX) {
      const messages = this.#messages.slice(i, i + MESSAGES_MAX);
      const { outcomes } = await deliverHolding(store, { messages, inboxMax }, reserve);
      this.#outcomes.push(...outcomes);
    }
  }
}

function tell(debt: Extract<Debt, { kind: "result" }>, mail: Mail): () => PaidDebt | undefined {
  const { debtNo, namespace, runId, end, parent, watchers } = debt;
  // The parent knows: the child was on its worker.
  if (parent === null && watchers.length === 0) return () => ({ debtNo, namespace, runId });
  const completed = end.status === "completed";
  const parentTold = parent
    ? mail.add(endMessage(completed ? "child_completed" : "child_failed", end, parent))
    : () => true;
  const told = watchers.map((watcher) =>
    mail.add(endMessage(completed ? "watch_completed" : "watch_failed", end, watcher)),
  );
  return () => {
    const reached = watchers.filter((_, i) => told[i]?.());
    if (!parentTold() || (watchers.length > 0 && reached.length === 0)) return undefined;
    return { debtNo, namespace, runId, watchers: reached };
  };
}

function endMessage(kind: MessageKind, end: EndedRun, receiver: ResultReceiver): DeliverMessage {
  const { namespace, runId, op: name } = receiver;
  return { to: { namespace, runId }, kind, name, messageId: endMessageId(end, receiver), payload: endPayload(end) };
}

function answer(debt: Extract<Debt, { kind: "reply" }>, mail: Mail): () => PaidDebt | undefined {
  const { debtNo, namespace, runId, replies } = debt;
  const told = replies.map((reply) => mail.add(replyMessage(debt, reply)));
  return () => {
    const reached = replies.filter((_, i) => told[i]?.()).map(({ messageId }) => messageId);
    return replies.length > 0 && reached.length === 0 ? undefined : { debtNo, namespace, runId, replies: reached };
  };
}

/** Hands on what was given back. Returns the debts of which nothing is left. */
async function passLocks(store: Store, debts: readonly Debt[]): Promise<ReadonlySet<Debt>> {
  const owed = debts.filter(({ kind }) => kind === "lock");
  if (owed.length === 0) return new Set();
  const givenBackBy = owed.map(({ namespace, runId }) => ({ namespace, runId }));
  const { passed } = await store.locks.pass({ asks: [], givenBackBy });
  return new Set(owed.filter((_, i) => passed[i]));
}

function paidLock({ debtNo, namespace, runId }: Debt): PaidDebt {
  return { debtNo, namespace, runId };
}

async function close(
  { debtNo, namespace, runId, children }: Extract<Debt, { kind: "close" }>,
  reasonFor: (childRunId: string) => string,
  mail: Mail,
  store: Store,
  owing: { namespace: string; runId: string }[],
): Promise<() => PaidDebt | undefined> {
  const answers = new Map<string, () => string | undefined>();
  for (const child of children) {
    const { namespace: of, runId: to, openRunId, policy } = child;
    const reason = reasonFor(to);
    if (policy === "cancel") {
      const messageId = closeMessageId(runId, to);
      const cancel = { kind: "cancel" as const, name: reason, messageId, payload: EMPTY_PAYLOAD };
      answers.set(to, mail.addAndAsk({ to: { namespace: of, runId: openRunId }, ...cancel }));
    } else {
      const answer = await terminate(store, child, reason, owing);
      answers.set(to, () => answer);
    }
  }
  return () => {
    const reached = [...answers].filter(([, answer]) => answer() !== "busy");
    if (children.length > 0 && reached.length === 0) return undefined;
    // One that had ended is not noted: it is no longer listed, and if it failed and was reopened meanwhile, it is still to be closed.
    const closed = reached.filter(([, answer]) => answer() !== "closed").map(([child]) => child);
    return { debtNo, namespace, runId, children: closed };
  };
}

/** Ends the child, or the run that it has continued as since. */
async function terminate(
  store: Store,
  { namespace, openRunId }: ChildToClose,
  reason: string,
  owing: { namespace: string; runId: string }[],
): Promise<TerminateOutcome["outcome"] | undefined> {
  const error = toErrorRecord(new HoldfastError("run_terminated", reason, { data: { reason } }));
  for (let next: string | null = openRunId; next !== null; ) {
    const [answer] = await store.runs.terminate({ runs: [{ namespace, runId: next }], error });
    if (answer?.outcome === "busy") return "busy";
    if (answer?.owes) owing.push({ namespace, runId: answer.runId ?? next });
    if (answer?.status !== "continued") return answer?.outcome;
    const [row] = await store.runs.read({ runs: [{ namespace, runId: next }] });
    next = row?.continuedAs ?? null;
  }
  return "not_found";
}
