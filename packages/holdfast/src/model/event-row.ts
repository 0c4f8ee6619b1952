import type { EventMeta } from "./event-meta.ts";

/** What an event is about, for people who look for events of one kind. */
export type EventCategory =
  | "workflow"
  | "step"
  | "task"
  | "timer"
  | "signal"
  | "marker"
  | "side_effect"
  | "search_attribute"
  | "command"
  | "child"
  | "message"
  | "nexus"
  | "update"
  | "lock";

/**
 * How an event came to be, and so how replay treats it:
 * - `delivered`: it was delivered to the workflow code, which ran until it had nothing left to do (a turn);
 * - `command`: workflow code asked for it during a turn, so it follows directly after the event of that turn;
 * - `note`: the engine recorded it about an op; workflow code never saw it;
 * - `row`: it is not stored separately. The start and the end of a run are its run row.
 */
export type EventRole = "delivered" | "command" | "note" | "row";

/** What `steps()` may report of an op because of an event. */
export type ShownStatus = "running" | "retrying" | "waiting" | "completed" | "failed" | "canceled";

/** The meta fields that any event about an op may have besides those of its row; they are for people, and replay reads none of them. */
export const OP_META = ["after", "worker", "group", "branch"] as const satisfies readonly (keyof EventMeta)[];

/** A type of event. */
export interface EventRow {
  readonly type: string;
  readonly category: EventCategory;
  readonly role: EventRole;
  /** What its `op` names; null if it concerns the run as a whole. */
  readonly op: "op" | "signal" | "patch" | "update" | null;
  /** What its payload is; null if it has none. */
  readonly payload: string | null;
  /** The meta fields that it may have. */
  readonly meta: readonly (keyof EventMeta)[];
  /** A command that may come and go between versions of the code without changing what the code does. */
  readonly lenient?: true;
  /** What `steps()` reports of the op after it; absent if it is not about an op. */
  readonly shows?: ShownStatus;
  /** Who writes it, and when. */
  readonly writtenBy: string;
}
