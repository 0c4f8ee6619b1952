import type { HistoryEvent, ReadHistoriesParams } from "holdfast/adapter";
import * as binary from "./database/binary-array.ts";
import type { Server } from "./database/server.ts";
import { readingCallOf } from "./database/server-call.ts";
import { eventOf } from "./runs/run-rows.ts";

const READ = readingCallOf<ReadHistoriesParams>("read_histories", {
  p_namespace: ({ runs }) => binary.textArray(runs, (run) => run.namespace),
  p_run: ({ runs }) => binary.uuidArray(runs, (run) => run.runId),
  p_after: ({ runs }) => binary.int4Array(runs, (run) => run.afterSeq),
  p_limit: ({ limitPerRun }) => limitPerRun,
});

export async function readHistories(
  server: Server,
  params: ReadHistoriesParams,
): Promise<readonly (readonly HistoryEvent[])[]> {
  const histories: HistoryEvent[][] = params.runs.map(() => []);
  for (const row of await server.read(READ, params)) histories[(row.i as number) - 1]?.push(eventOf(row));
  return histories;
}
