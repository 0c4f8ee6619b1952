import { CONVERSATION_EVENTS } from "./conversation-events.ts";
import type { EventMeta } from "./event-meta.ts";
import type { EventCategory, EventRole, EventRow, ShownStatus } from "./event-row.ts";
import { receiveId } from "./ids.ts";
import { LOCK_EVENTS } from "./lock-events.ts";
import { OPERATOR_EVENTS } from "./operator-events.ts";
import type { Payload } from "./payload.ts";
import { SIGNAL_EVENTS } from "./signal-events.ts";
import { TRANSFER_EVENTS } from "./transfer-events.ts";
import { UPDATE_EVENTS } from "./update-events.ts";
import { WATCHDOG_EVENTS } from "./watchdog-events.ts";

export type { Attributes, AttributeValue, EventMeta, RunIdentity } from "./event-meta.ts";
export { type EventCategory, type EventRole, OP_META, type ShownStatus } from "./event-row.ts";

/**
 * What a history may contain: one row for each type. Roles, categories, the stores' codes and docs/EVENTS.md follow from it.
 * Every type is written by something. Stores keep a type as its position in this table, so the table only grows, at its end.
 */
export const EVENT_TABLE = [
  {
    type: "run_started",
    category: "workflow",
    role: "row",
    op: null,
    payload: "the input",
    meta: ["seed", "run", "begun", "begunAt"],
    writtenBy:
      "the run row: `hf.start`; once its code has begun, `at` is the time of that, unless the run was paused before: then it is the time of the first event, and `begunAt` the other",
  },
  {
    type: "run_completed",
    category: "workflow",
    role: "row",
    op: null,
    payload: "the output",
    meta: [],
    writtenBy: "the run row: the function returned",
  },
  {
    type: "run_failed",
    category: "workflow",
    role: "row",
    op: null,
    payload: null,
    meta: ["error"],
    writtenBy: "the run row: the function threw, and compensation is done",
  },
  {
    type: "run_canceled",
    category: "workflow",
    role: "row",
    op: null,
    payload: null,
    meta: ["error"],
    writtenBy: "the run row: the function ended with the cancellation that it received",
  },
  {
    type: "run_terminated",
    category: "workflow",
    role: "row",
    op: null,
    payload: null,
    meta: ["error", "by", "reason", "batch"],
    writtenBy: "the run row: `handle.terminate`, or a start that replaces the run",
  },
  {
    type: "run_timed_out",
    category: "workflow",
    role: "row",
    op: null,
    payload: null,
    meta: ["error"],
    writtenBy: "the run row: the run ended after its deadline",
  },
  {
    type: "run_continued",
    category: "workflow",
    role: "row",
    op: null,
    payload: null,
    meta: [],
    writtenBy: "the run row: `ctx.continueAsNew`",
  },
  {
    type: "step_started",
    category: "step",
    role: "note",
    op: "op",
    payload: null,
    meta: ["attempt", "ms"],
    shows: "running",
    writtenBy: 'the step board: before an attempt with `compensate` or `onCrash: "fail"`, after a second of any other',
  },
  {
    type: "step_attempt_failed",
    category: "step",
    role: "note",
    op: "op",
    payload: null,
    meta: ["attempt", "ms", "error", "retryAt", "retry", "runs"],
    shows: "retrying",
    writtenBy: "the step board: an attempt failed, and another will follow",
  },
  {
    type: "step_completed",
    category: "step",
    role: "delivered",
    op: "op",
    payload: "the result",
    meta: ["attempt", "ms", "messageId", "runs", "edited"],
    shows: "completed",
    writtenBy: "the step board; for a transaction step, the result message that committed with it",
  },
  {
    type: "step_failed",
    category: "step",
    role: "delivered",
    op: "op",
    payload: null,
    meta: ["attempt", "ms", "error", "unknown", "neverBegan", "withdrawn", "runs", "edited"],
    shows: "failed",
    writtenBy: "the step board: no attempt is left, or the step is no longer awaited and may have to be undone",
  },
  {
    type: "timer_created",
    category: "timer",
    role: "command",
    op: "op",
    payload: null,
    meta: ["fireAt"],
    shows: "waiting",
    writtenBy: "workflow code: `ctx.sleep`, `ctx.sleepUntil`, `ctx.receive` with a timeout",
  },
  {
    type: "timer_fired",
    category: "timer",
    role: "delivered",
    op: "op",
    payload: null,
    meta: ["edited"],
    shows: "completed",
    writtenBy: "the executor: the time has come",
  },
  {
    type: "signal_received",
    category: "signal",
    role: "delivered",
    op: "signal",
    payload: "what was sent",
    meta: ["messageId", "receive", "edited"],
    shows: "completed",
    writtenBy: "the executor: the message of `handle.signal` has left the inbox",
  },
  {
    type: "cancel_requested",
    category: "command",
    role: "delivered",
    op: null,
    payload: null,
    meta: ["messageId", "by", "reason", "neverCalled"],
    writtenBy: "the executor: the message of `handle.cancel` has left the inbox",
  },
  {
    type: "deadline_reached",
    category: "command",
    role: "delivered",
    op: null,
    payload: null,
    meta: ["neverCalled"],
    writtenBy: "the executor: the `timeout` of the run has passed",
  },
  {
    type: "side_effect",
    category: "side_effect",
    role: "command",
    op: "op",
    payload: "the value",
    meta: ["error", "edited"],
    shows: "completed",
    writtenBy: "workflow code: `ctx.sideEffect`",
  },
  {
    type: "patched",
    category: "marker",
    role: "command",
    op: "patch",
    payload: null,
    meta: ["from"],
    lenient: true,
    writtenBy: "workflow code: `ctx.patched` in a turn that was not finished before",
  },
  {
    type: "attributes_set",
    category: "search_attribute",
    role: "command",
    op: null,
    payload: null,
    meta: ["attributes"],
    lenient: true,
    writtenBy: "workflow code: `ctx.set`",
  },
  {
    type: "run_retried",
    category: "workflow",
    role: "note",
    op: null,
    payload: null,
    meta: ["attempt", "error", "retryAt", "forgets", "by", "reason", "batch", "messageId"],
    writtenBy: "the executor: `retry` of the workflow; or `handle.retry`, which has no attempt, and an id of the call",
  },
  {
    type: "op_retired",
    category: "marker",
    role: "command",
    op: "op",
    payload: null,
    meta: [],
    lenient: true,
    writtenBy:
      "workflow code: `ctx.retired` in a turn that was not finished before, or where earlier code had the op in flight",
  },
  {
    type: "task_scheduled",
    category: "task",
    role: "command",
    op: "op",
    payload: "the input",
    meta: ["task", "later"],
    shows: "waiting",
    writtenBy: "workflow code: `ctx.task`; the task exists from then on, unless a lock must be regained first",
  },
  {
    type: "task_completed",
    category: "task",
    role: "delivered",
    op: "op",
    payload: "the result",
    meta: ["attempt", "ms", "messageId", "edited"],
    shows: "completed",
    writtenBy: "the executor: the task's result has come, from this process or from the inbox",
  },
  {
    type: "task_failed",
    category: "task",
    role: "delivered",
    op: "op",
    payload: null,
    meta: ["attempt", "ms", "error", "failures", "unknown", "neverBegan", "withdrawn", "messageId", "edited"],
    shows: "failed",
    writtenBy: "the executor: the task has failed for good, or is no longer awaited and may have to be undone",
  },
  {
    type: "op_canceled",
    category: "task",
    role: "note",
    op: "op",
    payload: null,
    meta: ["child", "reason"],
    shows: "canceled",
    writtenBy: "the executor: nobody waits for the task or the child any more, and it was taken back",
  },
  {
    type: "op_rescheduled",
    category: "task",
    role: "note",
    op: "op",
    payload: null,
    meta: ["attempt", "limit"],
    shows: "waiting",
    writtenBy:
      "the executor: the run was retried, and the task exists again; or its child was retried, or is replaced by another one (`attempt`); or the run was retried or forked, and a lock is requested again (`limit`)",
  },
  ...CONVERSATION_EVENTS,
  ...UPDATE_EVENTS,
  ...OPERATOR_EVENTS,
  ...LOCK_EVENTS,
  ...WATCHDOG_EVENTS,
  ...TRANSFER_EVENTS,
  ...SIGNAL_EVENTS,
] as const satisfies readonly EventRow[];

