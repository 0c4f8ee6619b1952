/** What a history may contain about signals besides their arrival: the last row of the table in event.ts, which checks it. */
export const SIGNAL_EVENTS = [
  {
    type: "signal_handed_on",
    category: "signal",
    role: "command",
    op: "op",
    payload: null,
    meta: ["receive"],
    lenient: true,
    shows: "completed",
    writtenBy:
      "workflow code: a branch has lost in the turn in which it took a signal (`receive`), and this receive, which was waiting, gets it",
  },
] as const;
