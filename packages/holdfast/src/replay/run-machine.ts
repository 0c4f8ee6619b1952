/**
 * The run machine: one run of one workflow, as a deterministic function of its history.
 *
 * It owns the ops that the code has asked for, the order in which events reach the code, and the check of code against
 * history. It does no I/O and knows no clock: its driver (the run executor, or the replayer) tells it when to open and close
 * a turn, performs what was asked for, and writes down what is `fresh`. How the function is called and what its end means is in
 * workflow-call.ts; what cancels a run or a part of it, in cancellation.ts.
 *
 * Invariants
 *  M1. Giving an event its seq and delivering it are one act. What the code has seen is exactly events 0…seenSeq.
 *  M2. Commands get their seq during the turn that gave them, so they stand right behind the event of that turn. Timers of
 *      receives do not bind: changed code may ask for them in another turn, or never.
 *  M3. With unchanged code a recorded completion finds its op asked for and pending. Whatever does not is a divergence:
 *      the machine stops there, and nothing it has asked for may be executed. What changed code need not account for is
 *      in passed-over.ts.
 *  M4. The code runs only between open and close. A ctx call at any other time is refused.
 */
import { fromErrorRecord } from "../errors/error-record.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import { type Attributes, type EventDraft, eventRole, type HistoryEvent } from "../model/event.ts";
import type { Payload } from "../model/payload.ts";
import type { Run } from "../model/run.ts";
import { appended, NONE } from "../model/short-list.ts";
import type { Codec } from "../ports/codec.ts";
import type { Logger } from "../ports/logger.ts";
import { AbortOnce } from "./abort-once.ts";
import { type AskInit, COMPENSATE_PREFIX, fits, isMessage, placed, quiet } from "./ask.ts";
import { callSite, outsideTurnError } from "./call-site.ts";
import { cancelRun, givenUp } from "./cancellation.ts";
import { Compensations } from "./compensations.ts";
import type { Context } from "./context.ts";
import { Cursor } from "./cursor.ts";
import { type Divergence, notAskedFault, otherCommandFault, otherKindFault } from "./divergence.ts";
import { cancelIgnoredError, reportOutside, runEndedError } from "./machine-errors.ts";
import type { MachineParams, Outcome } from "./machine-params.ts";
import { applyNote, noteBegun } from "./notes.ts";
import { newOp, type Op, type OpKind, rejectOp } from "./op.ts";
import { OpTable } from "./op-table.ts";
import { endForRetry, passOver } from "./passed-over.ts";
import { Patches } from "./patches.ts";
import { Refusals } from "./refusals.ts";
import { createContext } from "./run-context.ts";
import { Scope } from "./scope.ts";
import { SeededRandom } from "./seeded-random.ts";
import { SideEffects } from "./side-effects.ts";
import { SignalBuffer } from "./signal-buffer.ts";
import { callWorkflow, finish } from "./workflow-call.ts";

export class RunMachine {
  readonly params: MachineParams;
  readonly run: Run;
  readonly codec: Codec;
  readonly log: Logger;
  readonly root = new Scope(null);
  readonly ops: OpTable;
  readonly signals = new SignalBuffer();
  readonly patches = new Patches(this);
  readonly compensations = new Compensations(this);
  readonly sideEffects: SideEffects;
  /** For `ctx.abortSignal`. */
  readonly abort = new AbortOnce();
  readonly context: Context;

