/**
 * A cron expression on a clock that is never changed. A wall time is a number like a timestamp: the milliseconds from
 * 1970-01-01T00:00:00 to a date and time of day, whatever the zone.
 */
import { matchingDays } from "./cron-days.ts";
import type { Cron } from "./parse-cron.ts";

const DAY_MS = 86_400_000;

export class WallClock {
  /** The expression has one time a day: such a time is neither skipped nor repeated when clocks change. */
  readonly oncePerDay: boolean;
  readonly #cron: Cron;
  /** By kind of year (leap or not, and its first weekday: there are 14) and month. */
  readonly #days = new Map<number, number>();

  constructor(cron: Cron) {
    this.#cron = cron;
    this.oncePerDay = cron.hours.length === 1 && cron.minutes.length === 1 && cron.seconds.length === 1;
  }

  /** The first matching time at or after `wallMs`, a whole second; infinity if that is later than `lastMs`. */
  next(wallMs: number, lastMs: number): number {
    let dayMs = Math.floor(wallMs / DAY_MS) * DAY_MS;
    let second = (wallMs - dayMs) / 1_000;
    for (;;) {
      const matching = this.#nextDay(dayMs, lastMs);
      if (matching === Number.POSITIVE_INFINITY) return matching;
      if (matching > dayMs) second = 0;
      const time = this.#nextTimeOfDay(second);
      if (time !== undefined) return matching + time * 1_000;
      dayMs = matching + DAY_MS;
      second = 0;
    }
  }

  #nextDay(dayMs: number, lastMs: number): number {
    const date = new Date(dayMs);
    let year = date.getUTCFullYear();
    let month = date.getUTCMonth();
    let earliest = date.getUTCDate();
    for (;;) {
      const monthMs = Date.UTC(year, month, 1);
      if (monthMs > lastMs) return Number.POSITIVE_INFINITY;
      // Shifting by `earliest` clears the days before it.
      const days = (this.#daysOf(year, month, monthMs) >>> earliest) << earliest;
      if (days !== 0) return monthMs + (31 - Math.clz32(days & -days) - 1) * DAY_MS;
      earliest = 1;
      month = (month + 1) % 12;
      if (month === 0) year++;
    }
  }

  #daysOf(year: number, month: number, monthMs: number): number {
    const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
    const firstWeekday = new Date(monthMs).getUTCDay();
    const key = (month * 7 + firstWeekday) * 2 + (leap ? 1 : 0);
    let days = this.#days.get(key);
    if (days === undefined) {
      days = matchingDays(this.#cron, month + 1, leap, firstWeekday);
      this.#days.set(key, days);
    }
    return days;
  }

  /** The first matching second of a day at or after `second`. */
  #nextTimeOfDay(second: number): number | undefined {
    const { hours, minutes, seconds } = this.#cron;
    const [firstMinute = 0] = minutes;
    const [firstSecond = 0] = seconds;
    const givenHour = Math.floor(second / 3_600);
    const givenMinute = Math.floor(second / 60) % 60;
    const hour = atLeast(hours, givenHour);
    if (hour === undefined) return undefined;
    if (hour > givenHour) return hour * 3_600 + firstMinute * 60 + firstSecond;
    const minute = atLeast(minutes, givenMinute);
    if (minute !== undefined && minute > givenMinute) return hour * 3_600 + minute * 60 + firstSecond;
    const exact = minute === undefined ? undefined : atLeast(seconds, second % 60);
    if (exact !== undefined) return hour * 3_600 + givenMinute * 60 + exact;
    const laterMinute = atLeast(minutes, givenMinute + 1);
    if (laterMinute !== undefined) return hour * 3_600 + laterMinute * 60 + firstSecond;
    const laterHour = atLeast(hours, givenHour + 1);
    return laterHour === undefined ? undefined : laterHour * 3_600 + firstMinute * 60 + firstSecond;
  }
}

function atLeast(numbers: readonly number[], least: number): number | undefined {
  return numbers.find((number) => number >= least);
}
