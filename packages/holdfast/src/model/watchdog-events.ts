/** What is recorded of actions from outside that change neither what a run does nor where it is parked: the last rows of the table in event.ts. */
export const WATCHDOG_EVENTS = [
  {
    type: "run_restarted",
    category: "command",
    role: "note",
    op: null,
    payload: null,
    meta: ["by", "reason"],
    writtenBy:
      "the store, in the transaction that takes the run from a worker that makes no progress with it: the watchdog (`restart`)",
  },
  {
    type: "run_noted",
    category: "command",
    role: "note",
    op: null,
    payload: null,
    meta: ["messageId", "by", "reason"],
    writtenBy: "the executor: the watchdog is ending an attempt of a task of the run (`timeout_task`)",
  },
] as const;
