export const OPEN_STATUSES = ["pending", "running", "sleeping", "waiting", "compensating", "parked"] as const;
export const CLOSED_STATUSES = [
  "completed",
  "failed",
  "canceled",
  "terminated",
  "timed_out",
  "continued",
  "moved",
] as const;
export const RUN_STATUSES = [...OPEN_STATUSES, ...CLOSED_STATUSES] as const;

/** The status of a run that has not ended. */
export type OpenStatus = (typeof OPEN_STATUSES)[number];
/** How a run ended. */
export type ClosedStatus = (typeof CLOSED_STATUSES)[number];
/** The status of a run. */
export type RunStatus = OpenStatus | ClosedStatus;

export function isClosed(status: RunStatus): status is ClosedStatus {
  return (CLOSED_STATUSES as readonly string[]).includes(status);
}

export type CompensationOutcome = "compensated" | "compensation_failed";
