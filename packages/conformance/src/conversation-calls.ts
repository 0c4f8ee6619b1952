import type {
  Debt,
  DeliverOutcome,
  MessageKind,
  NewRun,
  PaidDebt,
  RefusedStart,
  ReplyState,
  ResultReceiver,
  RunRef,
  StartOutcome,
  StartParent,
  StartRun,
  Store,
  WatchOutcome,
} from "holdfast/adapter";
import { aStart, type Fixture, REPLACED } from "./fixture.ts";
import { Holder } from "./holder.ts";
import { untilAnswered } from "./patience.ts";
import { bytes, errorRecord } from "./sample-data.ts";

/** A run, by what others need to know of it. */
export interface RunKey {
  readonly namespace: string;
  readonly runId: string;
}

export type ResultDebt = Extract<Debt, { kind: "result" }>;
export type CloseDebt = Extract<Debt, { kind: "close" }>;
export type ReplyDebt = Extract<Debt, { kind: "reply" }>;

export interface ChildOptions extends Partial<StartParent> {
  /** What else the start says. */
  readonly start?: Partial<StartRun>;
  readonly holdBy?: { readonly workerId: string; readonly claimId: string };
}

/** The calls about children, watchers, debts and updates that most cases make. */
export class ConversationCalls {
  readonly #fixture: Fixture;
  readonly #store: Store;

  constructor(fixture: Fixture) {
    this.#fixture = fixture;
    this.#store = fixture.store;
  }

  /** A start of a child, not sent yet. */
  childStart(parent: RunKey, options: ChildOptions = {}, fields: Partial<NewRun> = {}): StartRun {
    const { start, holdBy, ...lineage } = options;
    const run = this.#fixture.newRun(fields);
    return aStart(run, { parent: parentOf(parent, lineage), hold: holdBy !== undefined, ...start });
  }

