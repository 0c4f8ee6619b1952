import { CLOSED_STATUSES, type PurgeRunsParams, type PurgeRunsResult } from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import type { Server } from "../database/server.ts";
import { longCallOf } from "../database/server-call.ts";

export const PURGE = longCallOf<PurgeRunsParams>("purge_runs", {
  p_namespace: ({ namespace }) => namespace,
  p_ended_before: ({ endedBefore }) => Math.ceil(endedBefore),
  p_statuses: ({ statuses = CLOSED_STATUSES }) => binary.textArray([...new Set(statuses)]),
  p_runs: ({ runIds }) => (runIds ? binary.uuidArray([...new Set(runIds)]) : null),
  p_limit: ({ limit }) => limit,
  p_spares: ({ sparesLastOfSchedules = false }) => sparesLastOfSchedules,
  // No run has ended before this, and none has this run id.
  p_after_end: ({ after }) => after?.endedAt ?? Number.MIN_SAFE_INTEGER,
  p_after_run: ({ after }) => after?.runId ?? "00000000-0000-0000-0000-000000000000",
});

export async function purgeRuns(server: Server, params: PurgeRunsParams): Promise<PurgeRunsResult> {
  const row = await server.writeOne(PURGE, params);
  const last = row.o_last_run === null ? null : { endedAt: row.o_last_end as number, runId: row.o_last_run as string };
  return { purged: row.o_purged as number, more: row.o_more as boolean, last };
}
