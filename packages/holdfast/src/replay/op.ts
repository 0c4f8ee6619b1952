/**
 * An op, and what a kind of op is. Each kind is one module in ops/: what its ctx call asks for, which events of it stand in history,
 * and what they do to it. The machine knows ops only through the module that each of them carries.
 */
import type { EventDraft, EventType, HistoryEvent } from "../model/event.ts";
import type { Codec } from "../ports/codec.ts";
import type { Scope } from "./context/scope.ts";
import type { Compensation, CompensationInfo } from "./ops/step-options.ts";
import type { StepWork } from "./ops/step-work.ts";

export type OpKind = "step" | "sleep" | "receive" | "retired";

/** Which rows of the table of events a kind of op has to do with. */
export interface OpEvents {
  /** Commands that stand where the code asks for it. */
  readonly commands: readonly EventType[];
  readonly notes: readonly EventType[];
  /** Events that end it. */
  readonly ends: readonly EventType[];
}

/** What the driver of a machine has to know of a kind. */
export interface OpFacts {
  readonly kind: OpKind;
  readonly events: OpEvents;
  /** Whether such an op can wake the code up. One that cannot is nothing to wait for. */
  readonly wakes: boolean;
  /** What a run is called that is suspended with such an op: `waiting` for something from outside, or `sleeping` until a time. */
  readonly rest: "waiting" | "sleeping";
}

/** One kind of op. */
export interface OpModule extends OpFacts {
  /** Ops that Holdfast makes for something of that name have a prefix before it. */
  readonly prefix: string;
  /** Exempt from the limit of ops: a run that has reached it must still be able to clean up. */
  readonly unlimited: boolean;
  /** Whether it may be asked for where everything else is refused, because the run or the branch was given up. */
  readonly evenCanceled: boolean;
  /** Whether history has something of it, once it is over, by which it can be told that code and history have parted. */
  readonly leavesRecord: boolean;
  /** Whether it is done already, so that nothing is asked for. */
  isDone(id: string, host: OpHost): boolean;
  /** What asking for it does. */
  asked(op: Op, name: string, init: AskInit, host: OpHost): void;
  /** Whether such an op can end with an event of that type. */
  fits(op: Op, type: EventType): boolean;
  /** It ends with that event, which fits. */
  settle(op: Op, event: HistoryEvent, host: OpHost): void;
  /** The engine has written something down about it; false when nothing can be written down about such an op. */
  note(op: Op, event: HistoryEvent): boolean;
  /** Nobody waits for it any more. */
  released(op: Op, host: OpHost): void;
  /** For people: what the code asked for. */
  shown(op: Op): string;
}

/** What an op is asked for with, beside its kind and name. */
export interface AskInit {
  readonly step?: StepWork;
  /** How to undo the step. */
  readonly undo?: Compensation<unknown> | undefined;
  readonly fireAt?: number | undefined;
  readonly signalName?: string;
}

/** What a kind of op may use of the machine. */
export interface OpHost {
  readonly codec: Codec;
  /** It is for the driver to execute. */
  hand(op: Op): void;
  /** Records when it is due, or finds that recorded. What does not bind may stand in another turn than the one that asks now. */
  createTimer(op: Op, fireAt: number, binds: boolean): void;
  waitForSignal(op: Op): void;
  stopWaitingForSignal(op: Op): void;
  addUndo(name: string, op: Op, undo: Compensation<unknown>): void;
  /** What is known of a step, for its compensation. */
  learned(op: Op, outcome: CompensationInfo["outcome"] | "never_began", result: unknown): void;
  /** Whether it has begun in a try of the run that was taken back for another reason than its own failure. */
  hasBegun(id: string): boolean;
  /** Whether the compensation has succeeded behind the failure of another one that was taken back. */
  isUndone(id: string): boolean;
  /** See `MachineInside`. */
  command(draft: EventDraft, binds?: boolean): HistoryEvent | undefined;
  /** The code goes on without it. */
  retire(op: Op): void;
}

/** One durable thing that workflow code has asked for, as far as the driver of its machine is concerned. */
export interface DrivenOp {
  readonly id: string;
  readonly kind: OpKind;
  readonly module: OpFacts;
  /** Last event that the code had seen when it asked: all up to here must be durable before an effect may start. */
  readonly gate: number;
  /** False once the code has stopped waiting for it: completed, failed, or canceled. */
  readonly pending: boolean;
  /** Steps */
  readonly step: StepWork | undefined;
  /** Sleeps, and receives with a timeout. */
  readonly fireAt: number | undefined;
  /** Receives */
  readonly signalName: string | undefined;
  /** Where in the code it was asked for; only known when the machine was told to look. */
  readonly location: string | undefined;
}

/** One durable thing that workflow code has asked for and that is not settled yet. */
export interface Op extends DrivenOp {
  readonly module: OpModule;
  readonly scope: Scope;
  gate: number;
  /** The event that the code had seen last when it asked; the same on every replay. */
  readonly askedSeq: number;
  /** What the code awaits. It never raises an unhandled rejection, whether or not anybody awaits it. */
  readonly promise: Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  pending: boolean;
  fireAt: number | undefined;
}

/** Written out field by field: this happens once per step, and a spread would cost several times as much. */
export function newOp(
  id: string,
  module: OpModule,
  scope: Scope,
  askedSeq: number,
  init: AskInit,
  location: string | undefined,
): Op {
  const promise = new Promise<unknown>(keepSettlers);
  const { step, signalName } = init;
  const fireAt = undefined;
  return {
    id,
    kind: module.kind,
    module,
    scope,
    gate: 0,
    askedSeq,
    promise,
    resolve: newestResolve,
    reject: newestReject,
    location,
    pending: true,
    step,
    fireAt,
    signalName,
  };
}

// A promise calls its executor at once, so that one function can serve all of them.
let newestResolve: (value: unknown) => void = ignore;
let newestReject: (error: unknown) => void = ignore;

function keepSettlers(resolve: (value: unknown) => void, reject: (error: unknown) => void): void {
  newestResolve = resolve;
  newestReject = reject;
}

/** Nobody may await it: that must not count as an unhandled rejection. Seen to here, so that the ops that succeed pay nothing. */
export function rejectOp(op: Op, error: unknown): void {
  op.promise.catch(ignore);
  op.reject(error);
}

/** Nobody may await it: that must not count as an unhandled rejection. */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(ignore);
  return promise;
}

function ignore(): void {}
