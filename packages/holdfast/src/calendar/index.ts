export type { CalendarSpec, EveryTimes, ScheduleTimes } from "../model/calendar-spec.ts";
export { jitterMs } from "./jitter.ts";
export { readSpec } from "./read-spec.ts";
export { latestBetween, nextAfter, timesBetween, upcoming } from "./times.ts";
