import type { ClaimRunsParams, CommitRunsParams, TerminateRunsParams } from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

/** Stores that believe their clock, although it has been set back. */
export const TIMES_OF_RUNS: readonly Sabotage[] = [
  {
    it: "ends a run when its clock says, though events are later",
    noun: "times",
    breaks: (it) => ({
      "runs.commit": async (params: CommitRunsParams) => {
        const result = await it.runs.commit(params);
        for (const row of it.rows()) if (row.endedAt !== null) row.endedAt = Math.min(row.endedAt, result.now);
        return result;
      },
    }),
  },
  {
    it: "terminates a run before it was created",
    noun: "times",
    breaks: (it) => ({
      "runs.terminate": async (params: TerminateRunsParams) => {
        const { now } = await it.runs.commit({ commits: [] });
        const outcomes = await it.runs.terminate(params);
        for (const { outcome, runId } of outcomes)
          if (outcome === "terminated" && runId !== null) it.row(runId).endedAt = now;
        return outcomes;
      },
    }),
  },
  {
    it: "starts a claimed run before it was created",
    noun: "times",
    breaks: (it) => ({
      "runs.claim": async (params: ClaimRunsParams) => {
        const result = await it.runs.claim(params);
        for (const { runId } of result.runs)
          it.row(runId).startedAt = Math.min(result.now, it.row(runId).startedAt ?? 0);
        return result;
      },
    }),
  },
];
