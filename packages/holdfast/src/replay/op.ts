import type { AskInit } from "./ask.ts";
import type { Scope } from "./scope.ts";
import type { StepWork } from "./step-work.ts";

export type OpKind = "step" | "sleep" | "receive" | "retired";

/** One durable thing that workflow code has asked for, as far as the driver of its machine is concerned. */
export interface DrivenOp {
  readonly id: string;
  readonly kind: OpKind;
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
