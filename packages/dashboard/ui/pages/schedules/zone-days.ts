/**
 * Days of a month in a time zone, as a calendar shows them. A day is what lies between two midnights of the zone, so it has 23 or 25
 * hours when the clocks are changed; where midnight itself is left out, the day begins at the end of the gap.
 */

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const MINUTE_MS = 60_000;

/** The clocks are put forward (`byMinutes` above 0) or back. */
export interface ClockChange {
  readonly at: number;
  readonly byMinutes: number;
  /** What clocks show right before and right after: `02:00`, `03:00`. */
  readonly from: string;
  readonly to: string;
}

/** A day of a calendar. */
export interface ZoneDay {
  /** `2026-11-18`. */
  readonly date: string;
  readonly day: number;
  readonly startMs: number;
  /** The beginning of the next day. */
  readonly endMs: number;
  readonly inMonth: boolean;
  readonly clockChange: ClockChange | null;
}

const formats = new Map<string, Intl.DateTimeFormat>();

/** What is to be added to UTC to get what clocks in the zone show at that moment. */
export function offsetMsOf(zone: string, at: number): number {
  let format = formats.get(zone);
  if (!format) {
    format = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
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
    formats.set(zone, format);
  }
  const part: Record<string, number> = {};
  for (const { type, value } of format.formatToParts(at)) part[type] = Number(value);
  const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
  return Date.UTC(year, month - 1, day, hour, minute, second) - Math.floor(at / 1_000) * 1_000;
}

/** Whether this runtime knows the zone. */
export function isZone(zone: string): boolean {
  try {
    return zone !== "" && offsetMsOf(zone, 0) !== undefined;
  } catch {
    return false;
  }
}

/** What clocks in the zone show: `2026-11-18`. */
export function dateIn(zone: string, at: number): string {
  return new Date(at + offsetMsOf(zone, at)).toISOString().slice(0, 10);
}

/** What clocks in the zone show: `02:30`. */
export function clockIn(zone: string, at: number): string {
  return new Date(at + offsetMsOf(zone, at)).toISOString().slice(11, 16);
}

/** `2026-11`, of the zone. */
export function monthIn(zone: string, at: number): string {
  return dateIn(zone, at).slice(0, 7);
}

/** The month before (`by` is -1) or after. */
export function monthPlus(month: string, by: number): string {
  const [year = 1970, number = 1] = month.split("-").map(Number);
  return new Date(Date.UTC(year, number - 1 + by, 1)).toISOString().slice(0, 7);
}

/** Whether it is a month that a calendar can show: `2026-11`. */
export function isMonth(text: string): boolean {
  return /^(19|2\d)\d\d-(0[1-9]|1[0-2])$/.test(text);
}

/** The first moment of a day of the zone. */
export function startOfDay(date: string, zone: string): number {
  const wall = Date.parse(`${date}T00:00:00Z`);
  // Clocks differ from UTC by less than a day, so the offsets around it are the candidates; the later one lies after a gap.
  const before = wall - offsetMsOf(zone, wall - DAY_MS);
  const after = wall - offsetMsOf(zone, wall + DAY_MS);
  const exact = [before, after].filter((at) => at + offsetMsOf(zone, at) === wall);
  if (exact.length > 0) return Math.min(...exact);
  return changeBetween(zone, Math.min(before, after), Math.max(before, after)) ?? Math.max(before, after);
}

/** The days of the weeks (from Monday) that the month touches. */
export function daysOfMonth(month: string, zone: string): ZoneDay[] {
  const [year = 1970, number = 1] = month.split("-").map(Number);
  const first = Date.UTC(year, number - 1, 1);
  const last = Date.UTC(year, number, 0);
  const from = first - weekdayOf(first) * DAY_MS;
  const to = last + (6 - weekdayOf(last)) * DAY_MS;
  const days: ZoneDay[] = [];
  for (let wall = from; wall <= to; wall += DAY_MS) {
    const date = new Date(wall).toISOString().slice(0, 10);
    const startMs = startOfDay(date, zone);
    const endMs = startOfDay(new Date(wall + DAY_MS).toISOString().slice(0, 10), zone);
    days.push({
      date,
      day: Number(date.slice(8)),
      startMs,
      endMs,
      inMonth: date.startsWith(month),
      clockChange: clockChangeOf(zone, startMs, endMs),
    });
  }
  return days;
}

/** In words, for a mark in the calendar. */
export function describeClockChange({ from, to, byMinutes }: ClockChange): string {
  const amount = Math.abs(byMinutes) % 60 === 0 ? `${Math.abs(byMinutes) / 60} h` : `${Math.abs(byMinutes)} min`;
  return `Clocks go ${byMinutes > 0 ? "forward" : "back"} ${amount}: ${from} becomes ${to}`;
}

function clockChangeOf(zone: string, startMs: number, endMs: number): ClockChange | null {
  // A day that begins after a gap at midnight has its change at its first moment.
  const at = changeBetween(zone, startMs - 1, endMs - 1);
  if (at === undefined) return null;
  const [before, after] = [offsetMsOf(zone, at - 1), offsetMsOf(zone, at)];
  return {
    at,
    byMinutes: (after - before) / MINUTE_MS,
    from: new Date(at + before).toISOString().slice(11, 16),
    to: new Date(at + after).toISOString().slice(11, 16),
  };
}

/** The moment after `from`, up to `to`, from which the zone has another offset. */
function changeBetween(zone: string, from: number, to: number): number | undefined {
  const old = offsetMsOf(zone, from);
  if (offsetMsOf(zone, to) === old) return undefined;
  let [low, high] = [from, to];
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (offsetMsOf(zone, middle) === old) low = middle;
    else high = middle;
  }
  return high;
}

/** From Monday, 0 to 6. */
function weekdayOf(utc: number): number {
  return (new Date(utc).getUTCDay() + 6) % 7;
}
