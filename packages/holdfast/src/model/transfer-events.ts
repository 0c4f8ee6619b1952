/** What a history may contain about moves to another store: a part of the table in event.ts, which checks it. */
export const TRANSFER_EVENTS = [
  {
    type: "run_moved",
    category: "workflow",
    role: "row",
    op: null,
    payload: null,
    meta: ["error", "by", "reason"],
    writtenBy: "the run row: `hf.move` has taken the run to another store (`error.data.to`), where it goes on",
  },
] as const;
