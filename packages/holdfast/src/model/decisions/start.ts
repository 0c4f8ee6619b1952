/**
 * What to do with a start, given the newest run of its id. `isKnown`: whether a message that comes with the start was
 * delivered to that run before, or to one that it continues, and not in vain. Then the start is a repetition: nothing is
 * started or ended. After a run that has moved to another store none starts: its id lives there.
 */
export function judgeStart(
  newest: { readonly closed: boolean; readonly moved?: boolean } | undefined,
  policy: { readonly ifRunning: "return" | "fail" | "replace"; readonly ifClosed: "return" | "start" | "fail" },
  isKnown: () => boolean = () => false,
): "create" | "returned" | "exists" | "replace" {
  if (!newest) return "create";
  if (isKnown()) return "returned";
  const wanted = newest.closed ? policy.ifClosed : policy.ifRunning;
  switch (wanted) {
    case "return":
      return "returned";
    case "fail":
      return "exists";
    case "start":
      return newest.moved ? "exists" : "create";
    case "replace":
      return "replace";
  }
}

/** Whether a parent may start the child. `givenUp`: it has said that it does not want this child any more. */
export function judgeParent(
  parent: { readonly closed: boolean } | undefined,
  givenUp: boolean,
  allowed: boolean,
): "go_on" | "parent_closed" | "not_allowed" {
  if (!allowed) return "not_allowed";
  return !parent || parent.closed || givenUp ? "parent_closed" : "go_on";
}

/**
 * When a run is created: later than the newest run of its id, even if the clock was set back, so that the newest run stays
 * the newest.
 */
export function creationTime(now: number, newest: { readonly createdAt: number } | null | undefined): number {
  return newest ? Math.max(now, newest.createdAt + 1) : now;
}

/** When a run is first held, which is when it starts: not before it was created. */
export function startTime(now: number, createdAt: number): number {
  return Math.max(now, createdAt);
}
