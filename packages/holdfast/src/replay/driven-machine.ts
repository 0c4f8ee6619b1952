import type { HoldfastError } from "../errors/holdfast-error.ts";
import type { Attributes, HistoryEvent } from "../model/event.ts";
import type { Run } from "../model/run.ts";
import { NONE } from "../model/short-list.ts";
import type { Codec } from "../ports/codec.ts";
import type { Logger } from "../ports/logger.ts";
import type { Divergence } from "./history/divergence.ts";
import type { CancelCause, MachineParams, Outcome, UnreceivedSignal } from "./machine.ts";
import type { Op } from "./op.ts";
import { OpTable } from "./op-table.ts";
import { SignalBuffer } from "./ops/signal-buffer.ts";
import type { TaskWork } from "./ops/task-work.ts";
import { Unwritten } from "./unwritten.ts";

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
  protected readonly unwritten: Unwritten;
  /** Created when first needed: most runs have none. */
  #tasks: Map<string, TaskWork> | undefined;

  // Assigned only by the machine itself: drivers see them through the interface, where they are read-only.
  outcome: Outcome | undefined;
  forgotten: readonly Op[] = NONE;
  divergence: Divergence | undefined;
  violation: HoldfastError | undefined;
  cancelCause: CancelCause | undefined;
  compensating = false;
  started = false;
  inTurn = false;
  hasCalls = false;

  /** Written or not; created when first needed. */
  #attributesSet: Attributes | undefined;

  constructor({ run, codec, log, history, opsMax }: MachineParams) {
    this.run = run;
    this.codec = codec;
    this.log = log;
    this.recorded = history;
    this.ops = new OpTable(opsMax);
    this.unwritten = new Unwritten(history.length + 1, Math.max(startOf(run), history.at(-1)?.at ?? 0));
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

  op(id: string | null): Op | undefined {
    return this.ops.get(id);
  }

  pendingOps(): readonly Op[] {
    return this.ops.pending();
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

  get nextSeq(): number {
    return this.unwritten.nextSeq;
  }

  awaitedSignals(): readonly string[] {
    return this.signals.waitedFor();
  }

  unreceived(): readonly UnreceivedSignal[] {
    return this.signals.unreceived();
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
