import type { TransactParams } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

interface Transaction {
  onCommit(callback: () => void): void;
}

export const TRANSACTION_STEPS: readonly Sabotage[] = [
  {
    it: "lets anybody record an outcome",
    noun: "transactions",
    breaks: (it) => ({
      transact: (params: TransactParams) => {
        const { epoch = 0, heldBy } = it.row(params.runId) ?? {};
        return it.transact({ ...params, epoch, workerId: heldBy ?? params.workerId });
      },
    }),
  },
  {
    it: "forgets the epoch of an outcome",
    noun: "transactions",
    breaks: (it) => ({
      transact: (params: TransactParams) => {
        return it.transact({ ...params, epoch: it.row(params.runId)?.epoch ?? 0 });
      },
    }),
  },
  {
    it: "does the work again when it is asked again",
    noun: "transactions",
    breaks: (it) => ({
      transact: (params: TransactParams) => {
        const inbox = it.state.inbox.get(params.runId) ?? [];
        for (const message of inbox)
          if (message.messageId === params.messageId) Object.assign(message, { messageId: "another" });
        return it.transact({ ...params, again: false });
      },
    }),
  },
  {
    it: "commits the work before the outcome",
    noun: "transactions",
    breaks: (it) => ({
      transact: (params: TransactParams) => {
        const hasty: Transaction = { onCommit: (callback) => callback() };
        return it.transact({ ...params, work: () => params.work(hasty) });
      },
    }),
  },
  {
    it: "does not hear who gives up",
    noun: "transactions",
    breaks: (it) => ({
      transact: (params: TransactParams) => {
        return it.transact({ ...params, signal: new AbortController().signal });
      },
    }),
  },
  {
    it: "counts outcomes as consumed",
    noun: "transactions",
    breaks: (it) => ({
      transact: async (params: TransactParams) => {
        const result = await it.transact(params);
        const row = it.row(params.runId);
        if (row && result.outcome === "recorded") row.consumed = row.delivered;
        return result;
      },
    }),
  },
];
