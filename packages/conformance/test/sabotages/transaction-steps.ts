import type { TransactParams } from "holdfast/adapter";
import { type Sabotage, Saboteur } from "./saboteur.ts";

interface Transaction {
  onCommit(callback: () => void): void;
}

export const TRANSACTION_STEPS: readonly Sabotage[] = [
  {
    it: "lets anybody record an outcome",
    noun: "transactions",
    Store: class extends Saboteur {
      override transact(params: TransactParams) {
        const { epoch = 0, heldBy } = this.row(params.runId) ?? {};
        return super.transact({ ...params, epoch, workerId: heldBy ?? params.workerId });
      }
    },
  },
  {
    it: "forgets the epoch of an outcome",
    noun: "transactions",
    Store: class extends Saboteur {
      override transact(params: TransactParams) {
        return super.transact({ ...params, epoch: this.row(params.runId)?.epoch ?? 0 });
      }
    },
  },
  {
    it: "does the work again when it is asked again",
    noun: "transactions",
    Store: class extends Saboteur {
      override transact(params: TransactParams) {
        const inbox = this.state.inbox.get(params.runId) ?? [];
        for (const message of inbox)
          if (message.messageId === params.messageId) Object.assign(message, { messageId: "another" });
        return super.transact({ ...params, again: false });
      }
    },
  },
  {
    it: "commits the work before the outcome",
    noun: "transactions",
    Store: class extends Saboteur {
      override transact(params: TransactParams) {
        const hasty: Transaction = { onCommit: (callback) => callback() };
        return super.transact({ ...params, work: () => params.work(hasty) });
      }
    },
  },
  {
    it: "does not hear who gives up",
    noun: "transactions",
    Store: class extends Saboteur {
      override transact(params: TransactParams) {
        return super.transact({ ...params, signal: new AbortController().signal });
      }
    },
  },
  {
    it: "counts outcomes as consumed",
    noun: "transactions",
    Store: class extends Saboteur {
      override async transact(params: TransactParams) {
        const result = await super.transact(params);
        const row = this.row(params.runId);
        if (row && result.outcome === "recorded") row.consumed = row.delivered;
        return result;
      }
    },
  },
  {
    it: "takes the work of any kind",
    noun: "transactions",
    Store: class extends Saboteur {
      override transact(params: TransactParams) {
        return super.transact({ ...params, kind: "memory" });
      }
    },
  },
];
