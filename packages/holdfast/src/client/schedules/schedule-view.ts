import type { ScheduleTimes } from "../../model/calendar-spec.ts";
import { failuresAfter, isOpen } from "../../model/decisions/schedule.ts";
import type { Attributes } from "../../model/event.ts";
import { timeOfUuidV7 } from "../../model/ids.ts";
import { isClosed, type OpenStatus } from "../../model/run-status.ts";
import type { OverlapPolicy, Schedule, ScheduleDecision } from "../../model/schedule.ts";
import type { Codec } from "../../ports/codec.ts";
import { timesOf } from "./schedule-options.ts";

/** Where a schedule stands. */
export type ScheduleStatus = "scheduled" | "paused" | "ended";

/** A schedule in a list. */
export interface ScheduleSummary {
  readonly id: string;
  readonly workflow: string;
  /** The version that it names; null: the default one at the time of each start. */
  readonly version: string | null;
  readonly queue: string;
  /** When it is due. */
  readonly spec: ScheduleTimes;
  readonly overlap: OverlapPolicy;
  /** `ended`: it has no further times, and none of its times waits. It stays as it is until it is updated or deleted. */
  readonly status: ScheduleStatus;
  readonly paused: boolean;
  readonly note: string | null;
  /** Who has paused or resumed it, if they have said so. */
  readonly by: string | null;
  /** Its next time; null if there is none, or if it is paused: `status` says which. */
  readonly nextAt: Date | null;
  /** The last time for which a run was started; null if there was none. */
  readonly lastAt: Date | null;
  /** The id of its open run; null if none is open. With the policy `"allow"`, of the last one. */
  readonly openId: string | null;
  /** The status of that run; null if none is open. If it is `parked`, the schedule waits until somebody has looked at it. */
  readonly openStatus: OpenStatus | null;
  /** How many times wait for the end of that run. */
  readonly buffered: number;
  /** How many of its runs have failed in a row. */
  readonly failures: number;
  /** What the last of them failed with; null if none has. */
  readonly lastError: string | null;
  readonly catchUp: { readonly max: number; readonly windowMs: number | null };
  readonly createdAt: Date;
  /** When it was last written: by somebody who has changed it, or because one of its times had come. */
  readonly updatedAt: Date;
}

/** What became of a time of a schedule. */
export interface ScheduleDecisionView {
  readonly at: Date;
  /** `missed`: its time passed while no worker was there, and it is not made up for. `failed`: the run could not be started. */
  readonly what: ScheduleDecision["what"];
  readonly reason?: string;
  /** Of the run that was started. */
  readonly runId?: string;
}

/** The answer of `describe()` of a schedule. */
export interface ScheduleDescription extends ScheduleSummary {
  readonly input: unknown;
  readonly priority: number;
  readonly attributes: Attributes;
  readonly timeoutMs: number | null;
  /** The last 100, the oldest first. */
  readonly decisions: readonly ScheduleDecisionView[];
}

/** A page of `hf.schedules.list`. */
export interface SchedulePage {
  /** In the order of their ids. */
  readonly schedules: readonly ScheduleSummary[];
  /** Pass it as `cursor` for the next page; null on the last page. */
  readonly cursor: string | null;
}

export function summarizeSchedule(schedule: Schedule): ScheduleSummary {
  const { id, definition, state, open, createdAt, revision } = schedule;
  const { workflow, version, queue, spec, overlap, paused, note, by, catchUpMax, catchUpWindowMs } = definition;
  return {
    id,
    workflow,
    version,
    queue,
    spec: timesOf(spec),
    overlap,
    status: statusOf(schedule),
    paused,
    note,
    by,
    nextAt: date(state.nextAt),
    lastAt: date(state.lastAt),
    openId: isOpen(open) ? state.openId : null,
    openStatus: open && !isClosed(open.status) ? open.status : null,
    buffered: state.buffered.length,
    ...failuresAfter(state, open),
    catchUp: { max: catchUpMax, windowMs: catchUpWindowMs },
    createdAt: new Date(createdAt),
    // Whoever writes makes the revision, by a clock that may be behind that of the store.
    updatedAt: new Date(Math.max(createdAt, timeOfUuidV7(revision))),
  };
}

function statusOf({ definition, state }: Schedule): ScheduleStatus {
  if (definition.paused) return "paused";
  return state.nextAt === null && state.buffered.length === 0 ? "ended" : "scheduled";
}

export function describeSchedule(
  schedule: Schedule,
  decisions: readonly ScheduleDecision[],
  codec: Codec,
): ScheduleDescription {
  const { definition, input } = schedule;
  const { priority, attributes, timeoutMs } = definition;
  return {
    ...summarizeSchedule(schedule),
    input: codec.decode(input),
    priority,
    attributes,
    timeoutMs,
    decisions: decisions.map(({ at, ...rest }) => ({ at: new Date(at), ...rest })),
  };
}

function date(ms: number | null): Date | null {
  return ms === null ? null : new Date(ms);
}
