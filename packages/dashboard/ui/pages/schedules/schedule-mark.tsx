import type { ScheduleRow } from "../../../src/api/api-messages.ts";
import { type State, Status } from "../../components/status.tsx";
import type { Outcome } from "./schedule-calendar.ts";

/** The shape of each outcome; `coming` is a time that has not come yet. */
export const OUTCOME_SHAPES: Readonly<Record<Outcome | "coming", State>> = {
  completed: "completed",
  failed: "failed",
  open: "running",
  stopped: "terminated",
  skipped: "continued",
  buffered: "waiting",
  missed: "timed_out",
  coming: "pending",
};

export type ScheduleState = "paused" | "waits" | "failing" | "ended" | "scheduled";

export function scheduleState(schedule: ScheduleRow): ScheduleState {
  if (schedule.paused) return "paused";
  if (schedule.openStatus === "parked") return "waits";
  if (schedule.failures > 0) return "failing";
  return schedule.nextAt === null ? "ended" : "scheduled";
}

const STATES: Readonly<Record<ScheduleState, readonly [State, string]>> = {
  paused: ["parked", "paused"],
  waits: ["waiting", "waits for a parked run"],
  failing: ["failed", "failing"],
  ended: ["terminated", "no more times"],
  scheduled: ["completed", "scheduled"],
};

export function ScheduleMark({ schedule, badge }: { readonly schedule: ScheduleRow; readonly badge?: boolean }) {
  const [shape, word] = STATES[scheduleState(schedule)];
  return <Status value={shape} word={word} badge={badge ?? false} />;
}