  /** Events that are not in the store yet, and attributes set by them. */
  fresh: readonly HistoryEvent[] = NONE;
  freshAttributes: Attributes | null = null;
  /** Step ops asked for, and ops that the code has stopped waiting for, since the driver last looked. */
  asked: readonly Op[] = NONE;
  withdrawn: readonly Op[] = NONE;
  /** Steps to abort whose outcome is still to be recorded, because they may have to be compensated. */
  closing: readonly Op[] = NONE;
  outcome: Outcome | undefined;
  /** What the function had left pending when it returned. */
  forgotten: readonly Op[] = NONE;
  divergence: Divergence | undefined;
  /** The code did something that cannot be replayed. */
  violation: HoldfastError | undefined;
  /** Why the run is being wound up from outside. */
  cancelCause: "cancel" | "deadline" | undefined;
  compensating = false;
  /** Where the compensations run; once there is such a scope, nothing may be asked for outside of it. */
  undoScope: Scope | undefined;
  /** How often the run as a whole has been tried again. */
  readonly retries: number;
  started = false;
  inTurn = false;
  /** Whether the turn was finished before: what the code writes to its log in it has been written, and nothing in it is new. */
  turnIsRecorded = false;
  nextSeq: number;
  seenSeq = 0;
  /** Time of the event that opened this turn: what `ctx.now()` says. */
  turnAt: number;
  currentScope: Scope = this.root;

  readonly #cursor: Cursor;
  #lastAt: number;
  /** The event of this turn is from before the run was tried again, but this turn was not taken then. */
  #turnIsNew = false;
  /** What was to be written when this turn began, its event included. */
  #freshBefore = 0;
  #attributesBefore: Attributes | null = null;
  readonly #refusals = new Refusals();
  #random: SeededRandom | undefined;

  constructor(params: MachineParams) {
    this.params = params;
    this.run = params.run;
    this.codec = params.codec;
    this.log = params.log;
    this.sideEffects = new SideEffects(this, params.record);
    this.#cursor = new Cursor(params.history);
    this.ops = new OpTable(params.opsMax);
    this.nextSeq = params.history.length + 1;
    this.turnAt = params.run.startedAt ?? params.run.createdAt;
    this.#lastAt = Math.max(this.turnAt, this.#cursor.last?.at ?? 0);
    this.retries = this.#cursor.retries();
    this.context = createContext(this, this.root);
  }

  get replaying(): boolean {
    return this.#cursor.replaying;
  }

  /** Whether what the code does now has been done before. */
  get repeating(): boolean {
    return this.#cursor.repeating;
  }

  get random(): SeededRandom {
    this.#random ??= new SeededRandom(this.run.seed);
    return this.#random;
  }

  // Driving ---------------------------------------------------------------------------------------------------------

