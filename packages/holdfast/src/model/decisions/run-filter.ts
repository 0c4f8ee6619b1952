/** Which runs a filter means. The stores' SQL says the same; the conformance suite compares. */
import { CLOSED_STATUSES, type RunStatus } from "../run-status.ts";

/** Those parts of a filter that only runs of some statuses can match. */
export interface NarrowingFilter {
  readonly statuses?: readonly RunStatus[];
  readonly waitingFor?: string;
  readonly retrying?: true;
  readonly waitingSince?: number;
  readonly error?: string;
  readonly endedAfter?: number;
  readonly endedBefore?: number;
  readonly createdBefore?: number;
}

/** The same filter with what follows from it: the statuses that can match, and that a run is created before it ends. */
export function narrowed<F extends NarrowingFilter>(filter: F): F {
  const statuses = matchingStatuses(filter);
  const { endedBefore, createdBefore } = filter;
  if (endedBefore === undefined) return statuses ? { ...filter, statuses } : filter;
  return { ...filter, statuses, createdBefore: Math.min(endedBefore, createdBefore ?? endedBefore) };
}

const SUSPENDED: readonly RunStatus[] = ["sleeping", "waiting", "compensating"];
const WITH_ERROR: readonly RunStatus[] = ["parked", "failed", "canceled", "terminated", "timed_out"];

/** The statuses that runs can have which match the whole filter, each once; undefined if that is any. */
function matchingStatuses(filter: NarrowingFilter): readonly RunStatus[] | undefined {
  const { statuses, waitingFor, retrying, waitingSince, error, endedAfter, endedBefore } = filter;
  const sets: (readonly RunStatus[])[] = [];
  if (statuses) sets.push([...new Set(statuses)]);
  if (waitingFor !== undefined || retrying || waitingSince !== undefined) sets.push(SUSPENDED);
  if (error !== undefined) sets.push(WITH_ERROR);
  if (endedAfter !== undefined || endedBefore !== undefined) sets.push(CLOSED_STATUSES);
  const [first, ...rest] = sets;
  return first?.filter((status) => rest.every((set) => set.includes(status)));
}

const NUMBERS = /^(?:#\d+)+$/;

/**
 * Whether a run waits for what a filter names: an op by its id, every op of a name, or, if it ends in a colon, everything that
 * begins with it. `entry` is an op as the row names it.
 */
export function waitsFor(entry: string, wanted: string): boolean {
  if (!entry.startsWith(wanted)) return false;
  return wanted.endsWith(":") || entry.length === wanted.length || NUMBERS.test(entry.slice(wanted.length));
}
