/**
 * Time zones by their IANA names, from Intl. Asking Intl for an offset takes microseconds, too long for each minute of a year:
 * the changes of a year are looked up once and kept.
 */

/** What the calendar covers: the years 1900 to 9999, so that every time has the same ISO form. */
export const CALENDAR_START_MS = Date.UTC(1900, 0, 1);
export const CALENDAR_END_MS = Date.UTC(10_000, 0, 1) - 1;

/** A time in which the clocks of a zone are not changed. It may end without a change: at the end of a year. */
export interface ZonePeriod {
  /** Exclusive. */
  readonly endMs: number;
  /** Wall time minus UTC. */
  readonly offsetMs: number;
}

/** Since 1900, no zone has changed its clocks twice within less than a week. */
const SAMPLE_MS = 3 * 86_400_000;
const YEARS_KEPT_MAX = 500;
const ZONES_KEPT_MAX = 1_000;

export class TimeZone {
  readonly #format: Intl.DateTimeFormat;
  readonly #years = new Map<number, readonly ZonePeriod[]>();

  /** Throws a RangeError if there is no such zone. */
  constructor(name: string) {
    this.#format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
  }

  periodAt(ms: number): ZonePeriod {
    const year = new Date(ms).getUTCFullYear();
    let periods = this.#years.get(year);
    if (periods === undefined) {
      if (this.#years.size >= YEARS_KEPT_MAX) this.#years.clear();
      periods = this.#periodsOf(year);
      this.#years.set(year, periods);
    }
    for (const period of periods) if (ms < period.endMs) return period;
    throw new RangeError(`There is no time ${ms}.`);
  }

  #periodsOf(year: number): ZonePeriod[] {
    const endMs = Date.UTC(year + 1, 0, 1);
    const periods: ZonePeriod[] = [];
    let ms = Date.UTC(year, 0, 1);
    let offsetMs = this.#offsetAt(ms);
    while (ms < endMs) {
      const sampleMs = Math.min(ms + SAMPLE_MS, endMs);
      const nextMs = this.#offsetAt(sampleMs) === offsetMs ? sampleMs : this.#changeBetween(ms, sampleMs, offsetMs);
      if (nextMs < endMs && this.#offsetAt(nextMs) !== offsetMs) {
        periods.push({ endMs: nextMs, offsetMs });
        offsetMs = this.#offsetAt(nextMs);
      }
      ms = nextMs;
    }
    periods.push({ endMs, offsetMs });
    return periods;
  }

  /** The first whole second at which the offset is another one. */
  #changeBetween(fromMs: number, toMs: number, offsetMs: number): number {
    let before = fromMs;
    let after = toMs;
    while (after - before > 1_000) {
      const middle = before + Math.floor((after - before) / 2_000) * 1_000;
      if (this.#offsetAt(middle) === offsetMs) before = middle;
      else after = middle;
    }
    return after;
  }

  #offsetAt(ms: number): number {
    const [month = 1, day = 1, year = 0, hour = 0, minute = 0, second = 0] = (
      this.#format.format(ms).match(/\d+/g) ?? []
    ).map(Number);
    return Date.UTC(year, month - 1, day, hour, minute, second) - ms;
  }
}

const zones = new Map<string, TimeZone>();

/** Throws a RangeError if there is no such zone. */
export function timeZone(name: string): TimeZone {
  let zone = zones.get(name);
  if (zone === undefined) {
    zone = new TimeZone(name);
    if (zones.size >= ZONES_KEPT_MAX) zones.clear();
    zones.set(name, zone);
  }
  return zone;
}

export function isTimeZone(name: string): boolean {
  // Some runtimes accept offsets ("+02:00"), others do not.
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    timeZone(name);
    return true;
  } catch {
    return false;
  }
}
