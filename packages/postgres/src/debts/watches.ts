import type { WatchOutcome, WatchRunsParams } from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import type { Server } from "../database/server.ts";
import { callOf } from "../database/server-call.ts";
import { REFS, type Refs } from "../runs/run-refs.ts";
import { endedRunOf } from "./ended-run.ts";

export const WATCH = callOf<WatchRunsParams & Refs>("watch_runs", {
  ...REFS,
  b_namespace: ({ watches }) => binary.textArray(watches, ({ by }) => by.namespace),
  b_run: ({ watches }) => binary.uuidArray(watches, ({ by }) => by.runId),
  b_op: ({ watches }) => binary.textArray(watches, ({ by }) => by.op),
});

export async function watchRuns(server: Server, params: WatchRunsParams): Promise<readonly WatchOutcome[]> {
  const outcomes: WatchOutcome[] = [];
  const refs = params.watches.map(({ run }) => run);
  for (const row of await server.write(WATCH, { ...params, refs })) {
    const outcome = row.outcome as WatchOutcome["outcome"];
    outcomes[(row.i as number) - 1] = { outcome, end: outcome === "ended" ? endedRunOf(row) : null };
  }
  return outcomes;
}
