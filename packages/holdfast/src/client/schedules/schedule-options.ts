import { readSpec } from "../../calendar/index.ts";
import { type AnyWorkflow, type InputOf, isPriority } from "../../define/definitions.ts";
import { isAttributes } from "../../errors/attribute-checks.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import {
  checkedLater,
  invalidOption,
  isBoolean,
  isDate,
  isFunction,
  isName,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  optionsOf,
  requireDuration,
  requireId,
  requireReason,
  requireTimeout,
  wholeNumber,
} from "../../errors/option-checks.ts";
import { shownValue } from "../../errors/shown-value.ts";
import type { CalendarSpec, ScheduleTimes } from "../../model/calendar-spec.ts";
import { type Duration, formatDuration } from "../../model/duration.ts";
import type { Attributes } from "../../model/event.ts";
import {
  CATCH_UP_MAX,
  CATCH_UP_MAX_DEFAULT,
  CATCH_UP_WINDOW_MS_MIN,
  OVERLAP_POLICIES,
  type OverlapPolicy,
  SCHEDULE_ID_LENGTH_MAX,
  type ScheduleDefinition,
} from "../../model/schedule.ts";

/** How the runs of a schedule are started. */
export interface ScheduledStartOptions {
  /**
   * The queue of the runs.
   * @defaultValue the queue of the workflow, which is `"default"` unless it says otherwise
   */
  readonly queue?: string;
  /**
   * Which due runs workers claim first: a whole number from -9 to 9, larger is sooner.
   * @defaultValue the priority of the workflow, or `0`
   */
  readonly priority?: number;
  /**
   * What the limits and the fairness of their queue go by.
   * @defaultValue what the `key` of the workflow makes of the input, or none
   */
  readonly key?: string;
  /**
   * The longest that a run may take, counted from its start.
   * @defaultValue the timeout of the workflow, or no limit
   */
  readonly timeout?: Duration;
  /**
   * Search attributes of the runs.
   * @defaultValue none but `holdfast.schedule` and `holdfast.scheduledAt`
   */
  readonly attributes?: Attributes;
}

/** Which missed times are made up for, once a worker is there again. */
export interface CatchUpOptions {
  /**
   * How many of them: the latest ones. From 1 to 1000.
   * @defaultValue `100`
   */
  readonly max?: number;
  /**
   * Only times that were missed no longer ago than this. At least 1 min, and longer than the lease of your workers: a leader that
   * dies is replaced within its lease.
   * @defaultValue no limit
   */
  readonly window?: Duration;
}

/** What can be said about a schedule, besides when it is due, its workflow and its input. */
export interface ScheduleRules {
  /**
   * What to do with a time that comes while the run of an earlier one is open. `"skip"`: nothing is started for it. `"buffer-one"`:
   * it waits for the end of that run, unless one waits already. `"buffer-all"`: all wait, up to 1,000. `"cancel-other"`,
   * `"terminate-other"`: that run is stopped, and the new one starts when it has ended. `"allow"`: they run side by side.
   * @defaultValue `"skip"`
   */
  readonly overlap?: OverlapPolicy;
  /**
   * Which missed times are made up for.
   * @defaultValue the latest 100, however long ago
   */
  readonly catchUp?: CatchUpOptions;
  /**
   * Whether it is paused: nothing is started until it is resumed.
   * @defaultValue `false`
   */
  readonly paused?: boolean;
  /**
   * A note for people.
   * @defaultValue none
   */
  readonly note?: string;
  /**
   * The version of the workflow.
   * @defaultValue the default version at the time of each start
   */
  readonly version?: string;
  /**
   * How its runs are started.
   * @defaultValue as the workflow says
   */
  readonly options?: ScheduledStartOptions;
}

/** Options of `hf.schedules.create`. */
export type ScheduleOptions<D extends AnyWorkflow | string = AnyWorkflow | string> = ScheduleTimes &
  SomeTimes &
  ScheduleRules & {
    /** Its id. The runs have the ids `<id>@<time>`. */
    readonly id: string;
    /** What it starts: a workflow, or the name of one. */
    readonly workflow: D;
    /**
     * What to do if a schedule has the id. `"update"`: it becomes what these options say, as if it were new, and is active unless they say
     * `paused`; its decisions and its runs stay. Its next time is computed anew if its times have changed, or if it was paused.
     * @defaultValue `"fail"`: refused with `schedule_already_exists`
     */
    readonly ifExists?: "fail" | "update";
  } & ScheduledInput<D>;

