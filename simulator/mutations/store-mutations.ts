import type { Mutation } from "./mutation.ts";

export const STORE_MUTATIONS: readonly Mutation[] = [
  {
    name: "commits a transaction again that has committed before",
    file: "memory/transact.ts",
    find: '  if (earlier) return { outcome: "recorded", message: earlier };\n',
    replace: "",
    caughtBy: "transactions",
  },
  {
    name: "takes a late copy of an old flush",
    file: "memory/commits.ts",
    find: "if (row.commit !== commit.commit || row.heldBy !== workerId) return LOST;",
    replace: "if (row.heldBy !== workerId) return LOST;",
    caughtBy: "no-complaints",
  },
  {
    name: "takes writes of an epoch that is over",
    file: "memory/commits.ts",
    find: "if (!row || row.epoch !== commit.epoch) return LOST;",
    replace: "if (!row) return LOST;",
    caughtBy: "holder-appends",
  },
  {
    name: "lets a run go while messages wait for it",
    file: "memory/commits.ts",
    find: 'else if (row.delivered === row.consumed || commit.transition.type !== "suspend") move(state, row, commit, now);',
    replace: "else move(state, row, commit, now);",
    caughtBy: "wake-ups",
  },
  {
    name: "delivers the same message twice",
    file: "memory/inbox.ts",
    find: 'if (state.messageIds.get(row.firstRunId)?.has(message.messageId)) return outcome("duplicate", row);',
    replace: "",
    caughtBy: "signals",
  },
  {
    name: "leaves unread messages behind when a run continues as new",
    file: "memory/commits.ts",
    find: "      for (const message of unconsumed(state, row.runId, row.consumed)) appendMessage(state, next, message, now);\n",
    replace: "",
    caughtBy: "signals",
  },
  {
    name: "declares workers dead before their lease is over",
    file: "memory/workers.ts",
    find: ": worker.leaseExpiresAt <= now;",
    replace: ": worker.leaseExpiresAt - worker.leaseMs * 0.7 <= now;",
    caughtBy: "quiet",
  },
];
