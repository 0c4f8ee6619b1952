import type { PurgeRunsParams } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

export const OLD_RUNS: readonly Sabotage[] = [
  {
    it: "purges runs of other statuses",
    noun: "retention",
    breaks: (it) => ({
      "runs.purge": ({ statuses: _statuses, ...params }: PurgeRunsParams) => {
        return it.runs.purge(params);
      },
    }),
  },
  {
    it: "purges what ended at the very time",
    noun: "retention",
    breaks: (it) => ({
      "runs.purge": (params: PurgeRunsParams) => {
        return it.runs.purge({ ...params, endedBefore: params.endedBefore + 1 });
      },
    }),
  },
  {
    it: "forgets the messages of a chain with its first purged run",
    noun: "retention",
    rare: true,
    breaks: (it) => ({
      "runs.purge": async (params: PurgeRunsParams) => {
        const before = it.rows();
        const result = await it.runs.purge(params);
        for (const row of before) if (!it.state.runs.has(row.runId)) it.state.messageIds.delete(row.firstRunId);
        return result;
      },
    }),
  },
  {
    it: "leaves the histories of purged runs",
    noun: "retention",
    rare: true,
    breaks: (it) => ({
      "runs.purge": async (params: PurgeRunsParams) => {
        const before = [...it.state.events];
        const result = await it.runs.purge(params);
        for (const [runId, events] of before) it.state.events.set(runId, events);
        return result;
      },
    }),
  },
];
