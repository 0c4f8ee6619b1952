/**
 * The ops of one live run that concern other runs: children, and messages. Each of them is a call of the store, made when its
 * gate is durable, again and again until it is answered; the answer is an event. What history says about them is in
 * replay/ops/child.ts and message.ts.
 *
 * Invariants
 *  K1. A child has one run id per generation, which follows from this run and the op: whoever makes the call again finds the run.
 *  K2. The end of a child names the run and which of its ends it was. One that the op does not wait for is dropped.
 *  K3. A child that the same worker has executed tells its parent at once, and owes its end until the parent has recorded it.
 *  K4. A child that the code has given up is closed by a commit (`closes`), which also refuses a start that is still on its way.
 */

import { closeReason } from "../../calls/close-reason.ts";
import { inputHash } from "../../calls/input-hash.ts";
import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { type EndedRun, endedRun, endName } from "../../model/ended-run.ts";
import type { EventMeta, HistoryEvent } from "../../model/event.ts";
import { closeMessageId } from "../../model/ids.ts";
import { EMPTY_PAYLOAD } from "../../model/payload.ts";
import { isClosed, type Run } from "../../model/run.ts";
import { appended, NONE } from "../../model/short-list.ts";
import type { Timer } from "../../ports/clock.ts";
import type { RunRef } from "../../ports/store.ts";
import type { DrivenOp } from "../../replay/op.ts";
import type { ChildWork } from "../../replay/ops/child-work.ts";
import type { MessageWork } from "../../replay/ops/message-work.ts";
import type { ExecutorHost } from "../execute/executor-host.ts";
import type { HeldRun } from "../execute/held-run.ts";
import type { QueuedDraft } from "../execute/message-draft.ts";
import { canceledRunId, windUpReason } from "./closed-children.ts";
import { endDraft } from "./end-draft.ts";
import { type EndDebt, type NearParent, ToldEnds } from "./near-ends.ts";
import { reopenChild } from "./reopen-child.ts";
import { STARTS_MAX } from "./run-caller.ts";
import { addressOf, isAwaited, isFromFormer, namespaceRefused, sendMessage } from "./send-message.ts";
import { type Descent, descentFrom, startOfChild } from "./start-of-child.ts";

/** How long a run stays after the end of a child, for the next one. */
const LINGER_MS = 50;

/** The live run that these ops belong to. */
export interface OtherRunsOwner extends HeldRun {
  push(draft: QueuedDraft): void;
  /** Whether everything that the code had seen when it asked for the op is durable. */
  mayUse(op: DrivenOp): boolean;
}

export class OtherRuns implements NearParent {
  readonly #host: ExecutorHost;
  readonly #run: OtherRunsOwner;
  /** Ops whose call is still to be made. */
  #ops: readonly DrivenOp[] = NONE;
  /** Those whose call is not answered yet: there is never a second one for the same op. */
  #calling = new Set<DrivenOp>();
  /** Children that have been asked to stop, by run id. */
  readonly #stopped = new Set<string>();
  /** Children that the next try of the run must find out about: history says so. */
  readonly #noted = new Set<DrivenOp>();
  /** Children that the same worker holds since they were started, by run id, and when the newest of them began. */
  readonly #near = new Set<string>();
  #newestNear = 0;
  /** Children that were started and have not ended on this worker, and when one last did: others may follow. */
  #open = 0;
  #lastEnd = Number.NEGATIVE_INFINITY;
  #holdTimer: Timer | undefined;
  readonly #told: ToldEnds;
  readonly #descent: Descent;
  /** Answers to calls that were made before do not count. */
  #generation = 0;

  constructor(host: ExecutorHost, run: OtherRunsOwner) {
    this.#host = host;
    this.#run = run;
    this.#descent = descentFrom(run.run);
    this.#told = new ToldEnds((debt) => host.others.owing(debt, debt));
  }

  /** Whether an answer is to come, or a call to be made, or a child may end here at any moment: then the run stays here. */
  holding(): boolean {
    this.#take();
    return this.#calling.size > 0 || this.#ops.some((op) => op.pending && !this.#isEarly(op)) || this.#holdsNear();
  }

  get calling(): boolean {
    return this.#calling.size > 0;
  }

