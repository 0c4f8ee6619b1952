/**
 * The run machine: one run of one workflow, as a deterministic function of its history.
 *
 * It owns the ops that the code has asked for, the order in which events reach the code, and the check of code against
 * history. It does no I/O and knows no clock: its driver (the run executor, or the replayer) opens and closes its turns,
 * performs what was asked for, and writes what is `fresh`. How the function is called and what its end means is in
 * workflow-call.ts; what cancels a run or a part of it, in cancellation.ts.
 *
 * Invariants
 *  M1. Giving an event its seq and delivering it are one act. What the code has seen is exactly events 0…seenSeq.
 *  M2. Commands get their seq during the turn that issued them, so they follow directly after the event of that turn. Timers
 *      of receives do not bind: changed code may ask for them in another turn, or never.
 *  M3. With unchanged code, a recorded completion finds its op asked for and pending. Anything else is a divergence: the
 *      machine stops there, and nothing it has asked for may be executed. What changed code need not account for is in
 *      passed-over.ts.
 *  M4. The code runs only between open and close. A ctx call at any other time is refused.
 */
import type { HoldfastError } from "../errors/holdfast-error.ts";
import {
  type EventDraft,
  eventCategory,
  eventRole,
  type HistoryEvent,
  isFailure,
  isLenient,
  isMessage,
} from "../model/event.ts";
import type { Payload } from "../model/payload.ts";
import { drawnFrom } from "../model/run-seed.ts";
import { NONE } from "../model/short-list.ts";
import { callSite, outsideTurnError, reportOutside, runEndedError } from "./code/call-site.ts";
import { isUnreadable } from "./code/unreadable.ts";
import { callWorkflow, finish } from "./code/workflow-call.ts";
import { AbortOnce } from "./context/abort-once.ts";
import { cancellationError, cancelScope, givenUp } from "./context/cancellation.ts";
import type { Context } from "./context/context.ts";
import { cancelIgnoredError, Refusals } from "./context/refusals.ts";
import { createContext } from "./context/run-context.ts";
import { Scope } from "./context/scope.ts";
import { SeededRandom } from "./context/seeded-random.ts";
import { DrivenMachine, startOf } from "./driven-machine.ts";
import { queryChanged } from "./handlers.ts";
import { Annotator } from "./history/annotator.ts";
import { Cursor } from "./history/cursor.ts";
import { notAskedFault, noteNotAskedFault, otherCommandFault, otherKindFault } from "./history/divergence.ts";
import { Edits } from "./history/edits.ts";
import { Failures } from "./history/failures.ts";
import { applyFork } from "./history/forks.ts";
import { passOver } from "./history/passed-over.ts";
import { applyRetry, happenBeforeRetry } from "./history/retries.ts";
import type { Machine, MachineParams, Outcome } from "./machine.ts";
import type { MachineInside } from "./machine-inside.ts";
import { type AskInit, newOp, type Op, type OpHost, type OpModule, quiet } from "./op.ts";
import { Compensations } from "./ops/compensation.ts";
import { Patches } from "./ops/patch.ts";
import { addressed, receiveSignal, valueFor } from "./ops/receive.ts";
import { SideEffects } from "./ops/side-effect.ts";
import type { Compensation, CompensationInfo } from "./ops/step-options.ts";
import { acceptedUpdate, handleUpdate } from "./ops/update.ts";
import type { RunCode } from "./run-code.ts";

export class RunMachine extends DrivenMachine implements Machine, MachineInside {
  readonly params: MachineParams;
  readonly code: RunCode;
  readonly root = new Scope(null);
  readonly patches = new Patches(this);
  readonly compensations = new Compensations(this);
  readonly sideEffects: SideEffects;
  readonly abort = new AbortOnce();
  readonly context: Context;
  readonly retries: number;

  // Assigned only in this file: the machine's parts see them through MachineInside, where they are read-only.
  turnIsRecorded = false;
  seenSeq = 0;
  askedSeq = 0;
  turnAt: number;
  currentScope: Scope = this.root;

  protected readonly cursor: Cursor;
  readonly #annotator: Annotator;
  /** Where the compensations run; once this scope exists, nothing may be asked for outside it. */
  #undoScope: Scope | undefined;
  /** The event of this turn is from before the run was retried, but this turn was not taken then. */
  #turnIsNew = false;
  readonly #refusals = new Refusals();
  #random: SeededRandom | undefined;
  /** From its next turn on, the run draws from this seed. */
  #nextSeed: string | undefined;
  #failures: Failures | undefined;

