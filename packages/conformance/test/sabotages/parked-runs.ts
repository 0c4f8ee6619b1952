import type { CommitRunsParams, TakeUpParams } from "holdfast/adapter";
import { type Sabotage, Saboteur } from "./saboteur.ts";

export const PARKED_RUNS: readonly Sabotage[] = [
  {
    it: "lets code take up what it has parked itself",
    noun: "parked runs",
    Store: class extends Saboteur {
      override holdRunsIfParkedByOtherCode(params: TakeUpParams) {
        const handlers = params.handlers.map((handler) => ({ ...handler, code: "e".repeat(32) }));
        return super.holdRunsIfParkedByOtherCode({ ...params, handlers });
      }
    },
  },
  {
    it: "remembers only the code that has parked a run last",
    noun: "parked runs",
    rare: true,
    Store: class extends Saboteur {
      override async commitRuns(params: CommitRunsParams) {
        const result = await super.commitRuns(params);
        for (const [runId, parkedBy] of this.state.parkedBy)
          this.state.parkedBy.set(runId, parkedBy.split(" ")[0] as string);
        return result;
      }
    },
  },
  {
    it: "takes up a parked run without taking the epoch on",
    noun: "parked runs",
    Store: class extends Saboteur {
      override async holdRunsIfParkedByOtherCode(params: TakeUpParams) {
        const before = this.rows().map((row) => [row, row.epoch] as const);
        const result = await super.holdRunsIfParkedByOtherCode(params);
        for (const [row, epoch] of before) row.epoch = epoch;
        return result;
      }
    },
  },
];
