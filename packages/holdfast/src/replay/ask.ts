import type { HistoryEvent } from "../model/event.ts";
import type { Op } from "./op.ts";
import type { Compensation } from "./step-options.ts";
import type { StepWork } from "./step-work.ts";

/** The op of a receive is called by its signal, behind this. */
export const RECEIVE_PREFIX = "receive:";

/** That of a compensation, by what it undoes. */
export const COMPENSATE_PREFIX = "compensate:";

/** What an op is asked for with, beside its kind and name. */
export interface AskInit {
  readonly step?: StepWork;
  /** How to undo the step. */
  readonly undo?: Compensation<unknown> | undefined;
  readonly fireAt?: number;
  readonly signalName?: string;
  readonly prefix?: string;
  /** Exempt from the limit of ops: a run that has reached it must still be able to clean up. */
  readonly unlimited?: boolean;
}

/** Nobody may await it: that must not count as an unhandled rejection. */
export function quiet<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {});
  return promise;
}

/** Whether the op can end with such an event. */
export function fits({ kind, fireAt }: Op, type: HistoryEvent["type"]): boolean {
  if (kind === "retired") return true;
  if (kind === "step") return type === "step_completed" || type === "step_failed";
  return type === "timer_fired" && fireAt !== undefined;
}
