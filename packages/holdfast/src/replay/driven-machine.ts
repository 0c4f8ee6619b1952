import type { HoldfastError } from "../errors/holdfast-error.ts";
import type { Attributes, EventDraft, EventMeta, HistoryEvent } from "../model/event.ts";
import { opId } from "../model/ids.ts";
import type { Payload } from "../model/payload.ts";
import type { Run } from "../model/run.ts";
import { NONE } from "../model/short-list.ts";
import type { Codec } from "../ports/codec.ts";
import type { Logger } from "../ports/logger.ts";
import type { QueryDefinition, UpdateDefinition } from "./context/conversations.ts";
import type { Scope } from "./context/scope.ts";
import { Handlers, queryChanged, validateChanged } from "./handlers.ts";
import type { Cursor } from "./history/cursor.ts";
import type { Divergence } from "./history/divergence.ts";
import type { Edits } from "./history/edits.ts";
import type { CancelCause, Driver, MachineParams, Outcome, RunDeparture, UnreceivedSignal } from "./machine.ts";
import type { DrivenOp, Op } from "./op.ts";
import { OpTable } from "./op-table.ts";
import { LockTable } from "./ops/lock-table.ts";
import { SignalBuffer } from "./ops/signal-buffer.ts";
import type { TaskWork } from "./ops/task-work.ts";
import { type Conditions, hasChanged, type Predicate, settleFirst } from "./ops/until.ts";
import { answersBeforeRetry, judgeUpdate } from "./ops/update.ts";
import { Unwritten } from "./unwritten.ts";

/** A run that refuses more updates than this answers them without a note: whoever sends them must not fill its history. */
const REJECTIONS_NOTED_MAX = 1_000;

/**
 * The half of a machine that faces its driver, the same for all machines: where the run stands, what was asked for, what
 * must be written, what was received. The other half, how events are processed, is specific to each machine.
 */
export abstract class DrivenMachine {
  readonly run: Run;
  readonly codec: Codec;
  readonly log: Logger;
  /** What was recorded when it was made. */
  readonly recorded: readonly HistoryEvent[];
  readonly ops: OpTable;
  readonly signals = new SignalBuffer();
  readonly locks = new LockTable();
  protected readonly unwritten: Unwritten;
  /** Created when first needed: most runs have none. */
  #tasks: Map<string, TaskWork> | undefined;
  #conditions: Conditions | undefined;
  #updates: Map<number, string> | undefined;
  protected handlers: Handlers | undefined;
  /** How many updates that were refused are in history, or will be. */
  #rejected: number | undefined;

  // Assigned only by the machine itself: drivers see them through the interface, where they are read-only.
  outcome: Outcome | undefined;
  forgotten: readonly Op[] = NONE;
  divergence: Divergence | undefined;
  violation: HoldfastError | undefined;
  spoiled: HoldfastError | undefined;
  /** The query that was called last, while what it may have woken has not come to rest. */
  queried: string | undefined;
  cancelCause: CancelCause | undefined;
  compensating = false;
  pausing: EventMeta | undefined;
  resumedSeq = 0;
  edits: Edits | undefined;
  started = false;
  inTurn = false;
  hasCalls = false;

  abstract turnAt: number;
  abstract currentScope: Scope;
  protected abstract readonly cursor: Cursor;
  abstract release(op: Op): void;
  abstract noteRun(draft: EventDraft, now: number): void;
  abstract violate(error: HoldfastError): void;

  #groups = { parallel: 0, race: 0 };
  /** Written or not; created when first needed. */
  #attributesSet: Attributes | undefined;
  readonly #driver: Driver | undefined;
  readonly #begun: boolean;

  constructor({ run, codec, log, history, opsMax, driver, begun = false }: MachineParams) {
    this.#driver = driver;
    this.#begun = begun;
    this.run = run;
    this.codec = codec;
    this.log = log;
    this.recorded = history;
    this.ops = new OpTable(opsMax);
    this.unwritten = new Unwritten(history.length + 1, Math.max(startOf(run), history.at(-1)?.at ?? 0));
  }