  constructor(params: MachineParams, code: RunCode) {
    super(params);
    this.params = params;
    this.code = code;
    this.sideEffects = new SideEffects(this, params.record);
    this.cursor = new Cursor(params.history, (fork) => this.#passFork(fork));
    this.#annotator = new Annotator(params.worker);
    this.turnAt = startOf(params.run);
    this.retries = this.cursor.retries();
    this.pausing = this.cursor.pausing;
    this.context = createContext(this, this.root);
  }

  get cancellation(): Error | null {
    return this.root.canceled;
  }

  get random(): SeededRandom {
    this.#random ??= new SeededRandom(drawnFrom(this.run.seed));
    return this.#random;
  }

  get failures(): Failures {
    this.#failures ??= new Failures((error) => this.code.retryRun?.(error, this.retries + 1) ?? false);
    return this.#failures;
  }

  // Driving ---------------------------------------------------------------------------------------------------------

  /** Calls the workflow function. */
  start(): void {
    const input = this.codec.decode(this.run.input);
    if (this.forks.length > 0) this.edits = new Edits(this.params.history, this.codec);
    this.started = true;
    this.turnIsRecorded = (this.replaying && !this.isCut(0)) || (this.params.begun ?? false);
    this.#enter(this.root, this.turnAt);
    callWorkflow(this, this.cursor, input);
  }

  endUnstarted(cause: EventDraft): void {
    this.started = true;
    this.#cancel(cause);
    this.outcome = { type: "failed", error: this.root.canceled, compensation: null, neverCalled: true };
  }

  replayNext(): boolean {
    for (let event = this.cursor.next(); event; event = this.cursor.next()) {
      this.seenSeq = event.seq;
      if (passOver(event, this, this.cursor)) continue;
      const role = eventRole(event.type);
      if (role === "command") return this.#diverge(event, notAskedFault(event));
      if (this.outcome) return this.#diverge(event, "the workflow function has ended, but its history continues.");
      if (role === "delivered") return this.#deliver(event);
      if (!this.#applyNote(event)) return false;
    }
    return false;
  }

  deliverLive(draft: EventDraft, now: number): boolean {
    const op = isMessage(draft) ? undefined : this.ops.get(draft.op);
    if (!op && !isMessage(draft)) {
      const stray = this.cursor.isStray(draft, this.ops);
      return stray && this.#diverge({ seq: this.nextSeq, at: now, ...draft }, notAskedFault(draft));
    }
    const noted = op ? this.#annotator.annotate(draft, op, this.nextSeq) : addressed(this, draft);
    const event = this.#append(noted, draft.type === "timer_fired" ? Math.max(now, op?.fireAt ?? now) : now);
    if (!this.outcome) return this.#deliver(event);
    // The code has ended. What was in progress is recorded for the next run attempt, if there is one.
    if (op && draft.type !== "child_started") this.release(op);
    happenBeforeRetry(this, op, event);
    return false;
  }

  note(draft: EventDraft, now: number): void {
    const op = this.ops.get(draft.op);
    if (op) this.#applyNote(this.#append(this.#annotator.annotate(draft, op, this.nextSeq), now));
  }

  noteRun(draft: EventDraft, now: number): void {
    const { type, meta, seq } = this.#append(draft, now);
    if (type === "pause_requested") this.pausing = meta ?? {};
    else if (type === "run_resumed") this.resumeAfter(seq);
  }

  close(): void {
    this.inTurn = false;
    if (this.violation?.code === "workflow_bug" || isUnreadable(this.violation)) this.unwritten.cutTurn();
    this.currentScope = this.root;
  }

  // For the context ---------------------------------------------------------------------------------------------------

  contextIn(scope: Scope): Context {
    return createContext(this, scope);
  }

  assertInTurn(method: string, name?: string): void {
    if (this.inTurn && !this.outcome && !this.sideEffects.running && !this.handlers?.calling) return;
    const call = name === undefined ? method : `${method}(${JSON.stringify(name)})`;
    this.handlers?.assertNotInside(call);
    this.sideEffects.assertNotInside(call);
    if (this.outcome) throw runEndedError(call, this.run);
    const error = outsideTurnError(call);
    if (error.code === "outside_turn") reportOutside(this, error);
    throw error;
  }

  ask(module: OpModule, name: string, scope: Scope, init: AskInit): Promise<unknown> {
    if (this.divergence) return new Promise(() => {});
    const id = this.ops.nextId(name, module.prefix, module.unlimited);
    if (module.isDone(id, this)) return Promise.resolve();
    const owner = this.ownerOf(scope);
    const canceled = this.#undoScope && owner !== this.#undoScope ? givenUp(this) : owner.cancellation();
    if (canceled && !module.evenCanceled) return this.#refuse(canceled);
    const op = newOp(id, module, owner, this.seenSeq, init, this.params.locate ? callSite() : undefined);
    this.ops.add(op);
    this.askedSeq = this.seenSeq;
    module.asked(op, name, init, this);
    op.gate = this.unwritten.nextSeq - 1;
    return op.promise;
  }

  ownerOf(scope: Scope): Scope {
    return (scope === this.root ? this.currentScope : scope).nearestOpen();
  }

  /** Nothing may be asked for here any longer. */
  #refuse(canceled: Error): Promise<never> {
    if (this.#refusals.another()) return quiet(Promise.reject(canceled));
    this.violate(cancelIgnoredError(this.run, canceled));
    return new Promise(() => {});
  }

  command(...[draft, binds = true, completed, refusal]: Parameters<OpHost["command"]>): HistoryEvent | undefined {
    const taken = this.cursor.takeCommand(draft.type, draft.op, (other) => this.ops.isRetired(other.op));
    if (taken) this.seenSeq = taken.seq;
    else if (!this.repeating) {
      this.cursor.leaveRest();
      return this.divergence ? undefined : this.#append(completed?.() ?? draft, this.turnAt);
    }
    const loosely = this.#turnIsNew || !binds;
    const event = taken ?? this.cursor.takeAhead(draft, loosely, (op) => this.ops.isRetired(op));
    if (event) return event;
    const anew = this.cursor.anew && eventCategory(draft.type) !== "marker";
    if (isLenient(draft.type) && !anew) return undefined;
    // It is recorded as soon as possible: at the end of the history so far.
    if (loosely || anew) return this.unwritten.append(completed?.() ?? draft, this.turnAt);
    refusal?.();
    const next = this.cursor.peek() as HistoryEvent;
    this.#diverge(next, otherCommandFault(draft, next));
    return undefined;
  }

  /**
   * An op is retired. New code records that where it passes; this distinguishes it from code that reaches a point where
   * earlier code had the op in flight. What this code does from there on is new, in turns that the earlier code has
   * finished: it is recorded at the end, after a mark, and replay finds it there. Without the mark that would be a
   * divergence.
   */
  retire(op: Op): void {
    const draft: EventDraft = { type: "op_retired", op: op.id };
    const taken = this.cursor.takeCommand(draft.type, draft.op, (other) => this.ops.isRetired(other.op));
    if (taken) this.seenSeq = taken.seq;
    else if (!this.repeating) this.command(draft);
    else if (this.cursor.goOnWithout(op.id)) this.unwritten.append(draft, this.turnAt);
  }

  // For the kinds of op -----------------------------------------------------------------------------------------------

  createTimer(op: Op, fireAt: number, binds: boolean): void {
    const draft: EventDraft = { type: "timer_created", op: op.id, meta: { fireAt, ...op.scope.branch } };
    const event = (binds ? undefined : this.cursor.takeAside(op.id)) ?? this.command(draft, binds);
    // History keeps the promised time, whatever the code says now.
    this.addTimer(op, event?.meta?.fireAt ?? fireAt);
  }

  addUndo(name: string, op: Op, undo: Compensation<unknown>): void {
    this.compensations.addForStep(name, op, undo);
  }

  learned(op: Op, outcome: CompensationInfo["outcome"] | "never_began", result: unknown): void {
    this.compensations.learned(op, outcome, result);
  }

  hasBegun(id: string): boolean {
    return this.cursor.hasBegun(id);
  }

  isUndone(id: string): boolean {
    return this.cursor.isUndone(id);
  }

  /** The decision is final, whatever the code does with what is thrown next. A part that was given up decides nothing. */
  continueAsNew(input: Payload, scope: Scope): void {
    const canceled = this.#undoScope ? givenUp(this) : scope.cancellation();
    if (canceled && (this.#undoScope || canceled !== this.root.canceled)) throw canceled;
    finish(this, { type: "continued", input });
  }

  release(op: Op): void {
    this.ops.release(op);
    op.module.released(op, this);
  }

  beginUndo(): Scope {
    this.compensating = true;
    this.#undoScope = new Scope(this.root, true);
    return this.#undoScope;
  }

  conclude(outcome: Outcome, forgotten: readonly Op[] = NONE): void {
    this.outcome = outcome;
    this.forgotten = forgotten;
  }

  violate(error: HoldfastError): void {
    if (this.queried !== undefined) return void this.spoil(queryChanged(this.run, this.queried, error));
    this.violation ??= error;
    this.params.driver?.violated();
  }

  // Inside --------------------------------------------------------------------------------------------------------------

  #append(draft: EventDraft, at: number): HistoryEvent {
    const event = this.unwritten.append(draft, at);
    this.seenSeq = event.seq;
    return event;
  }

  /** The whole run is canceled, or has reached its deadline. Only the first of these events counts. */
  #cancel(event: EventDraft): void {
    if (this.root.canceled) return;
    this.cancelCause = event.type === "deadline_reached" ? "deadline" : "cancel";
    const error = cancellationError(this.run, event);
    cancelScope(this, this.root, error);
    this.abort.abort(error);
  }

  #enter(scope: Scope, at: number): void {
    this.inTurn = true;
    this.queried = undefined;
    this.unwritten.beginTurn();
    this.#refusals.newTurn();
    this.signals.newTurn();
    this.currentScope = scope;
    this.turnAt = at;
    if (this.#nextSeed !== undefined) this.#random = new SeededRandom(this.#nextSeed, drawnFrom(this.run.seed));
    this.#nextSeed = undefined;
  }

  #deliver(event: HistoryEvent): boolean {
    this.turnIsRecorded = event.seq <= this.cursor.all().length && !this.isCut(event.seq);
    this.#turnIsNew = this.cursor.looseSince(event) !== undefined;
    if (!isMessage(event)) return this.#complete(event);
    if (event.type === "update_accepted") return this.#accept(event);
    if (event.op !== null) return this.#receive(event);
    this.#enter(this.root, event.at);
    this.#cancel(event);
    return true;
  }

  /** A signal goes to the first receive of that name, or is kept. */
  #receive(event: HistoryEvent): boolean {
    const { op, id } = receiveSignal(this, event);
    if (!op && event.meta?.edited) return this.#diverge(event, notAskedFault(event));
    this.#enter(op?.scope ?? this.root, event.at);
    if (op) this.release(op);
    else this.cursor.takeAside(id); // nobody will wait for it, so its timer is over
    op?.resolve(valueFor(op, event, this));
    return true;
  }

