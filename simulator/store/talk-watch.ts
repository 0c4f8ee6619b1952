/**
 * Follows what runs owe each other in the store: whether it is written down together with what caused it, and crossed out only
 * after it was paid.
 */
import { jsonCodec } from "../../packages/holdfast/src/codec/json-codec.ts";
import { childOf } from "../../packages/holdfast/src/memory/debts/debt-state.ts";
import type { MemoryState, RunRecord } from "../../packages/holdfast/src/memory/state.ts";
import type { DebtKind, ResultReceiver } from "../../packages/holdfast/src/model/debt.ts";
import { type EndedRun, endedRun, endMessageId, endName } from "../../packages/holdfast/src/model/ended-run.ts";
import { closeMessageId, replyMessageId } from "../../packages/holdfast/src/model/ids.ts";
import { isResult } from "../../packages/holdfast/src/model/message.ts";
import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type {
  CommitRunsParams,
  DeliverMessagesParams,
  StartRunsParams,
} from "../../packages/holdfast/src/ports/store.ts";
import type { StoreMethod } from "../../packages/holdfast/src/ports/store-calls.ts";
import type { Birth, DebtFault, EarlyNote, OpenDebt } from "../talk-evidence.ts";
import type { Trace } from "../trace.ts";
import { NOTE, type Note } from "../workload/post.ts";

interface Owed {
  readonly runId: string;
  readonly kind: DebtKind;
}

/** An update that somebody waits for in another run. */
interface Waiting {
  readonly messageId: string;
  readonly to: ResultReceiver;
}

export class TalkWatch {
  readonly births: Birth[] = [];
  readonly faults: DebtFault[] = [];
  readonly earlyNotes: EarlyNote[] = [];
  readonly #state: MemoryState;
  readonly #trace: Trace;
  #runs = 0;
  readonly #closed = new Set<string>();
  #owed = new Map<number, Owed>();
  /** As they were before the call: paying forgets them. */
  #watchers = new Map<string, readonly ResultReceiver[]>();
  #waiting = new Map<string, readonly Waiting[]>();
  /** Results of other runs that have reached an inbox. */
  readonly #told = new Set<string>();
  readonly #children = new Map<string, Birth[]>();
  /** By parent and child. */
  readonly #givenUp = new Set<string>();

  constructor(state: MemoryState, trace: Trace) {
    this.#state = state;
    this.#trace = trace;
  }

  get open(): readonly OpenDebt[] {
    return [...this.#state.debts.values()].map(({ runId, kind }) => ({ runId, kind }));
  }

  /** Notes what a call has just done. */
  note(at: number, who: string, method: StoreMethod, params: unknown): void {
    const { runs, children, watches, updates, debts } = this.#state;
    if (runs.size !== this.#runs && method === "runs.start") this.#noteBirths(at, who, params as StartRunsParams);
    this.#runs = runs.size;
    if (method === "inbox.deliver") this.#noteNotes(at, params as DeliverMessagesParams);
    if (children.size + watches.size + updates.size + debts.size + this.#owed.size === 0) return;
    if (method === "inbox.deliver") this.#noteTold(at, who, params as DeliverMessagesParams);
    if (method === "runs.commit") this.#noteGivenUp(at, params as CommitRunsParams);
    if (changesRuns(method)) this.#noteEnds(at);
    this.#noteDebts(at, who, method);
    if (changesRuns(method) || method === "runs.watch" || method === "inbox.deliver" || method === "debts.pay")
      this.#remember();
  }

  #noteBirths(at: number, who: string, { starts }: StartRunsParams): void {
    for (const { run, parent } of starts) {
      const { runId } = run;
      const row = this.#state.runs.get(runId);
      if (!parent || !row || this.births.some((birth) => birth.runId === runId)) continue;
      const mother = this.#state.runs.get(parent.parent.runId);
      const birth: Birth = {
        at,
        runId,
        parentRunId: parent.parent.runId,
        parentClosed: !mother || isClosed(mother.status),
        parentEvents: mother?.eventCount ?? 0,
        policy: parent.policy,
      };
      this.births.push(birth);
      const siblings = this.#children.get(birth.parentRunId);
      if (siblings) siblings.push(birth);
      else this.#children.set(birth.parentRunId, [birth]);
      this.#trace.add(at, who, birth.parentRunId, `child ${parent.op ?? "of a step"} is ${runId} (${parent.policy})`);
      this.#trace.add(at, who, runId, `created by ${birth.parentRunId}`);
    }
  }

  #noteTold(at: number, who: string, { messages }: DeliverMessagesParams): void {
    for (const { kind, name, to, messageId } of messages) {
      if (!isResult(kind) || !("runId" in to)) continue;
      const there = this.#state.inbox.get(to.runId)?.some((message) => message.messageId === messageId);
      if (there) this.#told.add(messageId);
      this.#trace.add(at, who, to.runId, `${kind} for ${name}: ${there ? "there" : "not there"}`);
    }
  }

  #noteNotes(at: number, { messages }: DeliverMessagesParams): void {
    for (const { kind, name, payload } of messages) {
      if (kind !== "signal" || name !== NOTE.name) continue;
      const { from, by, seen } = jsonCodec.decode(payload) as Note;
      const durable = this.#state.runs.get(from)?.eventCount ?? 0;
      if ((seen ?? 0) <= durable) continue;
      const text = `"${by}" sent a note at ${at.toFixed(1)} when its code had seen ${seen} events, but ${durable} were durable`;
      this.earlyNotes.push({ runId: from, text });
    }
  }

