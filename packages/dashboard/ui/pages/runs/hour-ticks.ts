import { type Zone, zoneOffsetMs } from "../../text/time-text.ts";

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const STEPS = [
  MINUTE,
  2 * MINUTE,
  5 * MINUTE,
  15 * MINUTE,
  30 * MINUTE,
  HOUR,
  3 * HOUR,
  6 * HOUR,
  12 * HOUR,
  DAY,
  2 * DAY,
  7 * DAY,
  14 * DAY,
  28 * DAY,
];
/** More do not fit beside each other. */
const TICKS_MAX = 7;
/** So near to an end the text would stick out. */
const EDGE = 0.04;

export interface HourTick {
  readonly at: number;
  /** The first one, and the first of each day, say which day it is. */
  readonly day: boolean;
}

/** Round times between two others, as clocks in the zone show them. */
export function hourTicks(from: number, to: number, zone: Zone): HourTick[] {
  const step = STEPS.find((one) => (to - from) / one <= TICKS_MAX) ?? Math.ceil((to - from) / TICKS_MAX / DAY) * DAY;
  const margin = (to - from) * EDGE;
  const offset = zoneOffsetMs(from, zone);
  const ticks: HourTick[] = [];
  let known: number | undefined;
  for (let local = Math.ceil((from + offset) / step) * step; local - offset <= to - margin; local += step) {
    // Where clocks change in between, what they show is a whole step again.
    const at = local - zoneOffsetMs(local - offset, zone);
    const day = Math.floor(local / DAY);
    if (at < from + margin) continue;
    ticks.push({ at, day: day !== known });
    known = day;
  }
  return ticks;
}