/** At least one of the three says when. */
export type SomeTimes = { [K in "cron" | "every" | "at"]: Required<Pick<ScheduleTimes, K>> }["cron" | "every" | "at"];

/** The input of the runs; it may be left out if the workflow takes none. */
export type ScheduledInput<D> = D extends AnyWorkflow
  ? undefined extends InputOf<D>
    ? { readonly input?: InputOf<D> }
    : { readonly input: InputOf<D> }
  : { readonly input?: unknown };

/**
 * What `update` changes. An option that is `undefined` is removed, and its default counts again; one that is left out stays.
 */
export type ScheduleUpdate<D extends AnyWorkflow | string = AnyWorkflow | string> = {
  readonly [K in keyof (ScheduleTimes & ScheduleRules)]?: (ScheduleTimes & ScheduleRules)[K] | undefined;
} & {
  /** What it starts: a workflow, or the name of one. */
  readonly workflow?: D;
  /** The input of the runs. */
  readonly input?: D extends AnyWorkflow ? InputOf<D> : unknown;
};

/** Options of `pause` and `resume` of a schedule. */
export interface SchedulePauseOptions {
  /**
   * Why, for people: it replaces the schedule's note.
   * @defaultValue the note stays
   */
  readonly note?: string;
  /**
   * Who does it.
   * @defaultValue nobody is named
   */
  readonly by?: string;
}

/** Options of `backfill`. */
export interface BackfillOptions {
  /** The first time that may be started. */
  readonly from: Date;
  /** The last time that may be started. Times that have not come yet are left to the schedule. */
  readonly to: Date;
  /**
   * What to do while a run is open.
   * @defaultValue `"allow"` if that is the schedule's own policy, otherwise `"buffer-all"`: one after the other
   */
  readonly overlap?: OverlapPolicy;
  /**
   * Called after each batch of times, and every second while as many times wait as can. The next batch waits for it; if it throws, the call ends with that error.
   * @defaultValue none
   */
  readonly onProgress?: (progress: BackfillProgress) => unknown;
}

/** How far a backfill is, or what it has done. */
export interface BackfillProgress {
  /** How many times of the range were gone through. */
  readonly times: number;
  /** For how many of them a run was started. */
  readonly started: number;
  /** How many wait for the end of the open run. */
  readonly buffered: number;
  /** How many were skipped: a run of that time exists, another run has its id, or the overlap policy says so. */
  readonly skipped: number;
  /** The last time that was gone through; null before the first. */
  readonly at: Date | null;
}

/** A page of `hf.schedules.list`. */
export interface ScheduleListOptions {
  /**
   * At most this many: up to 1000.
   * @defaultValue `100`
   */
  readonly limit?: number;
  /**
   * The `cursor` of the page before.
   * @defaultValue the first page
   */
  readonly cursor?: string;
}

const isNote: OptionCheck = (value, where, option) => requireReason(value, where, option);

const STARTS: OptionChecks<ScheduledStartOptions> = {
  queue: isName("queue name"),
  priority: isPriority,
  key: isName("key"),
  timeout: (value, where, option) => void requireTimeout(value as Duration, where, option),
  attributes: isAttributes,
};

const isWindow: OptionCheck = (value, where, option) => {
  const ms = requireDuration(value as Duration, where, option);
  if (ms < CATCH_UP_WINDOW_MS_MIN)
    throw invalidOption(
      where,
      option,
      `is ${formatDuration(ms)}; the minimum is ${formatDuration(CATCH_UP_WINDOW_MS_MIN)}`,
    );
};

const CATCH_UP: OptionChecks<CatchUpOptions> = { max: wholeNumber(1, CATCH_UP_MAX), window: isWindow };

export const TIMES_OPTIONS: OptionChecks<ScheduleTimes> = {
  cron: checkedLater,
  every: checkedLater,
  at: checkedLater,
  timezone: checkedLater,
  jitter: checkedLater,
  from: checkedLater,
  until: checkedLater,
};

const RULES: OptionChecks<ScheduleRules> = {
  overlap: oneOf(...OVERLAP_POLICIES),
  catchUp: optionsOf(CATCH_UP),
  paused: isBoolean,
  note: isNote,
  version: isName("version"),
  options: optionsOf(STARTS),
};

const isScheduleId: OptionCheck = (value, where) => {
  requireScheduleId(value);
  if ((value as string).length <= SCHEDULE_ID_LENGTH_MAX) return;
  const fault = `has ${(value as string).length} characters; the limit is ${SCHEDULE_ID_LENGTH_MAX}, because the ids of its runs are longer`;
  throw new HoldfastError("invalid_name", `${where}: the id of the schedule ${fault}.`, { data: { id: value } });
};