  #noteGivenUp(at: number, { commits }: CommitRunsParams): void {
    for (const { runId, events } of commits)
      for (const event of events) {
        const child = event.type === "op_canceled" ? event.meta?.child?.runId : undefined;
        if (child === undefined || this.#state.events.get(runId)?.[event.seq - 1] !== event) continue;
        const key = `${runId} ${child}`;
        if (this.#givenUp.has(key)) continue;
        this.#givenUp.add(key);
        const birth = this.#children.get(runId)?.find((one) => one.runId === child);
        if (birth && birth.policy !== "abandon" && this.#isOpen(child)) this.#require(at, runId, "close", child);
      }
  }

  /** Whatever has ended a run, what it owes for that is written down. */
  #noteEnds(at: number): void {
    for (const row of this.#state.runs.values()) {
      const { runId, firstRunId, status, lineage } = row;
      if (!isClosed(status)) {
        this.#closed.delete(runId);
        continue;
      }
      if (this.#closed.has(runId)) continue;
      this.#closed.add(runId);
      const watched = (this.#state.watches.get(firstRunId)?.length ?? 0) > 0;
      if (status !== "continued" && ((lineage && lineage.op !== null) || watched))
        this.#require(at, runId, "result", `it is ${status}`);
      for (const child of this.#children.get(runId) ?? [])
        if (child.policy !== "abandon" && this.#isOpen(child.runId) && !this.#isReached(runId, child.runId))
          this.#require(at, runId, "close", child.runId);
      if (this.#replies(row).length > 0) this.#require(at, runId, "reply", `it is ${status}`);
    }
  }

  #require(at: number, runId: string, kind: DebtKind, why: string): void {
    const owed = [...(this.#state.debtsOf.get(runId) ?? [])].map((debtNo) => this.#state.debts.get(debtNo)?.kind);
    if (!owed.includes(kind))
      this.faults.push({ at, runId, kind, text: `it owes a ${kind} and does not know: ${why}` });
  }

  #noteDebts(at: number, who: string, method: StoreMethod): void {
    const { debts } = this.#state;
    for (const [debtNo, { runId, kind }] of debts) {
      if (this.#owed.has(debtNo)) continue;
      this.#owed.set(debtNo, { runId, kind });
      this.#trace.add(at, who, runId, `${method}: owes a ${kind}`);
    }
    for (const [debtNo, { runId, kind }] of this.#owed) {
      if (debts.has(debtNo)) continue;
      this.#owed.delete(debtNo);
      this.#trace.add(at, who, runId, `${method}: ${kind} is paid`);
      const left = this.#leftOf(runId, kind);
      if (left !== undefined) this.faults.push({ at, runId, kind, text: `its ${kind} counts as paid, but ${left}` });
    }
  }

  /** What is not paid. */
  #leftOf(runId: string, kind: DebtKind): string | undefined {
    const row = this.#state.runs.get(runId) as RunRecord;
    if (kind === "close") {
      const left = (this.#children.get(runId) ?? []).find((child) => this.#isToClose(row, child));
      return left && `child ${left.runId} (${left.policy}) was not closed`;
    }
    if (kind === "result") {
      // It was retried: the end that it had does not count any more.
      if (!isClosed(row.status)) return undefined;
      const end = endedRun(row);
      const { lineage } = row;
      const mother = lineage?.op != null ? [{ ...lineage.parent, op: lineage.op }] : [];
      const receivers = [...mother, ...(this.#watchers.get(row.firstRunId) ?? [])];
      const left = receivers.find((to) => !this.#isTold(to, endMessageId(end, to)) && !this.#hasRecorded(to, end));
      return left && `"${left.op}" of ${left.runId} was not told`;
    }
    if (kind === "lock") {
      const left = [...this.#state.locks.values()].find((lock) => lock.runId === runId && lock.givenBack);
      return left && `nobody was passed "${left.op}" (${left.seq})`;
    }
    const left = (this.#waiting.get(runId) ?? []).find(
      ({ to, messageId }) => !this.#isTold(to, replyMessageId(runId, messageId)),
    );
    return left && isClosed(row.status) ? `"${left.to.op}" of ${left.to.runId} was not told` : undefined;
  }

  /** A parent on the same worker is told without a message: its history says so. */
  #hasRecorded({ runId, op }: ResultReceiver, end: EndedRun): boolean {
    return (this.#state.events.get(runId) ?? []).some(
      ({ type, op: of, meta }) =>
        of === op &&
        (end.status === "completed"
          ? type === "child_completed"
          : type === "child_failed" && meta?.end === endName(end)),
    );
  }

  #isTold({ runId }: ResultReceiver, messageId: string): boolean {
    const receiver = this.#state.runs.get(runId);
    return !receiver || isClosed(receiver.status) || this.#told.has(messageId);
  }

  #isToClose({ runId, status }: RunRecord, { runId: child, policy }: Birth): boolean {
    if (policy === "abandon" || !this.#isOpen(child)) return false;
    if (!isClosed(status) && !this.#givenUp.has(`${runId} ${child}`)) return false;
    return policy === "terminate" || !this.#isReached(runId, child);
  }

  /** Whether the parent's cancel has come to the child. */
  #isReached(parentRunId: string, child: string): boolean {
    const isCanceled = this.#state.messageIds.get(child)?.has(closeMessageId(parentRunId, child)) ?? false;
    return isCanceled || childOf(this.#state, parentRunId, child)?.open === false;
  }

  /** Whether the chain of runs that begins with it goes on. */
  #isOpen(firstRunId: string): boolean {
    let row = this.#state.runs.get(firstRunId);
    while (row?.continuedAs) row = this.#state.runs.get(row.continuedAs);
    return row !== undefined && !isClosed(row.status);
  }

  #replies({ runId, firstRunId }: RunRecord): Waiting[] {
    return [...(this.#state.updates.get(firstRunId) ?? [])].flatMap(([messageId, update]) =>
      update.runId === runId && update.replyTo ? [{ messageId, to: update.replyTo }] : [],
    );
  }

  #remember(): void {
    const { watches, updates, runs } = this.#state;
    this.#watchers = new Map([...watches].map(([runId, some]) => [runId, [...some]]));
    const waiting = new Map<string, readonly Waiting[]>();
    for (const chain of updates.keys())
      for (const { runId } of new Set(updates.get(chain)?.values() ?? [])) {
        const row = runs.get(runId);
        const some = row ? this.#replies(row) : [];
        if (some.length > 0) waiting.set(runId, some);
      }
    this.#waiting = waiting;
  }
}

/** Whether the call may end runs. */
function changesRuns(method: StoreMethod): boolean {
  return ["runs.commit", "runs.terminate", "runs.start", "workers.sweep", "runs.reopenIfFailed"].includes(method);
}
