/** The indexes that lists of runs walk, as conditions that the planner recognizes. */
import type { RunStatus } from "holdfast/adapter";

/** Statuses that few runs have: such runs have an index of their own. */
export const ODD: readonly RunStatus[] = ["parked", "compensating", "failed", "canceled", "terminated", "timed_out"];
/** Statuses of open runs, which have an index of their own. */
export const OPEN: readonly RunStatus[] = ["pending", "running", "sleeping", "waiting", "compensating", "parked"];

/** The condition of the index of open runs. */
export const NOT_NEW = `r.held_by is null and r.ended_at is null
  and (r.started_at is not null or r.available_at is null or r.available_at <> r.created_at)`;
/** What is missing there; they are pending. The planner, which knows nothing of "coalesce", expects many, and walks the index in its order. */
export const IS_NEW = "not r.suspect and coalesce(r.available_at = r.created_at and r.started_at is null, false)";
/** Repeats the index's condition, so that the planner may use the index for a status that is a parameter. */
export const ODD_INDEX = `r.status in (${ODD.map((status) => `'${status}'`).join(", ")})`;

/** At the end of a lateral query without a limit: keeps the planner from joining all open runs at once, of whatever namespace. */
export const APART = "offset 0";