  /** First turn: calls the workflow function. */
  start(): void {
    const input = this.codec.decode(this.run.input);
    this.started = true;
    this.turnIsRecorded = this.replaying || (this.params.begun ?? false);
    this.#enter(this.root, this.turnAt);
    void callWorkflow(this, this.#cursor, input);
  }

  /** Ends a run that was canceled, or has reached its deadline, before its code was ever called. */
  endUnstarted(cause: EventDraft): void {
    this.started = true;
    cancelRun(this, cause);
    this.outcome = { type: "failed", error: this.root.canceled, compensation: null, neverCalled: true };
  }

  /** Delivers the next recorded event that the code sees; false when there is none left, or on divergence. */
  replayNext(): boolean {
    for (let event = this.#cursor.next(); event; event = this.#cursor.next()) {
      this.seenSeq = event.seq;
      if (passOver(event, this, this.#cursor)) continue;
      const role = eventRole(event.type);
      if (role === "command") {
        return this.#diverge(event, notAskedFault(event));
      }
      if (this.outcome) return this.#diverge(event, "the workflow function has ended, but its history goes on.");
      if (role === "delivered") return this.#deliver(event);
      if (!this.#applyNote(event)) return false;
    }
    return false;
  }

  /** Gives an event its place and delivers it; false when its op is no longer pending, and nothing was recorded. */
  deliverLive(draft: EventDraft, now: number): boolean {
    const op = this.ops.get(draft.op);
    if (!isMessage(draft) && !op) {
      const stray = this.#cursor.isStray(draft, (id) => this.ops.wasAsked(id));
      return stray && this.#diverge({ seq: this.nextSeq, at: now, ...draft }, notAskedFault(draft));
    }
    const event = this.append(draft, draft.type === "timer_fired" ? Math.max(now, op?.fireAt ?? now) : now);
    if (!this.outcome) return this.#deliver(event);
    // The code has ended. What was under way is written down for the next try, if there is to be one.
    if (op && !isMessage(draft)) this.release(op);
    if (op) endForRetry(this, op, event);
    return false;
  }

  /** Writes down something about an op that the code does not see; ignored when the op is no longer pending. */
  note(draft: EventDraft, now: number): void {
    if (!this.ops.get(draft.op)) return;
    this.#applyNote(this.append(draft, now));
  }

  close(): void {
    this.inTurn = false;
    if (this.violation?.code === "workflow_bug") this.#cutTurn();
    this.currentScope = this.root;
  }

  /** Fixed code is to take this turn again: its event stays, what the code did in it does not. */
  #cutTurn(): void {
    this.fresh = this.fresh.slice(0, this.#freshBefore);
    this.freshAttributes = this.#attributesBefore;
  }

  append(draft: EventDraft, at: number): HistoryEvent {
    const event = this.#record(draft, at);
    this.seenSeq = event.seq;
    return event;
  }

  #record(draft: EventDraft, at: number): HistoryEvent {
    this.#lastAt = Math.max(this.#lastAt, at);
    const event = placed(draft, this.nextSeq++, this.#lastAt);
    this.fresh = appended(this.fresh, event);
    return event;
  }

  // For the context ---------------------------------------------------------------------------------------------------

  /** The ctx of a branch. */
  contextIn(scope: Scope): Context {
    return createContext(this, scope);
  }

  /** Refuses a ctx call at a moment at which it could not be replayed. */
  assertInTurn(method: string, name?: string): void {
    if (this.inTurn && !this.outcome && !this.sideEffects.running) return;
    const call = name === undefined ? method : `${method}(${JSON.stringify(name)})`;
    this.sideEffects.assertNotInside(call);
    if (this.outcome) throw runEndedError(call, this.run);
    const error = outsideTurnError(call);
    if (error.code === "outside_turn") reportOutside(this, error);
    throw error;
  }

  /** Registers an op; the promise never raises an unhandled rejection, whether or not anybody awaits it. */
  ask(kind: OpKind, name: string, scope: Scope, init: AskInit): Promise<unknown> {
    if (this.divergence) return new Promise(() => {});
    const id = this.ops.nextId(name, init);
    if (init.prefix === COMPENSATE_PREFIX && this.#cursor.isUndone(id)) return Promise.resolve();
    const owner = (scope === this.root ? this.currentScope : scope).nearestOpen();
    const canceled = this.undoScope && owner !== this.undoScope ? givenUp(this) : owner.cancellation();
    if (canceled && kind !== "retired") return this.#refuse(canceled);
    const op = newOp(id, kind, owner, this.seenSeq, init, this.params.locate ? callSite() : undefined);
    this.ops.add(op);
    noteBegun(op, this.#cursor);
    if (init.fireAt !== undefined) this.#createTimer(op, init.fireAt);
    op.gate = this.nextSeq - 1;
    if (kind === "step") this.asked = appended(this.asked, op);
    if (kind === "receive") this.signals.wait(op);
    return op.promise;
  }

  /** Nothing may be asked for here any more. */
  #refuse(canceled: Error): Promise<never> {
    if (this.#refusals.another()) return quiet(Promise.reject(canceled));
    this.violate(cancelIgnoredError(this.run, canceled));
    return new Promise(() => {});
  }

  /**
   * Records something that the code does, or finds it recorded. Undefined: it stands nowhere, and this is not the place to add it.
   * What does not bind may stand in another turn than the one in which the code does it now.
   */
  command(draft: EventDraft, binds = true): HistoryEvent | undefined {
    const taken = this.#cursor.takeCommand(draft.type, draft.op, (other) => this.ops.isRetired(other.op));
    if (taken) this.seenSeq = taken.seq;
    else if (!this.repeating) {
      this.#cursor.leaveRest();
      return this.divergence ? undefined : this.append(draft, this.turnAt);
    }
    const loosely = this.#turnIsNew || !binds;
    const event = taken ?? this.#cursor.takeAhead(draft.type, draft.op, loosely, (op) => this.ops.isRetired(op));
    if (event || Cursor.isLenient(draft.type)) return event;
    // It is recorded as soon as that is possible: at the end of what there is.
    if (loosely) return this.#record(draft, this.turnAt);
    const next = this.#cursor.peek() as HistoryEvent;
    this.#diverge(next, otherCommandFault(draft, next));
    return undefined;
  }

  /** Whether an attempt of the step may have begun before this worker took the run. */
  mayHaveBegun(op: Op): boolean {
    return this.#cursor.mayHaveBegun(op.id);
  }

  /** Decides at once, whatever the code does with what is thrown next. A part that was given up decides nothing. */
  continueAsNew(input: Payload, scope: Scope): void {
    const canceled = this.undoScope ? givenUp(this) : scope.cancellation();
    if (canceled && (this.undoScope || canceled !== this.root.canceled)) throw canceled;
    finish(this, { type: "continued", input });
  }

  /** Nobody waits for the op any more. */
  release(op: Op): void {
    this.ops.release(op);
    if (op.kind === "receive") this.signals.stopWaiting(op);
  }

  /** The code has done something with which its run cannot go on. */
  violate(error: HoldfastError): void {
    this.violation ??= error;
    this.params.driver?.violated();
  }

  // Inside --------------------------------------------------------------------------------------------------------------

  #enter(scope: Scope, at: number): void {
    this.inTurn = true;
    this.#freshBefore = this.fresh.length;
    this.#attributesBefore = this.freshAttributes;
    this.#refusals.newTurn();
    this.signals.newTurn();
    this.currentScope = scope;
    this.turnAt = at;
  }

  #deliver(event: HistoryEvent): boolean {
    this.turnIsRecorded = event.seq <= this.#cursor.all().length;
    this.#turnIsNew = this.#cursor.looseSince(event) !== undefined;
    switch (event.type) {
      case "signal_received": {
        const op = this.signals.receive(event, this);
        this.#enter(op?.scope ?? this.root, event.at);
        if (!op) this.#cursor.dropAside(event.op as string);
        if (!op) return true;
        this.release(op);
        op.resolve(this.signals.take(event.op as string, this.codec, op.scope));
        return true;
      }
      case "cancel_requested":
      case "deadline_reached":
        this.#enter(this.root, event.at);
        cancelRun(this, event);
        return true;
      default:
        return this.#complete(event);
    }
  }

  #complete(event: HistoryEvent): boolean {
    const op = this.ops.get(event.op);
    if (!op) return this.#diverge(event, notAskedFault(event));
    if (!fits(op, event.type)) return this.#diverge(event, otherKindFault(event, op));
    this.release(op);
    this.#enter(op.scope, event.at);
    if (event.type === "step_completed") {
      const result = event.payload === undefined ? undefined : this.codec.decode(event.payload);
      this.compensations.settled(op, "completed", result);
      op.resolve(result);
    } else if (event.type === "step_failed") {
      const record = event.meta?.error;
      if (event.meta?.neverBegan) this.compensations.neverBegan(op);
      else this.compensations.settled(op, event.meta?.unknown ? "unknown" : "failed", undefined);
      rejectOp(op, record ? fromErrorRecord(record) : new HoldfastError("step_failed", `step "${op.id}" failed`));
    } else op.resolve(undefined);
    return true;
  }

  #applyNote(event: HistoryEvent): boolean {
    const fault = applyNote(this.ops, event);
    return fault === undefined || this.#diverge(event, fault);
  }

  #createTimer(op: Op, fireAt: number): void {
    const draft: EventDraft = { type: "timer_created", op: op.id, meta: { fireAt } };
    const binds = op.kind !== "receive";
    const event = (binds ? undefined : this.#cursor.takeAside(op.id)) ?? this.command(draft, binds);
    // History keeps the time that was promised, whatever the code says now.
    op.fireAt = event?.meta?.fireAt ?? fireAt;
    this.ops.addTimer(op);
  }

  #diverge(event: HistoryEvent, fault: string): false {
    this.divergence ??= this.ops.divergence(event, fault, this.#cursor.all());
    return false;
  }
}
