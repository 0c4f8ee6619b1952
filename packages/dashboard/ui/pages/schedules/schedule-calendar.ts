/** What happened on the days of a month, and what is going to: the calendar of one schedule. */
import type { ScheduleCalendar } from "../../../src/api/api-messages.ts";
import { daysOfMonth, type ZoneDay } from "./zone-days.ts";

/** What became of a time, for a mark. `open`: its run has not ended. */
export const OUTCOMES = ["failed", "missed", "open", "buffered", "completed", "stopped", "skipped"] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** A time that has passed. */
export interface PastTime {
  readonly at: number;
  readonly outcome: Outcome;
  readonly runId: string | null;
}

/** A day with its times. */
export interface CalendarDay extends ZoneDay {
  readonly isToday: boolean;
  readonly past: readonly PastTime[];
  readonly counts: Readonly<Partial<Record<Outcome, number>>>;
  readonly coming: readonly number[];
  /** There may be more times on that day: what is known was cut off before its end. */
  readonly more: boolean;
}

export interface CalendarParams extends Pick<ScheduleCalendar, "times" | "capped"> {
  /** `2026-11`. */
  readonly month: string;
  readonly zone: string;
  readonly now: number;
}

/** Weeks of a month, each from Monday. */
export function calendarOf({ month, zone, now, times, capped }: CalendarParams): CalendarDay[][] {
  const past = pastOf(times);
  const coming = times.filter(({ what }) => what === "coming").map(({ at }) => at);
  const last = times.at(-1)?.at ?? now;
  const days = daysOfMonth(month, zone).map((day): CalendarDay => {
    const within = (at: number) => at >= day.startMs && at < day.endMs;
    const own = past.filter(({ at }) => within(at));
    return {
      ...day,
      isToday: within(now),
      past: own,
      counts: countsOf(own),
      coming: coming.filter(within),
      more: capped && last < day.endMs,
    };
  });
  const weeks: CalendarDay[][] = [];
  for (let i = 0; i < days.length; i += 7) weeks.push(days.slice(i, i + 7));
  return weeks;
}

/** From when to when the calendar of a month needs to know the times. */
export function spanOf(month: string, zone: string): { readonly from: number; readonly to: number } {
  const days = daysOfMonth(month, zone);
  return { from: days[0]?.startMs ?? 0, to: (days.at(-1)?.endMs ?? 1) - 1 };
}

/** How a decision counts in the calendar: what was started counts by the end of its run. */
export function outcomeOf(what: string, status: string | null): Outcome {
  if (what === "skipped" || what === "buffered" || what === "missed" || what === "failed") return what;
  if (status === null || status === "completed" || status === "continued" || status === "moved") return "completed";
  if (status === "failed" || status === "timed_out") return "failed";
  return status === "canceled" || status === "terminated" ? "stopped" : "open";
}

/** For people who cannot see the marks: `3 completed, 1 failed, 2 to come`. */
export function describeDay({ counts, coming, more }: Pick<CalendarDay, "counts" | "coming" | "more">): string {
  const parts = OUTCOMES.flatMap((outcome) => (counts[outcome] ? [`${counts[outcome]} ${outcome}`] : []));
  if (coming.length > 0) parts.push(`${coming.length}${more ? " or more" : ""} to come`);
  else if (more) parts.push("more to come");
  return parts.length === 0 ? "nothing" : parts.join(", ");
}

/** The last decision about each time counts: one that was buffered is fired later. */
function pastOf(times: ScheduleCalendar["times"]): PastTime[] {
  const byTime = new Map<number, PastTime>();
  for (const { at, what, status, runId } of times)
    if (what !== "coming") byTime.set(at, { at, outcome: outcomeOf(what, status), runId });
  return [...byTime.values()];
}

function countsOf(times: readonly PastTime[]): Partial<Record<Outcome, number>> {
  const counts: Partial<Record<Outcome, number>> = {};
  for (const { outcome } of times) counts[outcome] = (counts[outcome] ?? 0) + 1;
  return counts;
}
