import type { Duration } from "./duration.ts";

/** Times that come again after a fixed interval, counted from 1970-01-01T00:00:00Z. */
export interface EveryTimes {
  /** The interval, at least a second. */
  readonly every: Duration;
  /**
   * How long after a multiple of the interval; shorter than the interval.
   * @defaultValue none: at the multiples of the interval
   */
  readonly offset?: Duration;
}

/** When a schedule is due. At least one of `cron`, `every` and `at`; a time that several of them name counts once. */
export interface ScheduleTimes {
  /** One or several cron expressions of five fields, or of six with the seconds first. */
  readonly cron?: string | readonly string[];
  /** One or several intervals, counted from 1970-01-01T00:00:00Z: `"10s"`, `{ every: "1h", offset: "5m" }`. */
  readonly every?: Duration | EveryTimes | readonly (Duration | EveryTimes)[];
  /** One or several times. */
  readonly at?: Date | readonly Date[];
  /**
   * The time zone of `cron`, by its IANA name: `"Europe/Berlin"`.
   * @defaultValue `"UTC"`
   */
  readonly timezone?: string;
  /**
   * The start of each run is delayed by up to this long: always by the same for the same schedule and time.
   * @defaultValue none: runs start on time
   */
  readonly jitter?: Duration;
  /**
   * Not due before this time; due at it, if it is one of the times.
   * @defaultValue no bound
   */
  readonly from?: Date;
  /**
   * Not due after this time; due at it, if it is one of the times.
   * @defaultValue no bound
   */
  readonly until?: Date;
}

/** `ScheduleTimes` after they have been checked, as stores keep them: plain JSON. Times are milliseconds since 1970. */
export interface CalendarSpec {
  readonly cron: readonly string[];
  readonly every: readonly { readonly everyMs: number; readonly offsetMs: number }[];
  /** Ascending, each once. */
  readonly at: readonly number[];
  readonly timezone: string;
  readonly jitterMs: number;
  /** Inclusive. */
  readonly fromMs: number | null;
  /** Inclusive. */
  readonly untilMs: number | null;
}
