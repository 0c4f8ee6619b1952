import type { NamespaceRetention, PurgeRunsParams } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

export const OLD_RUNS: readonly Sabotage[] = [
  {
    it: "purges runs of other statuses",
    noun: "purges",
    breaks: (it) => ({
      "runs.purge": ({ statuses: _statuses, ...params }: PurgeRunsParams) => {
        return it.runs.purge(params);
      },
    }),
  },
  {
    it: "purges what ended at the very time",
    noun: "purges",
    breaks: (it) => ({
      "runs.purge": (params: PurgeRunsParams) => {
        return it.runs.purge({ ...params, endedBefore: params.endedBefore + 1 });
      },
    }),
  },
  {
    it: "forgets the messages of a chain with its first purged run",
    noun: "purges",
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
    noun: "purges",
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
  {
    it: "purges what is before the position to go on from",
    noun: "purges",
    breaks: (it) => ({
      "runs.purge": ({ after: _after, ...params }: PurgeRunsParams) => it.runs.purge(params),
    }),
  },
  {
    it: "does not spare the last runs of schedules",
    noun: "purges",
    rare: true,
    breaks: (it) => ({
      "runs.purge": (params: PurgeRunsParams) => it.runs.purge({ ...params, sparesLastOfSchedules: false }),
    }),
  },
  {
    it: "keeps the rules of before beside the new ones",
    noun: "retention",
    breaks: (it) => ({
      "retention.set": ({ namespace, rules }: NamespaceRetention) =>
        it.retention.set({ namespace, rules: { ...it.state.retention.get(namespace), ...rules } }),
    }),
  },
  {
    it: "lists the rules of one namespace alone",
    noun: "retention",
    breaks: (it) => ({ "retention.list": async () => (await it.retention.list({})).slice(0, 1) }),
  },
];
