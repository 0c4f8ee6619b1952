/**
 * An op, and what a kind of op is. Each kind is one module in ops/: what its ctx call asks for, which of its events are in
 * history, and what they do to it. The machine knows an op only through the module that the op carries.
 */
import type { EventDraft, EventType, HistoryEvent } from "../model/event.ts";
import type { Codec } from "../ports/codec.ts";
import type { Scope } from "./context/scope.ts";
import type { ChildWork } from "./ops/child-work.ts";
import type { LockTable } from "./ops/lock-table.ts";
import type { LockWork } from "./ops/lock-work.ts";
import type { MessageWork } from "./ops/message-work.ts";
import type { Compensation, CompensationInfo } from "./ops/step-options.ts";
import type { StepWork } from "./ops/step-work.ts";
import type { TaskWork } from "./ops/task-work.ts";

export type OpKind = "step" | "task" | "sleep" | "receive" | "retired" | "child" | "message" | "condition" | "lock";

/** The rows of the event table that concern a kind of op. */
export interface OpEvents {
  /** Commands that are recorded where the code asks for it. */
  readonly commands: readonly EventType[];
  readonly notes: readonly EventType[];
  /** Events that are delivered to it. All of them end it, except `child_started`. */
  readonly ends: readonly EventType[];
}

/** What the driver of a machine must know about a kind. */
export interface OpFacts {
  readonly kind: OpKind;
  readonly events: OpEvents;
  /** Whether such an op can wake the code. One that cannot is nothing to wait for. */
  readonly wakes: boolean;
  /**
   * The status of a run that is suspended with such an op: `waiting` for something from outside, or `sleeping` until a time.
   */
  readonly rest: "waiting" | "sleeping";
}

/** One kind of op. */
export interface OpModule extends OpFacts {
  /** Ops that Holdfast creates on behalf of a name have a prefix before it. */
  readonly prefix: string;
  /** Exempt from the limit of ops: a run that has reached it must still be able to clean up. */
  readonly unlimited: boolean;
  /** Whether it may be asked for where everything else is refused, because the run or the branch was given up. */
  readonly evenCanceled: boolean;
  /** Whether a finished op leaves something in history that can reveal a divergence. */
  readonly leavesRecord: boolean;
  /** Whether it is done already, so that nothing is asked for. */
  isDone(id: string, host: OpHost): boolean;
  /** What asking for it does. */
  asked(op: Op, name: string, init: AskInit, host: OpHost): void;
  /** Whether such an op can end with an event of that type. */
  fits(op: Op, type: EventType): boolean;
  /** It ends with that event, which fits. */
  settle(op: Op, event: HistoryEvent, host: OpHost): void;
  /** The engine has recorded something about it; false if such an op has no notes. */
  note(op: Op, event: HistoryEvent): boolean;
  /** The code no longer waits for it. */
  released(op: Op, host: OpHost): void;
  /** What the code asked for, for people. */
  shown(op: Op): string;
}

/** The parameters of an op, besides its kind and name. */
export interface AskInit {
  readonly step?: StepWork;
  readonly task?: TaskWork;
  /** How to undo the step. */
  readonly undo?: Compensation<unknown> | undefined;
  readonly fireAt?: number | undefined;
  readonly signalName?: string;
  readonly child?: ChildWork;
  readonly message?: MessageWork;
  readonly lock?: LockWork;
  /** What `ctx.until` waits for. */
  readonly predicate?: () => unknown;
}

/** What a kind of op may use of the machine. */
export interface OpHost {
  readonly codec: Codec;
  /** The driver must execute it. */
  hand(op: Op): void;
  /** The driver must call the store for it: it concerns another run. */
  handCall(op: Op): void;
  /**
   * Records when it is due, or finds that recorded. A command that does not bind may be in another turn than the one that
   * asks now.
   */
  createTimer(op: Op, fireAt: number, binds: boolean): void;
  /** It is due then; nothing is recorded. */
  addTimer(op: Op, fireAt: number): void;
  readonly locks: LockTable;
  /** Whether the code is inside of a lock that the run does not hold at the moment. */
  readonly regaining: boolean;
  waitForSignal(op: Op): void;
  stopWaitingForSignal(op: Op): void;
  addCondition(op: Op, predicate: () => unknown): void;
  dropCondition(op: Op): void;
  addUndo(name: string, op: Op, undo: Compensation<unknown>): void;
  /** What is known of a step, for its compensation. */
  learned(op: Op, outcome: CompensationInfo["outcome"] | "never_began", result: unknown): void;
  /** A task of the run, to be found by the id of its op from now on. */
  noteTask(id: string, work: TaskWork): void;
  /** Whether it began in a run attempt that was taken back for a reason other than its own failure. */
  hasBegun(id: string): boolean;
  /** Whether the compensation succeeded after the failure of another one that was taken back. */
  isUndone(id: string): boolean;
  /** See `MachineInside`. */
  command(
    draft: EventDraft,
    binds?: boolean,
    completed?: () => EventDraft,
    refusal?: () => void,
  ): HistoryEvent | undefined;
  /** The code no longer waits for the op. */
  release(op: Op): void;
  /** The code continues without it. */
  retire(op: Op): void;
}

