/** What a history may contain about locks: a part of the table in event.ts, which checks it. */
export const LOCK_EVENTS = [
  {
    type: "lock_requested",
    category: "lock",
    role: "command",
    op: "op",
    payload: null,
    meta: ["limit", "fireAt"],
    shows: "waiting",
    writtenBy: "workflow code: `ctx.withLock`; the request stands in line from then on",
  },
  {
    type: "lock_granted",
    category: "lock",
    role: "delivered",
    op: "op",
    payload: null,
    meta: ["fence"],
    shows: "running",
    writtenBy:
      "the executor: the store has granted the request; also one that was made again after a retry or in a fork, which the code does not see",
  },
  {
    type: "lock_released",
    category: "lock",
    role: "command",
    op: "op",
    payload: null,
    meta: ["request"],
    shows: "completed",
    writtenBy: "workflow code: the function of `ctx.withLock` has settled, or the request was given up",
  },
] as const;
