/** Whether a failed run is reopened. An open run with more events than the caller knows was reopened by an earlier call. */
export function judgeReopening(
  run: { readonly closed: boolean; readonly failed: boolean; readonly eventCount: number },
  eventCount: number,
  isNewest: () => boolean,
): "reopen" | "reopened" | "not_failed" | "superseded" {
  if (!run.closed && run.eventCount > eventCount) return "reopened";
  if (!run.failed || run.eventCount !== eventCount) return "not_failed";
  return isNewest() ? "reopen" : "superseded";
}

/** Its deadline: the whole timeout from now, unless the deadline no longer counted. Earlier reopenings have moved the deadline itself. */
export function renewedDeadline(
  run: { readonly deadlineAt: number | null; readonly timeoutMs: number | null },
  now: number,
): number | null {
  return run.deadlineAt === null || run.timeoutMs === null ? null : now + run.timeoutMs;
}