  #holdsNear(): boolean {
    const { clock, holdMs } = this.#host;
    if (this.#open === 0 || this.#host.draining()) return false;
    const near = this.#near.size > 0 ? this.#newestNear + holdMs : this.#lastEnd + Math.min(holdMs, LINGER_MS);
    const leftMs = near - clock.monotonic();
    if (leftMs <= 0) return false;
    this.#holdTimer ??= clock.setTimer(leftMs, () => {
      this.#holdTimer = undefined;
      this.#run.poke();
    });
    return true;
  }

  ended(debt: EndDebt): boolean {
    const { op } = debt.parent as NonNullable<EndDebt["parent"]>;
    if (!this.#run.machine.op(op)?.pending) return false;
    this.#open -= 1;
    this.#lastEnd = this.#host.clock.monotonic();
    this.#told.add(op, debt);
    this.#run.push(endDraft("child", op, debt.end));
    return true;
  }

  left(childRunId: string): void {
    if (this.#near.delete(childRunId)) this.#run.poke();
  }

  /** These events are durable. */
  written(events: readonly HistoryEvent[]): void {
    const { machine } = this.#run;
    this.#told.written(events, machine.fresh, (op) => machine.op(op)?.pending ?? false);
  }

  /** Ops whose call is to be made later: the run was retried because of them. */
  get delayed(): readonly DrivenOp[] {
    return this.#ops.length === 0 ? NONE : this.#ops.filter((op) => op.pending && this.#delayOf(op) !== undefined);
  }

  /** When the call may be made. A child that is being wound up does not wait. */
  #delayOf(op: DrivenOp): number | undefined {
    const { child, message } = this.#childFirst(op) ?? op;
    return child?.closing ? undefined : (child ?? message)?.retryAt;
  }

  #isEarly(op: DrivenOp): boolean {
    return (this.#delayOf(op) ?? 0) > this.#host.storeTime.now();
  }

  /** The run is no longer here. It may come back as it is. */
  leave(): void {
    const { delayed } = this;
    this.clear();
    this.#ops = delayed;
  }

  /** Its last turns are taken back. */
  clear(): void {
    this.#generation += 1;
    this.#calling = new Set();
    this.#stopped.clear();
    this.#noted.clear();
    this.#ops = NONE;
    this.#host.near.leave(this.#run.runId);
    this.#near.clear();
    this.#open = 0;
    this.#lastEnd = Number.NEGATIVE_INFINITY;
    this.#holdTimer?.cancel();
    this.#holdTimer = undefined;
    this.#told.payAll();
  }

  #take(): void {
    for (const op of this.#run.machine.takeCalls()) if (this.#needsCall(op)) this.#ops = appended(this.#ops, op);
  }

  /** After a retry and in a fork, a message may be for a child that is still to be found or started: the op of that child. */
  #childFirst({ message }: DrivenOp): DrivenOp | undefined {
    if (!message?.child || (message.child.begun && !message.child.lost)) return undefined;
    const op = this.#run.machine.op(message.child.op);
    return op?.pending ? op : undefined;
  }

  /** Whether the store is still to be called for it. */
  #needsCall({ pending, child, message }: DrivenOp): boolean {
    if (!pending) return false;
    if (!child) return message !== undefined;
    return !child.begun || child.lost || (child.closing && !this.#stopped.has(child.identity.runId));
  }

  /** Makes the calls that may be made: no more at once than one call of the store takes, so that the store need not wait for the others. */
  startDue(): void {
    this.#take();
    if (this.#ops.length === 0) return;
    const ops = this.#ops;
    this.#ops = NONE;
    const { lease, clock } = this.#host;
    const active = lease.active();
    let calls = 0;
    for (const op of ops) {
      if (!this.#needsCall(op)) continue;
      const waits = this.#calling.has(op) || this.#isEarly(op) || this.#childFirst(op);
      const may = active && this.#run.mayUse(op) && !waits;
      if (may) calls += 1;
      if (may && calls <= STARTS_MAX) void this.#call(op);
      else this.#ops = appended(this.#ops, op);
    }
    if (calls > STARTS_MAX) clock.immediate(() => this.#run.poke());
  }

  async #call(op: DrivenOp): Promise<void> {
    const generation = this.#generation;
    const gone = (): boolean => this.#generation !== generation || !this.#run.here || !op.pending;
    const calling = this.#calling;
    calling.add(op);
    try {
      if (op.message) await this.#send(op, gone);
      else if (op.child?.lost) await this.#find(op, op.child, gone);
      else if (op.child) await this.#start(op, op.child, gone);
    } catch (error) {
      if (!gone() && !isHoldfastError(error, "client_closed")) this.#fail(op, error);
    }
    calling.delete(op);
    if (this.#generation === generation) this.#run.poke();
  }

  #again(op: DrivenOp): void {
    this.#ops = appended(this.#ops, op);
  }

  // Children ------------------------------------------------------------------------------------------------------------

  async #start(op: DrivenOp, child: ChildWork, gone: () => boolean): Promise<void> {
    const answer = await this.#host.others.start(startOfChild(this.#descent, op.id, child, this.#host.random));
    if (gone()) return;
    switch (answer.outcome) {
      case "created": {
        const { runId, id, workflow, version, status } = answer.run;
        if (!child.begun) {
          const started = { runId, id, workflow, version };
          const meta = child.input ? { child: started, inputHash: inputHash(child.input) } : { child: started };
          this.#run.push({ type: "child_started", op: op.id, meta });
        }
        this.#host.near.enter(this.#run.runId, this);
        this.#open += 1;
        if (this.#host.near.holds(runId)) {
          this.#near.add(runId);
          this.#newestNear = this.#host.clock.monotonic();
        }
        // It may have ended while this run was elsewhere, and the message about it may have been for nobody.
        if (isClosed(status)) return this.#report(op, child, gone);
        return child.closing ? this.#cancel(child) : undefined;
      }
      case "exists": {
        const { id, runId, status } = answer.run;
        const message = `Run "${id}" already exists and is ${status}: it cannot become the child of another run.`;
        return this.#fail(op, new HoldfastError("run_already_exists", message, { data: { id, runId, status } }));
      }
      case "not_allowed":
        return this.#fail(op, namespaceRefused(this.#run.run, this.#run.run.namespace));
      default:
        // It was given up once: another one takes its place, unless this run has ended, which its next commit will find.
        if (child.closing) return this.#giveUp(op, child);
        return this.#replace(op, child);
    }
  }

  /** The run was retried: what has become of its child? */
  async #find(op: DrivenOp, child: ChildWork, gone: () => boolean): Promise<void> {
    const run = await this.#host.others.readLast(this.#ref(child));
    if (gone()) return;
    if (child.closing && (!run || isClosed(run.status))) return this.#learn(op, child, run);
    if (!run) return this.#replace(op, child);
    if (run.status === "completed") return this.#end(op, child, endedRun(run));
    if (run.status === "failed") {
      const reopened = await reopenChild(this.#host.others, run);
      if (gone()) return;
      return reopened ? this.#await(op) : this.#replace(op, child);
    }
    if (isClosed(run.status)) return this.#replace(op, child);
    if (child.failed || (child.spec.policy === "abandon" && !child.stopped)) return this.#await(op);
    // The end of this run has closed it, or will: its own end is awaited, and another one takes its place.
    await this.#cancel(child);
  }

  /** This run is being wound up: whatever the end of the child was, also one that was taken back, it is what counts now. */
  #learn(op: DrivenOp, child: ChildWork, run: Run | null): void {
    if (!run) return this.#giveUp(op, child);
    const { endOf: _endOf, ...draft } = endDraft("child", op.id, endedRun(run));
    this.#run.push(draft);
  }

  /** It goes on, and its end is awaited. */
  #await({ id }: DrivenOp): void {
    this.#run.push({ type: "op_rescheduled", op: id });
  }

  #replace(op: DrivenOp, { generation }: ChildWork): void {
    this.#run.push({ type: "op_rescheduled", op: op.id, meta: { attempt: generation + 1 } });
    this.#again(op);
  }

  async #report(op: DrivenOp, child: ChildWork, gone: () => boolean): Promise<void> {
    const run = await this.#host.others.readLast(this.#ref(child));
    if (gone()) return;
    if (!run) return this.#replace(op, child);
    if (isClosed(run.status)) return this.#end(op, child, endedRun(run));
    return child.closing ? this.#cancel(child) : undefined;
  }

  #end(op: DrivenOp, child: ChildWork, end: EndedRun): void {
    if (child.isForgotten(endName(end))) return;
    // It need not be judged again whether the op waits for it.
    const { endOf: _endOf, ...draft } = endDraft("child", op.id, end);
    this.#run.push(draft);
  }

  /** Its end comes as a message. */
  async #cancel(child: ChildWork): Promise<void> {
    const { runId, id } = this.#run.run;
    const name = windUpReason(this.#run.machine) ?? closeReason(id);
    const to = this.#ref(child);
    this.#stopped.add(child.identity.runId);
    await this.#host.others.deliver({
      to,
      kind: "cancel",
      name,
      messageId: closeMessageId(runId, child.identity.runId),
      payload: EMPTY_PAYLOAD,
    });
  }

  #ref({ identity }: ChildWork): RunRef {
    return { namespace: this.#run.run.namespace, runId: identity.runId };
  }

  /** Whether the message is about an end that nobody waits for. */
  refuses({ op: id, endOf, end, type }: QueuedDraft): boolean {
    if (endOf === undefined) return false;
    const op = this.#run.machine.op(id);
    const { child, message } = op ?? {};
    if (op && message && isAwaited(message)) return isFromFormer(message, endOf) || this.#childFirst(op) !== undefined;
    if (!op || !child || type.startsWith("message_")) return true;
    if (child.identity.runId !== endOf || child.isForgotten(end)) return true;
    if (!child.lost) return false;
    // What has become of it decides what happens now.
    this.#again(op);
    return true;
  }

  // What the code has given up --------------------------------------------------------------------------------------------

  /** The code has stopped waiting for these; the outcome of those that are closing must still be recorded. */
  stop(withdrawn: readonly DrivenOp[], closing: readonly DrivenOp[]): void {
    const { machine } = this.#run;
    for (const op of closing) {
      if (!op.child || !op.pending) continue;
      if (op.child.begun || this.#run.mayUse(op)) this.#again(op);
      else this.#giveUp(op, op.child);
    }
    const { outcome } = machine;
    if (outcome?.type === "retried" && !outcome.canceled)
      for (const op of machine.pendingOps()) if (op.child?.closing) this.#noteClosing(op, op.child);
    if (outcome) return;
    let recorded: ReadonlySet<string> | undefined;
    for (const op of withdrawn) {
      const { id, child } = op;
      // Nobody can have started it before what the code had seen was durable.
      if (!child || !(child.begun || this.#run.mayUse(op))) continue;
      recorded ??= new Set(machine.recorded.flatMap((event) => canceledRunId(event) ?? []));
      const { identity } = child;
      if (recorded.has(identity.runId)) continue;
      const reason = windUpReason(this.#run.machine);
      const meta: EventMeta = reason === undefined ? { child: identity } : { child: identity, reason };
      machine.noteRun({ type: "op_canceled", op: id, meta }, this.#host.storeTime.now());
    }
  }

  /**
   * The run is to be tried again while it is closing a child. That may have been asked to stop, by this worker or one before
   * it, so the next try must not take its end for its own: it finds out what has become of it (`#find`). A start that may be on
   * its way is refused from now on.
   */
  #noteClosing(op: DrivenOp, { begun, identity }: ChildWork): void {
    if (this.#noted.has(op) || !(begun || this.#run.mayUse(op))) return;
    this.#noted.add(op);
    const { machine } = this.#run;
    const since = machine.recorded.findLastIndex(({ type }) => type === "run_retried" || type === "run_forked");
    if (machine.recorded.some((event, i) => i > since && event.type === "op_canceled" && event.op === op.id)) return;
    const meta: EventMeta = begun ? { withdrawn: true } : { child: identity, withdrawn: true };
    machine.noteRun({ type: "op_canceled", op: op.id, meta }, this.#host.storeTime.now());
  }

  /** It was never started. */
  #giveUp({ id }: DrivenOp, { identity }: ChildWork): void {
    const error = new HoldfastError("op_canceled", `The run gave child "${id}" up before it was started.`);
    const record = { ...this.#host.record(error, { op: id }), run: identity.id };
    this.#run.push({ type: "child_failed", op: id, meta: { error: record, neverBegan: true, withdrawn: true } });
  }

  // Messages ----------------------------------------------------------------------------------------------------------------

  async #send(op: DrivenOp, gone: () => boolean): Promise<void> {
    const draft = await sendMessage(this.#host, this.#run.run, op);
    if (draft && !gone()) this.#run.push(draft);
  }

  #fail(op: DrivenOp, error: unknown): void {
    const record = this.#host.record(error);
    if (op.child) return this.#run.push({ type: "child_failed", op: op.id, meta: { error: record } });
    const about = addressOf(this.#run.run, (op.message as MessageWork).to);
    this.#run.push({ type: "message_failed", op: op.id, meta: { ...about, error: record } });
  }
}
