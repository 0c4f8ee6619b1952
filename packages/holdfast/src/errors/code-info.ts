import type { ErrorKind } from "../model/error-kind.ts";

/** The part of the engine that an error comes from. */
export const ERROR_GROUPS = [
  "event_store",
  "codec",
  "workflow_execution",
  "step_execution",
  "activity_execution",
  "timer_store",
  "signal_dispatcher",
  "task_queue",
  "snapshot",
  "replay",
  "configuration",
  "validation",
  "timeout",
  "canceled",
  "concurrency",
  "compensation",
  "unknown",
] as const;

export type ErrorGroup = (typeof ERROR_GROUPS)[number];

/** What the caller does next, and what that means. docs/errors.md prints these sentences. */
export const CALLER_ACTIONS = {
  fix_input: "change what you passed to Holdfast: the value, the option, the name",
  retry_later: "do the same again after a while; nothing needs to change",
  lost_lease: "drop the run: another worker holds it and continues it",
  not_found: "what was asked for does not exist; create it first or correct the id",
  conflict: "the run's state does not allow this; read it and decide",
  unavailable: "something required is unavailable; bring it back, then retry",
  bug: "the program is wrong, yours or Holdfast's: change the code",
  inspect: "look at `cause` and at the run's history: the executed code failed",
} as const;

export type CallerAction = keyof typeof CALLER_ACTIONS;

export interface ErrorCodeInfo {
  readonly group: ErrorGroup;
  readonly caller: CallerAction;
  /** The kind of an error with this code, unless the error sets another. */
  readonly kind: ErrorKind;
  readonly summary: string;
  readonly advice: string;
}