  async tryChild(
    parent: RunKey,
    options: ChildOptions = {},
    fields: Partial<NewRun> = {},
  ): Promise<StartOutcome | RefusedStart> {
    const starts = [this.childStart(parent, options, fields)];
    const params = { starts, holdBy: options.holdBy ?? null, replaceError: REPLACED, inboxMax: 1_000 };
    return (await this.#store.runs.start(params)).outcomes[0] as StartOutcome | RefusedStart;
  }

  /** A child that nobody holds; returns its run id. */
  async child(parent: RunKey, options: ChildOptions = {}, fields: Partial<NewRun> = {}): Promise<string> {
    const { outcome, run } = await this.tryChild(parent, options, fields);
    if (outcome !== "created") throw new Error(`the start of a child was answered ${outcome}`);
    return (run as StartOutcome["run"]).runId;
  }

  /** A child that a new worker holds. */
  async heldChild(parent: RunKey, options: ChildOptions = {}, fields: Partial<NewRun> = {}): Promise<Holder> {
    const { namespace = "default" } = fields;
    const workerId = await this.#fixture.worker({ namespace, leaseMs: 100_000_000 });
    const holdBy = { workerId, claimId: this.#fixture.newId() };
    const { run } = await this.tryChild(parent, { ...options, holdBy }, fields);
    if (run?.heldBy !== workerId) throw new Error("the child is not held");
    return new Holder(this.#store, workerId, run);
  }

  /** The run ids of the children of a run, newest first. */
  async childrenOf({ runId }: RunKey, namespace = "default"): Promise<readonly string[]> {
    const rows = await this.#store.runs.list({ namespace, parent: runId, limit: 10_000 });
    return rows.map((row) => row.runId);
  }

  // Debts -------------------------------------------------------------------------------------------------------------

  /** All debts, or those of some runs. */
  debts(...runs: readonly RunKey[]): Promise<readonly Debt[]> {
    const keys = runs.map(({ namespace, runId }) => ({ namespace, runId }));
    return this.#store.debts.read({ limit: 1_000, ...(keys.length > 0 ? { runs: keys } : {}) });
  }

  /** What a run owes; it must be exactly one debt, of that kind. */
  async resultOf(run: RunKey): Promise<ResultDebt> {
    return (await this.#only(run, "result")) as ResultDebt;
  }

  async closeOf(run: RunKey): Promise<CloseDebt> {
    return (await this.#only(run, "close")) as CloseDebt;
  }

  async replyOf(run: RunKey): Promise<ReplyDebt> {
    return (await this.#only(run, "reply")) as ReplyDebt;
  }

  async #only({ namespace, runId }: RunKey, kind: Debt["kind"]): Promise<Debt> {
    const debts = await this.debts({ namespace, runId });
    const kinds = debts.map((debt) => debt.kind);
    if (kinds.join() !== kind) throw new Error(`the run owes [${kinds.join()}] instead of a ${kind}`);
    return debts[0] as Debt;
  }

  /** The children that a run still has to close. */
  async toClose(run: RunKey): Promise<readonly string[]> {
    return (await this.closeOf(run)).children.map(({ runId }) => runId);
  }

  async pay(debt: Debt, fields: Told = everythingIn(debt)): Promise<number> {
    const { debtNo, namespace, runId } = debt;
    return (await this.#store.debts.pay({ debts: [{ debtNo, namespace, runId, ...fields }] })).paid;
  }

  /** Does what all debts ask for, as a worker would. */
  async payAll(store = this.#store): Promise<void> {
    for (let rounds = 0; rounds < 100; rounds++) {
      const debts = await store.debts.read({ limit: 100 });
      if (debts.length === 0) return;
      for (const debt of debts) {
        if (debt.kind === "result") await this.tell(debt, store);
        else if (debt.kind === "close") await this.close(debt, store);
        else if (debt.kind === "reply") await this.answer(debt, store);
        else await store.locks.pass({ asks: [], givenBackBy: [debt] });
        const { debtNo, namespace, runId } = debt;
        const paid = [{ debtNo, namespace, runId, ...everythingIn(debt) }];
        await untilAnswered(() => store.debts.pay({ debts: paid }));
      }
    }
    throw new Error("there is no end of debts");
  }

  /** Tells everyone that a debt names of the end. */
  async tell({ end, parent, watchers }: ResultDebt, store = this.#store): Promise<void> {
    const completed = end.status === "completed";
    const told = [
      ...(parent ? [this.#endMessage(parent, completed ? "child_completed" : "child_failed", end)] : []),
      ...watchers.map((watcher) => this.#endMessage(watcher, completed ? "watch_completed" : "watch_failed", end)),
    ];
    await untilAnswered(() => store.inbox.deliver({ messages: told, inboxMax: 1 }));
  }

  #endMessage({ namespace, runId, op }: ResultReceiver, kind: MessageKind, end: ResultDebt["end"]) {
    const messageId = `\tend\t${end.firstRunId}\t${end.runId}/${end.eventCount}`;
    const payload = end.output ?? bytes(JSON.stringify(end.error));
    return { to: { namespace, runId }, kind, name: op, messageId, payload };
  }

  async close({ children, runId }: CloseDebt, store = this.#store): Promise<void> {
    for (const child of children) {
      const to = { namespace: child.namespace, runId: child.openRunId };
      const message = { to, kind: "cancel", name: "", messageId: `${runId} is over`, payload: bytes("") } as const;
      if (child.policy === "cancel")
        await untilAnswered(() => store.inbox.deliver({ messages: [message], inboxMax: 1 }));
      else await untilAnswered(() => store.runs.terminate({ runs: [to], error: errorRecord("its parent is over") }));
    }
  }

  /** Tells the senders of updates what has become of these. */
  async answer({ replies, runId }: ReplyDebt, store = this.#store): Promise<void> {
    const messages = replies.map(({ to: { namespace, runId: sender, op }, messageId, event }) => ({
      to: { namespace, runId: sender },
      kind: event ? ("reply_completed" as const) : ("reply_failed" as const),
      name: op,
      messageId: `\treply\t${runId}\t${messageId}`,
      payload: event?.payload ?? bytes(""),
    }));
    if (messages.length > 0) await untilAnswered(() => store.inbox.deliver({ messages, inboxMax: 1 }));
  }

  // Watchers, updates ---------------------------------------------------------------------------------------------------

  async watch(run: RunRef, by: ResultReceiver, store = this.#store): Promise<WatchOutcome> {
    const [outcome] = await untilAnswered(() => store.runs.watch({ watches: [{ run, by }] }));
    return outcome as WatchOutcome;
  }

  /** An op of that run. */
  op({ namespace, runId }: RunKey, op = "await#1"): ResultReceiver {
    return { namespace, runId, op };
  }

  /** Sends an update. */
  update(to: RunRef, messageId: string, fields: Parameters<Fixture["deliver"]>[1] = {}): Promise<DeliverOutcome> {
    return this.#fixture.deliver(to, { kind: "update", name: "add", messageId, ...fields });
  }

  async reply(run: RunRef, messageId: string): Promise<ReplyState> {
    return (await this.#store.inbox.replies({ updates: [{ run, messageId }] }))[0] as ReplyState;
  }
}

/** What a child of this run is started with. */
export function parentOf({ namespace, runId }: RunKey, fields: Partial<StartParent> = {}): StartParent {
  const name = { runId, id: `run ${runId}` };
  return { parent: { namespace, ...name }, op: "ship#1", root: name, depth: 1, policy: "cancel", ...fields };
}

type Told = Pick<PaidDebt, "watchers" | "children" | "replies">;

/** All that a debt lists. */
export function everythingIn(debt: Debt): Told {
  if (debt.kind === "reply") return { replies: debt.replies.map(({ messageId }) => messageId) };
  if (debt.kind === "close") return { children: debt.children.map(({ runId }) => runId) };
  if (debt.kind === "lock") return {};
  return debt.watchers.length > 0 ? { watchers: debt.watchers } : {};
}
