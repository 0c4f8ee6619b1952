import type { ErrorRecord } from "./error-record.ts";
import type { Payload } from "./payload.ts";

/**
 * What may stand in a history. `run_started` (seq 0) and the end event are projections of the run row; all others
 * are rows of their own. No type exists that nothing writes. Stores may keep a type as its position in this list, so the
 * list only grows, at its end.
 */
export const EVENT_TYPES = [
  "run_started",
  "run_completed",
  "run_failed",
  "run_canceled",
  "run_terminated",
  "run_timed_out",
  "run_continued",
  "step_started",
  "step_attempt_failed",
  "step_completed",
  "step_failed",
  "timer_created",
  "timer_fired",
  "signal_received",
  "cancel_requested",
  "deadline_reached",
  "side_effect",
  "patched",
  "attributes_set",
  "run_retried",
] as const;

/** What an event of a history is about. */
export type EventType = (typeof EVENT_TYPES)[number];

export interface EventMeta {
  /** Which execution of the op this is about, counted from 1; absent means 1. */
  readonly attempt?: number;
  /**
   * How long the attempt had been running, on the clock of its worker; absent means less than a millisecond. At the end of an
   * attempt that is how long it took; a start that is written down late says how late.
   */
  readonly ms?: number;
  readonly error?: ErrorRecord;
  /** When the next attempt is due (`step_attempt_failed`). */
  readonly retryAt?: number;
  /** When the timer is due (`timer_created`). */
  readonly fireAt?: number;
  /** The id of the message that became this event; a history shows the one that the caller gave. */
  readonly messageId?: string;
  /** Where the run's randomness comes from (`run_started`). */
  readonly seed?: string;
  /** Which run it is (`run_started`): what `ctx.info` says of it, so that a saved history can be replayed elsewhere. */
  readonly run?: RunIdentity;
  /** Code has come to rest in this run (`run_started`): its first turn is over, though no event may tell of it. */
  readonly begun?: boolean;
  /** Free text: why (`cancel_requested`). */
  readonly reason?: string;
  /** The run has ended with this, and its code was never called (`cancel_requested`, `deadline_reached`). */
  readonly neverCalled?: true;
  /** The search attributes that were set. */
  readonly attributes?: Attributes;
  /** The attempt was cut off (crash, or it did not stop in time): nobody knows whether it took effect. */
  readonly unknown?: boolean;
  /** No attempt of the step has ever begun, although the start of one is recorded: there is nothing to undo (`step_failed`). */
  readonly neverBegan?: true;
  /** Ops whose failure is forgotten, so that they are tried again (`run_retried`). */
  readonly forgets?: readonly string[];
  /** From which call of `ctx.patched(id)` on the answer is true. */
  readonly from?: number;
}

/** Which run a history belongs to. */
export interface RunIdentity {
  readonly namespace: string;
  readonly runId: string;
  readonly id: string;
  readonly workflow: string;
  readonly version: string;
  readonly queue: string;
}

export interface HistoryEvent {
  readonly seq: number;
  readonly type: EventType;
  /** Op id, signal name or patch id; null where the event concerns the run as a whole. */
  readonly op: string | null;
  /** Milliseconds since the epoch, never earlier than the event before. */
  readonly at: number;
  readonly payload?: Payload;
  readonly meta?: EventMeta;
}

/** An event that has not been given its place yet. */
export type EventDraft = Omit<HistoryEvent, "seq" | "at">;

/** What a search attribute may be. */
export type AttributeValue = string | number | boolean | null;
/** Search attributes, by name. */
export type Attributes = Readonly<Record<string, AttributeValue>>;

export type EventCategory =
  | "workflow"
  | "step"
  | "timer"
  | "signal"
  | "marker"
  | "side_effect"
  | "search_attribute"
  | "command";

export function eventCategory(type: EventType): EventCategory {
  if (type === "cancel_requested" || type === "deadline_reached") return "command";
  if (type === "patched") return "marker";
  if (type === "side_effect") return "side_effect";
  if (type === "attributes_set") return "search_attribute";
  if (type === "signal_received") return "signal";
  if (type.startsWith("timer_")) return "timer";
  return type.startsWith("step_") ? "step" : "workflow";
}

/**
 * How an event came to be, and so how replay treats it:
 * - `delivered`: it was handed to the workflow code, which ran until it had nothing left to do (a turn);
 * - `command`: workflow code asked for it during a turn, so it stands right behind the event of that turn;
 * - `note`: the engine wrote it down about an op; workflow code never saw it.
 */
export function eventRole(type: EventType): "delivered" | "command" | "note" {
  switch (type) {
    case "timer_created":
    case "side_effect":
    case "patched":
    case "attributes_set":
      return "command";
    case "step_started":
    case "step_attempt_failed":
    case "run_retried":
      return "note";
    default:
      return "delivered";
  }
}
