/** The statuses of runs. The core has them too, but is loaded later than the table of verbs. */
export const OPEN_STATUSES = ["pending", "running", "sleeping", "waiting", "compensating", "parked"] as const;

/** Those that retention and purge go by; a run that has moved to another store is neither. */
export const ENDED_STATUSES = ["completed", "failed", "canceled", "terminated", "timed_out", "continued"] as const;
