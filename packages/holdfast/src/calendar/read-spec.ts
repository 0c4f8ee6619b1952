/**
 * Reads when a schedule is due, as an application writes it, into the spec that stores keep. Whatever is wrong is refused
 * with `invalid_schedule`: which field, where in it, what is wrong, what to do.
 */
import { HoldfastError } from "../errors/holdfast-error.ts";
import { durationFault, isList, isPlainObject } from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import type { CalendarSpec, EveryTimes, ScheduleTimes } from "../model/calendar-spec.ts";
import { type Duration, durationToMs, formatDuration } from "../model/duration.ts";
import { nearestName } from "../model/nearest-name.ts";
import { CronFault, parseCron } from "./parse-cron.ts";
import { CALENDAR_END_MS, CALENDAR_START_MS, isTimeZone } from "./time-zone.ts";

/** How many expressions, intervals and times a schedule may have. */
export const CRONS_MAX = 100;
export const INTERVALS_MAX = 100;
export const AT_MAX = 1_000;
/** The length of a cron expression. */
export const CRON_LENGTH_MAX = 500;
export const EVERY_MS_MIN = 1_000;

/**
 * Throws `invalid_schedule`, with `data: { field, position? }`. Fields that do not say when a schedule is due are ignored: the
 * options of a call are checked by the call. `where` names it in messages.
 */
export function readSpec(times: ScheduleTimes, where = "schedule"): CalendarSpec {
  const reader = new SpecReader(where);
  return reader.read(times);
}

class SpecReader {
  readonly #where: string;

  constructor(where: string) {
    this.#where = where;
  }

  read(times: ScheduleTimes): CalendarSpec {
    const spec: CalendarSpec = {
      cron: this.#oneOrSeveral(times.cron, "cron", CRONS_MAX).map(({ value, field }) => this.#cron(value, field)),
      every: this.#oneOrSeveral(times.every, "every", INTERVALS_MAX).map(({ value, field }) =>
        this.#every(value, field),
      ),
      at: this.#at(times.at),
      timezone: this.#timezone(times.timezone),
      jitterMs: times.jitter === undefined ? 0 : this.#duration(times.jitter, "jitter"),
      fromMs: times.from === undefined ? null : this.#date(times.from, "from"),
      untilMs: times.until === undefined ? null : this.#date(times.until, "until"),
    };
    if (spec.cron.length + spec.every.length + spec.at.length === 0)
      throw this.#fault("cron", 'is missing, and so are every and at: say when, for example cron: "0 2 * * *"');
    if (spec.fromMs !== null && spec.untilMs !== null && spec.untilMs < spec.fromMs)
      throw this.#fault(
        "until",
        "is before from, so there is no time between them. Exchange the two, or leave one out",
      );
    return spec;
  }

  #oneOrSeveral(given: unknown, field: string, max: number): { value: unknown; field: string }[] {
    if (given === undefined) return [];
    if (!isList(given)) return [{ value: given, field }];
    const list = given as readonly unknown[];
    if (list.length > max)
      throw this.#fault(field, `has ${list.length} entries; the limit is ${max}. Use several schedules`);
    return Array.from(list, (value, i) => ({ value, field: `${field}[${i}]` }));
  }

  #cron(value: unknown, field: string): string {
    if (typeof value !== "string") throw this.#fault(field, `is ${shownValue(value)}, not a string like "0 2 * * *"`);
    if (value.length > CRON_LENGTH_MAX)
      throw this.#fault(
        field,
        `has ${value.length} characters; the limit is ${CRON_LENGTH_MAX}. Use several expressions`,
      );
    try {
      parseCron(value);
    } catch (error) {
      if (!(error instanceof CronFault)) throw error;
      const { position, message } = error;
      throw this.#fault(field, `is ${shownValue(value)}: at position ${position}, ${message}`, position);
    }
    return value;
  }

  #every(value: unknown, field: string): CalendarSpec["every"][number] {
    const withOffset = isPlainObject(value) && Object.hasOwn(value as object, "every");
    if (!withOffset) return { everyMs: this.#interval(value, field), offsetMs: 0 };
    const { every, offset, ...others } = value as EveryTimes;
    const other = Object.keys(others)[0];
    if (other !== undefined)
      throw this.#fault(`${field}.${other}`, "is unknown; an interval has the fields every and offset");
    const everyMs = this.#interval(every, `${field}.every`);
    const offsetMs = offset === undefined ? 0 : this.#duration(offset, `${field}.offset`);
    if (offsetMs < everyMs) return { everyMs, offsetMs };
    const most = formatDuration(everyMs);
    throw this.#fault(
      `${field}.offset`,
      `is ${formatDuration(offsetMs)}; it must be shorter than the interval of ${most}`,
    );
  }

  #interval(value: unknown, field: string): number {
    const ms = this.#duration(value, field);
    if (ms >= EVERY_MS_MIN) return ms;
    throw this.#fault(field, `is ${formatDuration(ms)}; the shortest interval is ${formatDuration(EVERY_MS_MIN)}`);
  }

  #at(given: unknown): number[] {
    const times = this.#oneOrSeveral(given, "at", AT_MAX).map(({ value, field }) => this.#date(value, field));
    return [...new Set(times)].sort((a, b) => a - b);
  }

  #timezone(given: unknown): string {
    if (given === undefined) return "UTC";
    if (typeof given === "string" && isTimeZone(given)) return given;
    const nearest = typeof given === "string" ? nearestName(given, Intl.supportedValuesOf("timeZone")) : undefined;
    const advice = nearest === undefined ? 'Use a name like "Europe/Berlin" or "UTC"' : `Did you mean "${nearest}"?`;
    throw this.#fault("timezone", `is ${shownValue(given)}, not the IANA name of a time zone. ${advice}`);
  }

  #duration(value: unknown, field: string): number {
    let ms: number | undefined;
    try {
      ms = durationToMs(value as Duration);
    } catch {
      // a getter or a proxy that throws
    }
    if (ms !== undefined) return ms;
    throw this.#fault(field, `is ${shownValue(value)}, ${durationFault(value)}`);
  }

  #date(value: unknown, field: string): number {
    const ms = value instanceof Date ? value.getTime() : Number.NaN;
    if (ms >= CALENDAR_START_MS && ms <= CALENDAR_END_MS) return ms;
    if (Number.isNaN(ms)) throw this.#fault(field, `is ${shownValue(value)}, not a valid Date`);
    throw this.#fault(field, "is not between the years 1900 and 9999");
  }

  #fault(field: string, fault: string, position?: number): HoldfastError {
    const end = fault.endsWith("?") ? "" : ".";
    return new HoldfastError("invalid_schedule", `${this.#where}: ${field} ${fault}${end}`, {
      data: { field, ...(position === undefined ? {} : { position }) },
    });
  }
}
