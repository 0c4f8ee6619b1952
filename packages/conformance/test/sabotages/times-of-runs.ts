import type { ClaimRunsParams, CommitRunsParams, TerminateRunsParams } from "holdfast/adapter";
import { type Sabotage, Saboteur } from "./saboteur.ts";

/** Stores that believe their clock, although it has been set back. */
export const TIMES_OF_RUNS: readonly Sabotage[] = [
  {
    it: "ends a run when its clock says, though events are later",
    noun: "times",
    Store: class extends Saboteur {
      override async commitRuns(params: CommitRunsParams) {
        const result = await super.commitRuns(params);
        for (const row of this.rows()) if (row.endedAt !== null) row.endedAt = Math.min(row.endedAt, result.now);
        return result;
      }
    },
  },
  {
    it: "terminates a run before it was created",
    noun: "times",
    Store: class extends Saboteur {
      override async terminateRuns(params: TerminateRunsParams) {
        const { now } = await super.commitRuns({ workerId: "", commits: [] });
        const outcomes = await super.terminateRuns(params);
        for (const { outcome, runId } of outcomes)
          if (outcome === "terminated" && runId !== null) this.row(runId).endedAt = now;
        return outcomes;
      }
    },
  },
  {
    it: "starts a claimed run before it was created",
    noun: "times",
    Store: class extends Saboteur {
      override async claimRuns(params: ClaimRunsParams) {
        const result = await super.claimRuns(params);
        for (const { runId } of result.runs)
          this.row(runId).startedAt = Math.min(result.now, this.row(runId).startedAt ?? 0);
        return result;
      }
    },
  },
];
