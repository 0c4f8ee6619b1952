import type { TransactionKind } from "../ports/transact.ts";
import type { AskInit } from "./ask.ts";
import type { Scope } from "./scope.ts";
import type { ResolvedStepOptions, StepFunction, StepInfo } from "./step-options.ts";

export type OpKind = "step" | "sleep" | "receive" | "retired";

/** One durable thing that workflow code has asked for and that is not settled yet. */
export interface Op {
  readonly id: string;
  readonly kind: OpKind;
  readonly scope: Scope;
  /** Last event that the code had seen when it asked: all up to here must be durable before an effect may start. */
  gate: number;
  /** The event that the code had seen last when it asked; the same on every replay. */
  readonly askedSeq: number;
  /** What the code awaits. It never raises an unhandled rejection, whether or not anybody awaits it. */
  readonly promise: Promise<unknown>;
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Where in the code it was asked for; only known when the machine was told to look. */
  readonly location: string | undefined;
  /** False once the code has stopped waiting for it: completed, failed, or canceled. */
  pending: boolean;

  // Steps
  readonly step: StepWork | undefined;
  // Sleeps, and receives with a timeout
  fireAt: number | undefined;
  // Receives
  signalName: string | undefined;
}

/** A step whose effects are in the store's own database, and commit together with its record. */
export interface TransactionWork {
  readonly kind: TransactionKind;
  readonly fn: (tx: never, step: StepInfo) => unknown;
}

export interface StepWork {
  readonly fn: StepFunction<unknown> | TransactionWork;
  readonly options: ResolvedStepOptions;
  /** Executions that are known to have failed. */
  failedAttempts: number;
  /** Whether the start of any attempt is in history; a retry of the run does not change that. */
  everStarted: boolean;
  /** The newest attempt whose start is in history. */
  startedAttempt: number;
  /** The attempt whose start this process has written down: if it does not run, it has not begun. */
  preparedAttempt: number;
  retryAt: number | undefined;
  /** The run is being wound up: no new attempt; an attempt in flight is aborted and its outcome recorded. */
  closing: boolean;
  /**
   * How long a transaction took that has committed: its outcome is in the inbox, possibly behind messages that are still to be
   * read. Undefined for one that has not.
   */
  committedMs: number | undefined;
}

/** Undefined for a step of the usual kind. */
export function transactionOf({ fn }: StepWork): TransactionWork | undefined {
  return typeof fn === "function" ? undefined : fn;
}

export function stepWork(fn: StepWork["fn"], options: ResolvedStepOptions): StepWork {
  return {
    fn,
    options,
    failedAttempts: 0,
    everStarted: false,
    startedAttempt: 0,
    preparedAttempt: 0,
    retryAt: undefined,
    closing: false,
    committedMs: undefined,
  };
}

/** Written out field by field: this happens once per step, and a spread would cost several times as much. */
export function newOp(
  id: string,
  kind: OpKind,
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
    kind,
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

function ignore(): void {}