  #accept(event: HistoryEvent): boolean {
    const handler = acceptedUpdate(this.ops, this.handlers, event.op as string);
    if (!handler) return this.#diverge(event, notAskedFault(event));
    this.#enter(this.root, event.at);
    handleUpdate(this, event, handler, this.params.record);
    return true;
  }

  #complete(event: HistoryEvent): boolean {
    const op = this.ops.get(event.op);
    if (!op) return this.#diverge(event, notAskedFault(event));
    if (!op.module.fits(op, event.type)) return this.#diverge(event, otherKindFault(event, op));
    if (event.type !== "child_started") this.release(op);
    this.#enter(op.scope, event.at);
    if (isFailure(event)) this.failures.add(op, event);
    op.module.settle(op, event, this);
    return true;
  }

  /** Applies what the engine has recorded about an op, or about the run. */
  #applyNote(event: HistoryEvent): boolean {
    const op = this.ops.get(event.op);
    if (event.type === "run_forked") this.#passFork(event);
    else if (event.op === null) applyRetry(this, event);
    return event.op === null || op?.module.note(op, event) || this.#diverge(event, noteNotAskedFault(event));
  }

  #passFork(fork: HistoryEvent): void {
    applyFork(this, fork);
    this.#nextSeed = fork.meta?.seed;
  }

  #diverge(event: HistoryEvent, fault: string): false {
    this.divergence ??= this.ops.divergence(event, fault, this.cursor.all());
    return false;
  }
}
