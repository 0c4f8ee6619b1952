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
    name: "lets a run go while messages wait for it",
    file: "model/decisions/commit.ts",
    find: 'return type === "hold" || (type === "suspend" && isBehind(row, sent));',
    replace: 'return type === "hold";',
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
