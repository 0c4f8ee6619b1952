/** When a run times out; null if it never does. */
export function deadlineFrom(createdAt: number, timeoutMs: number | undefined): number | null {
  return timeoutMs === undefined ? null : createdAt + timeoutMs;
}

/** When a new run is due: at the later of its start time and its delay, but not after its deadline. */
export function firstDueTime(
  run: { readonly startAt?: number; readonly startDelayMs?: number },
  deadlineAt: number | null,
  now: number,
): number {
  const asked = Math.max(run.startAt ?? now, now + (run.startDelayMs ?? 0));
  return Math.min(asked, deadlineAt ?? Number.POSITIVE_INFINITY);
}

/**
 * When a run that is no longer held is due. Due now is due now, even past the deadline: the next holder must have its chance
 * to clean up. A later time is not after the deadline. (Stores that keep whole milliseconds round up, so that nothing is
 * early.)
 */
export function dueTime(dueAt: number | null, deadlineAt: number | null, now: number): number | null {
  if (dueAt === null || dueAt <= now) return dueAt;
  return Math.min(dueAt, deadlineAt ?? Number.POSITIVE_INFINITY);
}

export function isDue(availableAt: number | null, now: number): boolean {
  return availableAt !== null && availableAt <= now;
}

/**
 * A run that has never begun and that no worker claimed in time. One that has begun may have something to clean up; one that is
 * paused reaches its deadline when it is resumed.
 */
export function isOverdueUnbegun(
  run: { readonly startedAt: number | null; readonly deadlineAt: number | null; readonly status: string },
  graceMs: number,
  now: number,
): boolean {
  return (
    run.startedAt === null && run.status !== "parked" && run.deadlineAt !== null && run.deadlineAt + graceMs <= now
  );
}

/** The earlier of two times, of which either may be none. */
export function earlier(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}