/** What an event of a history is about. */
export type EventType = (typeof EVENT_TABLE)[number]["type"];

/** In the order of their codes in the stores. */
export const EVENT_TYPES: readonly EventType[] = EVENT_TABLE.map(({ type }) => type);

/** The types of event rows that carry a value: something that a codec has encoded. */
export const VALUE_EVENTS: readonly EventType[] = EVENT_TABLE.flatMap(({ type, role, payload }) =>
  payload === null || role === "row" ? [] : [type],
);

export interface HistoryEvent {
  readonly seq: number;
  readonly type: EventType;
  /** Op id, signal name or patch id; null if the event concerns the run as a whole. */
  readonly op: string | null;
  /** Milliseconds since the epoch, never earlier than the previous event. */
  readonly at: number;
  readonly payload?: Payload;
  readonly meta?: EventMeta;
}

/** An event that does not have its place yet. */
export type EventDraft = Omit<HistoryEvent, "seq" | "at">;

// One lookup each: these are called for every event.
const CATEGORIES = byType(({ category }) => category);
const ROLES = byType(({ role }) => role);
const MESSAGES = byType(({ role, op }) => role === "delivered" && op !== "op");
const SHOWN = byType(({ shows }) => shows);
const LENIENT = byType(({ lenient = false }) => lenient);

