import type { Mutation } from "./mutation.ts";

export const STORE_MUTATIONS: readonly Mutation[] = [
  {
    name: "commits a transaction again that has committed before",
    file: "memory/transactions/transact.ts",
    find: '  if (earlier) return { outcome: "recorded", message: earlier };\n',
    replace: "",
    caughtBy: "transactions",
  },
  {
    name: "takes a late copy of an old flush",
    file: "model/decisions/commit.ts",
    find: 'if (row.commit !== sent.commit || !isHolder) return "lost";',
    replace: 'if (!isHolder) return "lost";',
    caughtBy: "no-complaints",
  },
  {
    name: "takes writes of an epoch that is over",
    file: "model/decisions/commit.ts",
    find: '  if (row.epoch !== sent.epoch) return "lost";\n',
    replace: "",
    caughtBy: "holder-appends",
  },
  {
    name: "takes an append of an epoch that is over",
    file: "model/decisions/commit.ts",
    find: 'if (row.epoch !== sent.epoch || row.commit !== sent.commit || !isHolder) return "lost";',
    replace: 'if (row.commit !== sent.commit) return "lost";',
    caughtBy: "holder-appends",
  },
  {
    name: "does not know an append again that it has written before",
    file: "memory/runs/commits.ts",
    find: 'if (judged !== "again") appendEvents(state, row, commit);',
    replace: "appendEvents(state, row, commit);",
    caughtBy: "no-complaints",
  },
  {
    name: "lets a run go while messages wait for it",
    file: "model/decisions/commit.ts",
    find: 'return keepsHolding(transition) || (transition.type === "suspend" && isBehind(row, sent));',
    replace: "return keepsHolding(transition);",
    caughtBy: "wake-ups",
  },
  {
    name: "delivers the same message twice",
    file: "model/decisions/delivery.ts",
    find: '  if (isKnown()) return "duplicate";\n',
    replace: "",
    caughtBy: "signals",
  },
  {
    name: "leaves unread messages behind when a run continues as new",
    file: "memory/inbox.ts",
    find: "    if (!isResult(message.kind)) appendMessage(state, to, message, now, replyAddress(state, from, message.messageId));\n",
    replace: "    void [message, to, now];\n",
    caughtBy: "signals",
  },
  {
    name: "declares workers dead before their lease is over",
    file: "model/decisions/dead-holder.ts",
    find: ": worker.leaseExpiresAt <= now;",
    replace: ": worker.leaseExpiresAt - worker.leaseMs * 0.7 <= now;",
    caughtBy: "quiet",
  },
];
