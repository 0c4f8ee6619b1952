import type { PurgeRunsParams } from "holdfast/adapter";
import { type Sabotage, Saboteur } from "./saboteur.ts";

export const OLD_RUNS: readonly Sabotage[] = [
  {
    it: "purges runs of other statuses",
    noun: "retention",
    Store: class extends Saboteur {
      override purgeRuns({ statuses: _statuses, ...params }: PurgeRunsParams) {
        return super.purgeRuns(params);
      }
    },
  },
  {
    it: "purges what ended at the very time",
    noun: "retention",
    Store: class extends Saboteur {
      override purgeRuns(params: PurgeRunsParams) {
        return super.purgeRuns({ ...params, endedBefore: params.endedBefore + 1 });
      }
    },
  },
  {
    it: "forgets the messages of a chain with its first purged run",
    noun: "retention",
    Store: class extends Saboteur {
      override async purgeRuns(params: PurgeRunsParams) {
        const before = this.rows();
        const result = await super.purgeRuns(params);
        for (const row of before) if (!this.state.runs.has(row.runId)) this.state.messageIds.delete(row.firstRunId);
        return result;
      }
    },
  },
  {
    it: "leaves the histories of purged runs",
    noun: "retention",
    Store: class extends Saboteur {
      override async purgeRuns(params: PurgeRunsParams) {
        const before = [...this.state.events];
        const result = await super.purgeRuns(params);
        for (const [runId, events] of before) this.state.events.set(runId, events);
        return result;
      }
    },
  },
];
