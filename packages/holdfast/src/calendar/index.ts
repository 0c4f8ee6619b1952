export type { CalendarSpec, EveryTimes, ScheduleTimes } from "../model/calendar-spec.ts";
export { jitterMs } from "./jitter.ts";
export { readSpec } from "./read-spec.ts";
export { CALENDAR_END_MS, CALENDAR_START_MS } from "./time-zone.ts";
export { latestBetween, nextAfter, timesBetween, upcoming } from "./times.ts";