/** One durable operation that workflow code has asked for, as the driver of its machine sees it. */
export interface DrivenOp {
  readonly id: string;
  readonly kind: OpKind;
  readonly module: OpFacts;
  /** Last event that the code had seen when it asked: all events up to here must be durable before an effect may start. */
  readonly gate: number;
  /** False once the code has stopped waiting for it: completed, failed, or canceled. */
  readonly pending: boolean;
  /** Steps */
  readonly step: StepWork | undefined;
  /** Tasks */
  readonly task: TaskWork | undefined;
  /** Sleeps, and receives with a timeout. */
  readonly fireAt: number | undefined;
  /** Receives */
  readonly signalName: string | undefined;
  /** Children; absent otherwise. */
  readonly child?: ChildWork;
  /** Messages to other runs; absent otherwise. */
  readonly message?: MessageWork;
  /** Locks; absent otherwise. */
  readonly lock?: LockWork;
  /** Where in the code it was asked for; known only if the machine records that. */
  readonly location: string | undefined;
}

/** One durable operation that workflow code has asked for and that is not settled yet. */
export interface Op extends DrivenOp {
  readonly module: OpModule;
  readonly scope: Scope;
  gate: number;
  /** The last event that the code had seen when it asked; the same on every replay. */
  readonly askedSeq: number;
  /** What the code awaits. It never raises an unhandled rejection, whether or not it is awaited. */
  readonly promise: Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  pending: boolean;
  fireAt: number | undefined;
}

/** An object of a class: V8 keeps those young that pass through (passing-map.ts), and this one leads to the whole run. */
class AskedOp implements Op {
  readonly id: string;
  readonly kind: OpKind;
  readonly module: OpModule;
  readonly scope: Scope;
  gate = 0;
  readonly askedSeq: number;
  readonly promise: Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  readonly location: string | undefined;
  pending = true;
  readonly step: StepWork | undefined;
  readonly task: TaskWork | undefined;
  fireAt: number | undefined = undefined;
  readonly signalName: string | undefined;
  // Only ops that need it have one of these.
  declare readonly child?: ChildWork;
  declare readonly message?: MessageWork;
  declare readonly lock?: LockWork;

  constructor(
    id: string,
    module: OpModule,
    scope: Scope,
    askedSeq: number,
    { step, task, signalName, child, message, lock }: AskInit,
    location: string | undefined,
  ) {
    this.id = id;
    this.kind = module.kind;
    this.module = module;
    this.scope = scope;
    this.askedSeq = askedSeq;
    this.promise = new Promise<unknown>(keepSettlers);
    this.resolve = newestResolve;
    this.reject = newestReject;
    this.location = location;
    this.step = step;
    this.task = task;
    this.signalName = signalName;
    if (child) this.child = child;
    else if (message) this.message = message;
    else if (lock) this.lock = lock;
  }
}

export function newOp(...about: ConstructorParameters<typeof AskedOp>): Op {
  return new AskedOp(...about);
}

/** Whether the code has given it up, and its outcome must still be learned. */
export function isClosing({ step, task, child }: DrivenOp): boolean {
  return step?.closing === true || task?.closing === true || child?.closing === true;
}

// A promise calls its executor at once, so that one function can serve all of them.
let newestResolve: (value: unknown) => void = ignore;
let newestReject: (error: unknown) => void = ignore;

function keepSettlers(resolve: (value: unknown) => void, reject: (error: unknown) => void): void {
  newestResolve = resolve;
  newestReject = reject;
}

/**
 * If it is never awaited, that must not count as an unhandled rejection. Handled here, so that the ops that succeed pay
 * nothing.
 */
export function rejectOp(op: Op, error: unknown): void {
  op.promise.catch(ignore);
  op.reject(error);
}

/** If it is never awaited, that must not count as an unhandled rejection. */
/** Asks for an op with data that may be refused. Then the promise of the op rejects: only misuse of the API throws. */
export function withData<D, T>(read: () => D, ask: (data: D) => Promise<T>): Promise<T> {
  let data: D;
  try {
    data = read();
  } catch (error) {
    return quiet(Promise.reject(error));
  }
  return ask(data);
}

export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(ignore);
  return promise;
}

function ignore(): void {}
