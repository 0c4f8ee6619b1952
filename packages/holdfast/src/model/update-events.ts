/** What a history may contain about updates: a part of the table in event.ts, which checks it. */
export const UPDATE_EVENTS = [
  {
    type: "update_accepted",
    category: "update",
    role: "delivered",
    op: "update",
    payload: "the argument",
    meta: ["messageId", "number"],
    shows: "running",
    writtenBy: "the executor: the message of `handle.update` has left the inbox, and `validate` has let it pass",
  },
  {
    type: "update_rejected",
    category: "update",
    role: "note",
    op: "update",
    payload: null,
    meta: ["messageId", "error"],
    writtenBy: "the executor: `validate` has refused the update; for the first 1,000 of a run",
  },
  {
    type: "update_completed",
    category: "update",
    role: "command",
    op: "op",
    payload: "what the handler returned",
    meta: ["number", "error"],
    shows: "completed",
    writtenBy: "workflow code: the handler of the update has returned or thrown",
  },
] as const;