export function eventCategory(type: EventType): EventCategory {
  return CATEGORIES[type];
}

export function eventRole(type: EventType): EventRole {
  return ROLES[type];
}

/** The op that the event is about. A signal names itself, and says which receive gets it. */
export function opOf({ type, op, meta }: Pick<HistoryEvent, "type" | "op" | "meta">): string | null {
  return type === "signal_received" && op !== null ? receiveId(op, meta?.receive) : op;
}

/** Whether it came to the run from outside, and not from an op. */
export function isMessage({ type }: Pick<HistoryEvent, "type">): boolean {
  return MESSAGES[type];
}

/** Whether a step, a task, a child or a message to another run has failed for good. */
export function isFailure({ type }: Pick<HistoryEvent, "type">): boolean {
  return FAILURES.has(type);
}

/** Whether it tells of a failure of whatever kind: of an attempt, an op, or the run. Being stopped by someone is none. */
export function isFailed({ type, meta }: Pick<HistoryEvent, "type" | "meta">): boolean {
  if (meta?.error === undefined || meta.withdrawn || meta.error.code === "paused") return false;
  return type !== "run_canceled" && type !== "run_terminated";
}

/** Whether a step, a task, a child or a message to another run has come to its end. */
export function isOutcome({ type }: Pick<HistoryEvent, "type">): boolean {
  return FAILURES.has(type) || SUCCESSES.has(type);
}

const FAILURES: ReadonlySet<EventType> = new Set(["step_failed", "task_failed", "child_failed", "message_failed"]);
const SUCCESSES: ReadonlySet<EventType> = new Set([
  "step_completed",
  "task_completed",
  "child_completed",
  "message_sent",
]);

/** Whether a crash has cut off a step or a task that must not be repeated. */
export function isCrash({ type, meta }: Pick<HistoryEvent, "type" | "meta">): boolean {
  if (type === "task_failed") return meta?.error?.code === "task_crashed";
  return type === "step_failed" && meta?.error?.code === "step_crashed";
}

/** What `steps()` reports of an op after such an event; undefined if the event is not about an op. */
export function shownStatus(type: EventType): ShownStatus | undefined {
  return SHOWN[type];
}

/** Whether it is a command that may come and go between versions of the code. */
export function isLenient(type: EventType): boolean {
  return LENIENT[type];
}

function byType<V>(value: (row: EventRow) => V): Readonly<Record<EventType, V>> {
  return Object.fromEntries(EVENT_TABLE.map((row) => [row.type, value(row)])) as Record<EventType, V>;
}
