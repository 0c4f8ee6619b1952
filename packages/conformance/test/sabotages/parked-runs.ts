import type { CommitRunsParams, TakeUpParams } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

export const PARKED_RUNS: readonly Sabotage[] = [
  {
    it: "lets code take up what it has parked itself",
    noun: "parked runs",
    breaks: (it) => ({
      "runs.holdIfParkedByOtherCode": (params: TakeUpParams) => {
        const handlers = params.handlers.map((handler) => ({ ...handler, code: "e".repeat(32) }));
        return it.runs.holdIfParkedByOtherCode({ ...params, handlers });
      },
    }),
  },
  {
    it: "remembers only the code that has parked a run last",
    noun: "parked runs",
    rare: true,
    breaks: (it) => ({
      "runs.commit": async (params: CommitRunsParams) => {
        const result = await it.runs.commit(params);
        for (const [runId, parkedBy] of it.state.parkedBy)
          it.state.parkedBy.set(runId, parkedBy.split(" ")[0] as string);
        return result;
      },
    }),
  },
  {
    it: "takes up a parked run without taking the epoch on",
    noun: "parked runs",
    breaks: (it) => ({
      "runs.holdIfParkedByOtherCode": async (params: TakeUpParams) => {
        const before = it.rows().map((row) => [row, row.epoch] as const);
        const result = await it.runs.holdIfParkedByOtherCode(params);
        for (const [row, epoch] of before) row.epoch = epoch;
        return result;
      },
    }),
  },
];
