/**
 * When a schedule is due: pure functions of its spec and a time.
 *
 * - A time that several sources of a spec name is one time. Times grow strictly.
 * - Everything here is derived from `nextAfter`, so that no two functions can disagree.
 */
import type { CalendarSpec } from "../model/calendar-spec.ts";
import { nextOfCron } from "./cron-times.ts";
import { CALENDAR_END_MS } from "./time-zone.ts";

/** The first time strictly after `afterMs`; null if there is none. */
export function nextAfter(spec: CalendarSpec, afterMs: number): number | null {
  const after = spec.fromMs === null ? afterMs : Math.max(afterMs, spec.fromMs - 1);
  let next = Number.POSITIVE_INFINITY;
  for (const { everyMs, offsetMs } of spec.every) {
    next = Math.min(next, (Math.floor((after - offsetMs) / everyMs) + 1) * everyMs + offsetMs);
  }
  for (const at of spec.at) if (at > after) next = Math.min(next, at);
  for (const cron of spec.cron) next = Math.min(next, nextOfCron(cron, spec.timezone, after));
  const last = spec.untilMs ?? CALENDAR_END_MS;
  return next <= last ? next : null;
}

/** The first times after `afterMs`, up to and including `untilMs`; at most `max`, ascending. */
export function timesBetween(spec: CalendarSpec, afterMs: number, untilMs: number, max: number): number[] {
  const times: number[] = [];
  let next = nextAfter(spec, afterMs);
  while (next !== null && next <= untilMs && times.length < max) {
    times.push(next);
    next = nextAfter(spec, next);
  }
  return times;
}

/** The last times after `afterMs`, up to and including `untilMs`; at most `max`, ascending. */
export function latestBetween(spec: CalendarSpec, afterMs: number, untilMs: number, max: number): number[] {
  const latest: number[] = [];
  gatherBackward(spec, afterMs, untilMs, max, latest);
  return latest.reverse();
}

/** The first `n` times strictly after `fromMs`; fewer if there are no more. */
export function upcoming(spec: CalendarSpec, fromMs: number, n: number): number[] {
  return timesBetween(spec, fromMs, Number.MAX_SAFE_INTEGER, n);
}

/**
 * Halves the window until a part has one time, the later half first: the work depends on how many times are asked for and,
 * by its logarithm alone, on how long the window is.
 */
function gatherBackward(spec: CalendarSpec, after: number, until: number, max: number, latest: number[]): void {
  if (latest.length >= max) return;
  const first = nextAfter(spec, after);
  if (first === null || first > until) return;
  const middle = Math.floor(first + (until - first) / 2);
  if (middle < until) {
    gatherBackward(spec, middle, until, max, latest);
    if (middle > first) gatherBackward(spec, first, middle, max, latest);
  }
  if (latest.length < max) latest.push(first);
}