export function requireScheduleId(id: unknown): asserts id is string {
  requireId(id, "schedule id");
}

export const CREATE_OPTIONS: OptionChecks<
  ScheduleTimes & ScheduleRules & Record<"id" | "workflow" | "input" | "ifExists", unknown>
> = {
  ...TIMES_OPTIONS,
  ...RULES,
  id: isScheduleId,
  workflow: checkedLater,
  input: checkedLater,
  ifExists: oneOf("fail", "update"),
};

export const UPDATE_OPTIONS: OptionChecks<ScheduleUpdate> = {
  ...TIMES_OPTIONS,
  ...RULES,
  workflow: checkedLater,
  input: checkedLater,
};

export const PAUSE_OPTIONS: OptionChecks<SchedulePauseOptions> = { note: isNote, by: isNote };

export const BACKFILL_OPTIONS: OptionChecks<BackfillOptions> = {
  from: isDate,
  to: isDate,
  overlap: oneOf(...OVERLAP_POLICIES),
  onProgress: isFunction,
};

export const SCHEDULE_LIST_OPTIONS: OptionChecks<ScheduleListOptions> = {
  limit: wholeNumber(1, 1_000),
  cursor: (value, where) => void readScheduleCursor(value, where),
};

/** A cursor is the id of the last schedule of a page. */
export function writeScheduleCursor(id: string): string {
  return Buffer.from(JSON.stringify([id])).toString("base64url");
}

export function readScheduleCursor(cursor: unknown, where: string): string {
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor as string, "base64url").toString());
    const [id] = read as [unknown];
    if (typeof id === "string") return id;
  } catch {
    // reported below
  }
  throw invalidOption(where, "the cursor", "was not returned by schedules.list()");
}

export function requireCount(n: unknown, where: string): asserts n is number {
  if (!Number.isSafeInteger(n) || (n as number) < 1 || (n as number) > 10_000)
    throw invalidOption(where, "n", `is ${shownValue(n)}, not a whole number from 1 to 10000`);
}

/** What the rules say, apart from how runs are started. */
export function rulesOf(
  rules: ScheduleRules,
): Pick<ScheduleDefinition, "overlap" | "catchUpMax" | "catchUpWindowMs" | "paused" | "note"> {
  const { overlap, catchUp, paused, note } = rules;
  return {
    overlap: overlap ?? "skip",
    catchUpMax: catchUp?.max ?? CATCH_UP_MAX_DEFAULT,
    catchUpWindowMs:
      catchUp?.window === undefined ? null : requireDuration(catchUp.window, "schedule", "catchUp.window"),
    paused: paused ?? false,
    note: note ?? null,
  };
}

/** The times of a schedule as its owner would write them. */
export function timesOf(spec: CalendarSpec): ScheduleTimes {
  const { cron, every, at, timezone, jitterMs, fromMs, untilMs } = spec;
  const intervals = every.map(({ everyMs, offsetMs }) =>
    offsetMs === 0 ? formatDuration(everyMs) : { every: formatDuration(everyMs), offset: formatDuration(offsetMs) },
  );
  return {
    ...(cron.length === 0 ? {} : { cron: cron.length === 1 ? (cron[0] as string) : cron }),
    ...(every.length === 0 ? {} : { every: intervals.length === 1 ? (intervals[0] as Duration) : intervals }),
    ...(at.length === 0 ? {} : { at: at.map((one) => new Date(one)) }),
    timezone,
    ...(jitterMs === 0 ? {} : { jitter: formatDuration(jitterMs) }),
    ...(fromMs === null ? {} : { from: new Date(fromMs) }),
    ...(untilMs === null ? {} : { until: new Date(untilMs) }),
  };
}

const TIME_OPTIONS = Object.keys(TIMES_OPTIONS) as (keyof ScheduleTimes)[];

/** The spec after an update; undefined if the update is not about times. */
export function updatedSpec(known: CalendarSpec, update: ScheduleUpdate): CalendarSpec | undefined {
  const given = TIME_OPTIONS.filter((option) => Object.hasOwn(update, option));
  if (given.length === 0) return undefined;
  const changed = Object.fromEntries(given.map((option) => [option, update[option]]));
  return readSpec({ ...timesOf(known), ...changed } as ScheduleTimes, "schedules.update");
}
