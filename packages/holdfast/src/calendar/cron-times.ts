/**
 * When a cron expression is due in a time zone. What happens when clocks change:
 *
 * - **K1** An expression with one time a day is due once for each of its days: at the first moment when the clock shows that
 *   time or a later one. That is the end of the gap if the time does not exist, and the first pass if it comes twice.
 * - **K2** Any other expression is due whenever the clock shows one of its times: not in a gap, and in both passes of an hour
 *   that is repeated.
 */
import { parseCron } from "./parse-cron.ts";
import { CALENDAR_END_MS, CALENDAR_START_MS, type TimeZone, timeZone } from "./time-zone.ts";
import { WallClock } from "./wall-clock.ts";

const DAY_MS = 86_400_000;
/**
 * How far ahead a search looks. February 29 on a given weekday can be 40 years away; what does not come within 50 years is an
 * impossible date or always in a gap.
 */
const SEARCH_MS = 50 * 366 * DAY_MS;
const CRONS_KEPT_MAX = 2_000;

/** The first time strictly after `after`; infinity if there is none. */
export function nextOfCron(cron: string, timezone: string, after: number): number {
  if (after >= CALENDAR_END_MS) return Number.POSITIVE_INFINITY;
  const clock = wallClock(cron);
  const zone = timeZone(timezone);
  const from = Math.floor(Math.max(after, CALENDAR_START_MS - 1) / 1_000) * 1_000 + 1_000;
  const next = clock.oncePerDay ? nextDaily(clock, zone, from) : nextShown(clock, zone, from);
  return next <= CALENDAR_END_MS ? next : Number.POSITIVE_INFINITY;
}

/** K1. Everything up to what the clock showed a second before `from` has been reached before: the search begins after that. */
function nextDaily(clock: WallClock, zone: TimeZone, from: number): number {
  const last = from + SEARCH_MS;
  const before = from - 1_000;
  let wall = clock.next(before + zone.periodAt(before).offsetMs + 1_000, last);
  while (wall !== Number.POSITIVE_INFINITY) {
    const time = firstReached(zone, wall);
    if (time >= from) return time;
    wall = clock.next(wall + 1_000, last);
  }
  return wall;
}

/** The first moment when the clock shows `wall` or a later time. */
function firstReached(zone: TimeZone, wall: number): number {
  // No zone is a day ahead of UTC.
  let ms = wall - DAY_MS;
  for (;;) {
    const { endMs, offsetMs } = zone.periodAt(ms);
    const reached = Math.max(ms, wall - offsetMs);
    if (reached < endMs) return reached;
    ms = endMs;
  }
}

/** K2. A search is not repeated as long as what the clock shows lies between its start and what it has found. */
function nextShown(clock: WallClock, zone: TimeZone, from: number): number {
  const last = from + SEARCH_MS;
  let searched = Number.POSITIVE_INFINITY;
  let found = Number.NEGATIVE_INFINITY;
  for (let ms = from; ms <= last; ) {
    const { endMs, offsetMs } = zone.periodAt(ms);
    const wall = ms + offsetMs;
    if (wall < searched || wall > found) {
      found = clock.next(wall, last);
      searched = wall;
    }
    // A date that does not come within the longest distance of any date to its next one does not exist.
    if (found === Number.POSITIVE_INFINITY) break;
    if (found - offsetMs < endMs) return found - offsetMs;
    ms = endMs;
  }
  return Number.POSITIVE_INFINITY;
}

const clocks = new Map<string, WallClock>();

function wallClock(cron: string): WallClock {
  let clock = clocks.get(cron);
  if (clock === undefined) {
    clock = new WallClock(parseCron(cron));
    if (clocks.size >= CRONS_KEPT_MAX) clocks.clear();
    clocks.set(cron, clock);
  }
  return clock;
}