  get replaying(): boolean {
    return this.cursor.replaying;
  }

  get repeating(): boolean {
    return this.cursor.repeating;
  }

  get forks(): readonly HistoryEvent[] {
    return this.cursor.forks;
  }

  /** In a turn from before a fork, a new timer counts from the fork: the time of the turn may be long ago. */
  get timersFrom(): number {
    return Math.max(this.turnAt, this.forks.at(-1)?.at ?? 0);
  }

  mayHaveBegun(op: DrivenOp): boolean {
    return this.cursor.mayHaveBegun(op.id);
  }

  /** Whether the turn of that event was finished in another run only, and perhaps in another way. */
  protected isCut(seq: number): boolean {
    return this.cursor.cutTurn === seq && !this.#begun;
  }

  protected resumeAfter(seq: number): void {
    this.pausing = undefined;
    this.resumedSeq = seq;
  }

  nextGroup(name: "parallel" | "race"): string {
    this.#groups[name] += 1;
    return opId(name, this.#groups[name]);
  }

  takeAsked(): readonly Op[] {
    return this.ops.takeAsked();
  }

  takeCalls(): readonly Op[] {
    return this.ops.takeCalls();
  }

  takeWithdrawn(): readonly Op[] {
    return this.ops.takeWithdrawn();
  }

  takeClosing(): readonly Op[] {
    return this.ops.takeClosing();
  }

  get fresh(): readonly HistoryEvent[] {
    return this.unwritten.events;
  }

  get freshAttributes(): Attributes | null {
    return this.unwritten.attributes;
  }

  takeFresh(): readonly HistoryEvent[] {
    return this.unwritten.takeEvents();
  }

  takeFreshAttributes(): Attributes | null {
    return this.unwritten.takeAttributes();
  }

  putBack(events: readonly HistoryEvent[], attributes: Attributes | null): void {
    this.unwritten.putBack(events, attributes);
  }

  /** Overridden by a machine that answers callers. Workflow code gets its answers in turns. */
  written(_seq: number): void {}

  /** Overridden by a machine that must tell callers. */
  left(_how: RunDeparture): void {}

  /** Overridden by a machine whose code is outside. */
  get attended(): boolean | undefined {
    return undefined;
  }

  op(id: string | null): Op | undefined {
    return this.ops.get(id);
  }

  pendingOps(): readonly Op[] {
    return this.ops.pending();
  }

  nextEdited(): EventDraft | undefined {
    if (this.edits === undefined || this.outcome || this.violation) return undefined;
    try {
      return this.edits.next(() => this.ops.pending());
    } catch (error) {
      this.violate(error as HoldfastError);
      return undefined;
    }
  }

  isEdited(op: string | null): boolean {
    return op !== null && (this.edits?.has(op) ?? false);
  }

  firstPending(max: number): readonly Op[] {
    return this.ops.first(max);
  }

  get waitsForOthers(): boolean {
    return this.ops.waitsForOthers;
  }

  get timers(): ReadonlySet<Op> {
    return this.ops.timers;
  }

  get waiting(): boolean {
    return this.ops.waiting;
  }

  task(id: string | null): TaskWork | undefined {
    return id === null ? undefined : this.#tasks?.get(id);
  }

  get hasTasks(): boolean {
    return this.#tasks !== undefined;
  }

  get regaining(): boolean {
    return this.locks.regaining && !this.compensating;
  }

  noteLock(draft: EventDraft, now: number): void {
    this.resumedSeq = this.nextSeq;
    this.noteRun(draft, now);
    this.locks.take({ ...draft, seq: this.resumedSeq, at: now }, false);
  }

  get nextSeq(): number {
    return this.unwritten.nextSeq;
  }

  awaitedSignals(): readonly string[] {
    return this.signals.waitedFor();
  }

  unreceived(): readonly UnreceivedSignal[] {
    return this.signals.unreceived(this.codec);
  }

  // Conversations

  on(definition: Pick<QueryDefinition | UpdateDefinition, "kind" | "name">, handler: unknown): void {
    this.#handlers.on(definition, handler);
  }

  judgeUpdate(draft: EventDraft): EventDraft | HoldfastError {
    const judged = judgeUpdate(this, this.#handlers, draft);
    const name = draft.op as string;
    if (!this.handlers?.update(name)?.validate || !this.#hasChanged()) return judged;
    return this.spoil(validateChanged(this.run, name));
  }

  query(name: string, argument: Payload): Payload {
    this.queried = name;
    try {
      return this.#handlers.query(this.run, name, argument, this.codec);
    } finally {
      // Also if it has failed: it may have changed something before.
      if (this.#hasChanged()) this.spoil(queryChanged(this.run, name));
    }
  }

  rested(): void {
    this.queried = undefined;
    if (this.spoiled?.code === "query_failed") throw this.spoiled;
  }

  /** Its driver must replace it. */
  spoil(error: HoldfastError): HoldfastError {
    this.spoiled ??= error;
    this.#driver?.poke();
    return error;
  }

  #hasChanged(): boolean {
    if (!this.#conditions?.size || this.outcome) return false;
    return hasChanged(this.#conditions, (predicate) => this.#callPredicate(predicate));
  }

  noteUpdate(number: number, messageId: string): void {
    this.#updates ??= new Map();
    this.#updates.set(number, messageId);
  }

  updateId(number: number): string | undefined {
    return this.#updates?.get(number);
  }

  answerOf(op: string | null): HistoryEvent | undefined {
    const handlers = this.#handlers;
    handlers.answers ??= answersBeforeRetry(this.recorded);
    return handlers.answers.get(op);
  }

  get hasHandlers(): boolean {
    return this.handlers !== undefined;
  }

  noteRejected(name: string, meta: Pick<EventMeta, "messageId" | "error">, now: number): void {
    this.#rejected ??= this.recorded.filter(({ type }) => type === "update_rejected").length;
    if (this.#rejected >= REJECTIONS_NOTED_MAX) return;
    this.#rejected += 1;
    this.noteRun({ type: "update_rejected", op: name, meta }, now);
  }

  get #handlers(): Handlers {
    this.handlers ??= new Handlers();
    return this.handlers;
  }

  addCondition(op: Op, predicate: Predicate): void {
    this.#conditions ??= new Map();
    this.#conditions.set(op, predicate);
  }

  dropCondition(op: Op): void {
    this.#conditions?.delete(op);
  }

  #callPredicate(predicate: Predicate): unknown {
    return this.#handlers.call("the predicate of ctx.until", predicate);
  }

  runOn(): boolean {
    if (!this.#conditions?.size || this.outcome || this.divergence || this.violation) return false;
    return settleFirst(
      this.#conditions,
      (predicate) => this.#callPredicate(predicate),
      (op) => {
        this.release(op);
        this.currentScope = op.scope;
      },
    );
  }

  within<T>(scope: Scope, fn: () => T): T {
    const outer = this.currentScope;
    this.currentScope = scope;
    try {
      return fn();
    } finally {
      this.currentScope = outer;
    }
  }

  // For the kinds of op

  hand(op: Op): void {
    this.ops.hand(op);
  }

  handCall(op: Op): void {
    this.hasCalls = true;
    this.ops.handCall(op);
  }

  noteTask(id: string, work: TaskWork): void {
    this.#tasks ??= new Map();
    this.#tasks.set(id, work);
  }

  addTimer(op: Op, fireAt: number): void {
    op.fireAt = fireAt;
    this.ops.addTimer(op);
  }

  waitForSignal(op: Op): void {
    this.signals.wait(op);
  }

  stopWaitingForSignal(op: Op): void {
    this.signals.stopWaiting(op);
  }

  setAttributes(attributes: Attributes): void {
    this.unwritten.setAttributes(attributes);
    this.#attributesSet = { ...this.#attributesSet, ...attributes };
  }

  attributesWith(added: Attributes): Attributes {
    return { ...this.run.attributes, ...this.#attributesSet, ...this.unwritten.attributes, ...added };
  }
}

/** The time of a run's first turn. */
export function startOf({ startedAt, createdAt }: Run): number {
  return startedAt ?? createdAt;
}
