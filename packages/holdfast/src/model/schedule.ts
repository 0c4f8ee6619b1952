/** Schedules as stores keep them. What they decide is in decisions/schedule.ts, when they are due in calendar/. */
import { createHash } from "node:crypto";
import type { CalendarSpec } from "./calendar-spec.ts";
import type { Attributes } from "./event-meta.ts";
import { newRunId } from "./ids.ts";
import { ID_LENGTH_MAX } from "./names.ts";
import type { Payload } from "./payload.ts";
import type { RunStatus } from "./run-status.ts";

/** What to do with a time that comes while the run of an earlier time is open. */
export const OVERLAP_POLICIES = [
  "skip",
  "buffer-one",
  "buffer-all",
  "cancel-other",
  "terminate-other",
  "allow",
] as const;
/** What a schedule does with a time that comes while the run of an earlier time is open. */
export type OverlapPolicy = (typeof OVERLAP_POLICIES)[number];

/** How many decisions a schedule remembers. */
export const DECISIONS_MAX = 100;
/** How many times may wait for the end of the open run. */
export const BUFFERED_MAX = 1_000;
/** How many missed times are made up for, unless the schedule says otherwise; and the most that it may say. */
export const CATCH_UP_MAX_DEFAULT = 100;
export const CATCH_UP_MAX = 1_000;
/** The shortest catch-up window: twice the default lease. A leader that is replaced within a lease must not cost a time. */
export const CATCH_UP_WINDOW_MS_MIN = 60_000;
/** The longest id of a schedule: a run's id is the schedule's, a separator, and a time or a UUID. */
export const SCHEDULE_ID_LENGTH_MAX = ID_LENGTH_MAX - 40;

/** What users say about a schedule, but for the input of its runs. Plain JSON. */
export interface ScheduleDefinition {
  readonly spec: CalendarSpec;
  readonly workflow: string;
  /** Null: the default version of the moment, else `fallbackVersion`. */
  readonly version: string | null;
  readonly fallbackVersion: string;
  readonly queue: string;
  readonly priority: number;
  /** What the limits and the fairness of the queue go by; absent: nothing. */
  readonly key?: string;
  readonly attributes: Attributes;
  readonly timeoutMs: number | null;
  readonly overlap: OverlapPolicy;
  readonly catchUpMax: number;
  /** Null: times are made up for however long ago they were missed. */
  readonly catchUpWindowMs: number | null;
  readonly paused: boolean;
  readonly note: string | null;
  /** Who has paused or resumed it, if that is known. */
  readonly by: string | null;
}

/** Where a schedule stands. */
export interface ScheduleState {
  /** The first time that has not been dealt with; null if it will never be due again, or is paused. */
  readonly nextAt: number | null;
  /** The last time for which a run was started. */
  readonly lastAt: number | null;
  /** The id (not the run id: it may have continued as new) of the run that counts as the open one while it is open. */
  readonly openId: string | null;
  /** Times that wait for its end, in the order in which their runs will start. */
  readonly buffered: readonly number[];
  /** The policy by which they were buffered, if it is not the schedule's own: that of a backfill. */
  readonly bufferedBy?: OverlapPolicy;
  /** What the leader has to do because of them (`waitsOf`). */
  readonly waits: "no" | "end" | "look";
  /** How many runs in a row have failed, among those whose end has been looked at. */
  readonly failures: number;
  readonly lastError: string | null;
}

/** Whose run has the id of a time's run: the schedule's own, or one that somebody else has started. */
export type IdOwner = "schedule" | "other";

/** What became of a time. `failed`: the run could not be started. */
export interface ScheduleDecision {
  readonly at: number;
  readonly what: "fired" | "skipped" | "buffered" | "missed" | "failed";
  readonly reason?: string;
  readonly runId?: string;
}

/** The newest run of a schedule's `openId`. */
export interface OpenRun {
  readonly runId: string;
  readonly status: RunStatus;
  /** The message of its error, if it has one. */
  readonly error: string | null;
}

/** A schedule with the run that it has started last. */
export interface Schedule {
  readonly namespace: string;
  readonly id: string;
  /** Another UUID (version 7) after every change: whoever wants to change the schedule names the one that they have seen. */
  readonly revision: string;
  readonly createdAt: number;
  readonly definition: ScheduleDefinition;
  readonly input: Payload;
  readonly state: ScheduleState;
  /** Null if there is none, or if it was purged. */
  readonly open: OpenRun | null;
}

/** The attributes by which a run knows its schedule and its time. No caller can set such attributes. */
export const SCHEDULE_ATTRIBUTE = "holdfast.schedule";
export const SCHEDULED_AT_ATTRIBUTE = "holdfast.scheduledAt";

export function scheduleAttributes(schedule: string | undefined, scheduledAt: number | undefined): Attributes {
  if (schedule === undefined || scheduledAt === undefined) return {};
  return { [SCHEDULE_ATTRIBUTE]: schedule, [SCHEDULED_AT_ATTRIBUTE]: new Date(scheduledAt).toISOString() };
}

/** What such attributes say; undefined for a run that no schedule has started. */
export function scheduleOf(
  attributes: Attributes,
): { readonly schedule: string; readonly scheduledAt: number } | undefined {
  const schedule = attributes[SCHEDULE_ATTRIBUTE];
  const at = attributes[SCHEDULED_AT_ATTRIBUTE];
  if (typeof schedule !== "string" || typeof at !== "string") return undefined;
  return { schedule, scheduledAt: Date.parse(at) };
}

/** The id of the run for a time of a schedule. */
export function scheduledId(scheduleId: string, at: number): string {
  return `${scheduleId}@${new Date(at).toISOString()}`;
}

/** The schedule whose run may have this id; undefined for one that no run of a schedule can have. */
export function scheduleIdOf(runKey: string): string | undefined {
  const end = Math.max(runKey.lastIndexOf("@"), runKey.lastIndexOf("!"));
  return end > 0 ? runKey.slice(0, end) : undefined;
}

/** The run id of that run: always the same one, whoever starts it and however often. */
export function scheduledRunId(namespace: string, id: string, at: number): string {
  return newRunId(namespace, id, Math.max(0, at), createHash("sha256").update(`${namespace}\n${id}`).digest());
}
