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

/** Its deadline: as far from now as it was from its creation. */
export function renewedDeadline(
  run: { readonly deadlineAt: number | null; readonly createdAt: number },
  now: number,
): number | null {
  return run.deadlineAt === null ? null : now + (run.deadlineAt - run.createdAt);
}
