/** What people do to a run from outside, and where it is parked: the last rows of the table in event.ts. */
export const OPERATOR_EVENTS = [
  {
    type: "pause_requested",
    category: "command",
    role: "note",
    op: null,
    payload: null,
    meta: ["messageId", "by", "reason"],
    writtenBy:
      "the executor: the message of `handle.pause` has left the inbox; the run is parked once nothing of it runs",
  },
  {
    type: "run_parked",
    category: "command",
    role: "note",
    op: null,
    payload: null,
    meta: ["error", "by", "reason", "batch"],
    writtenBy:
      "the store, in the transaction that parks the run: `handle.pause`, or nobody here can safely continue it (`error`)",
  },
  {
    type: "run_resumed",
    category: "command",
    role: "note",
    op: null,
    payload: null,
    meta: ["messageId", "by", "reason", "batch"],
    writtenBy:
      "the store, in the transaction that makes the run due again: `handle.resume`, `handle.cancel` of a paused run, or a worker with other code; the executor, if the run was still pausing",
  },
  {
    type: "run_forked",
    category: "command",
    role: "note",
    op: null,
    payload: "the edits, by op",
    meta: ["forkedFrom", "seed", "by", "reason"],
    writtenBy:
      "the store, in the transaction that creates the run: `handle.fork`; all events before it are copies of those of the run that was forked",
  },
] as const;
