import { type Cron, LAST_WEEK } from "./parse-cron.ts";

const MONTH_LENGTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/**
 * The days of a month that match: bit `d` for day `d`. `month` is 1 to 12, `firstWeekday` the weekday of its first day, 0
 * for Sunday.
 */
export function matchingDays(cron: Cron, month: number, leap: boolean, firstWeekday: number): number {
  const length = month === 2 && leap ? 29 : (MONTH_LENGTHS[month - 1] ?? 0);
  let days = 0;
  if (!cron.months.includes(month)) return days;
  const byMonth = daysOfMonth(cron, length, firstWeekday);
  for (let day = 1; day <= length; day++) {
    const inMonth = byMonth.has(day);
    const inWeek = matchesWeekday(cron, day, length, (firstWeekday + day - 1) % 7);
    if (isDay(cron, inMonth, inWeek)) days |= 1 << day;
  }
  return days;
}

/** Two restricted fields of days are alternatives, as they have been since the first cron, unless the expression has a `+`. */
function isDay(cron: Cron, inMonth: boolean, inWeek: boolean): boolean {
  const alternatives = !cron.bothDays && !cron.monthDays.any && !cron.weekdays.any;
  return alternatives ? inMonth || inWeek : inMonth && inWeek;
}

function daysOfMonth(cron: Cron, length: number, firstWeekday: number): Set<number> {
  const { days, nearest, last, lastWorkday } = cron.monthDays;
  const matching = new Set(days);
  const weekday = (day: number) => (firstWeekday + day - 1) % 7;
  for (const day of nearest) if (day <= length) matching.add(nearestWorkday(day, length, weekday(day)));
  if (last) matching.add(length);
  if (lastWorkday) matching.add(length - (weekday(length) === 0 ? 2 : weekday(length) === 6 ? 1 : 0));
  return matching;
}

/** Monday to Friday, in the same month. */
function nearestWorkday(day: number, length: number, weekday: number): number {
  if (weekday === 6) return day === 1 ? 3 : day - 1;
  if (weekday === 0) return day === length ? day - 2 : day + 1;
  return day;
}

function matchesWeekday(cron: Cron, day: number, length: number, weekday: number): boolean {
  const weeks = cron.weekdays.weeks[weekday] ?? 0;
  if ((weeks & (1 << Math.floor((day - 1) / 7))) !== 0) return true;
  return (weeks & LAST_WEEK) !== 0 && day + 7 > length;
}
