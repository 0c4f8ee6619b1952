import { CLOSED_STATUSES, type PurgeRunsParams, type PurgeRunsResult } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { statusCode } from "../database/codes.ts";

const OLD = `
  select r.run_key as runKey, r.run_id as runId, r.ended_at as endedAt, coalesce(r.chain_key, r.run_key) as chainKey, r.status,
    s.namespace_key as namespaceKey, s.id
  from holdfast_runs r indexed by holdfast_runs_ended join holdfast_run_starts s on s.run_key = r.run_key
  where r.namespace_key = ? and r.status = ? and r.ended_at < ? order by r.ended_at, r.run_id limit ?`;
const DELETIONS = ["events", "attributes", "run_ends", "run_starts", "runs"].map(
  (table) => `delete from holdfast_${table} where run_key = ?`,
);
const DELETE_TASKS = "delete from holdfast_tasks where run_id = ?";
const ANY_OF_CHAIN = `
  select 1 from holdfast_run_starts s join holdfast_runs r on r.run_key = s.run_key
  where s.namespace_key = ? and s.id = ? and coalesce(r.chain_key, r.run_key) = ? limit 1`;
/** Only the id stays, under a key that no run has: keys of deleted runs may be reused. */
const KEEP_MESSAGE_IDS = "update holdfast_inbox set run_key = -message_key, name = '', payload = x'' where run_key = ?";
const FORGET_CHAIN = "delete from holdfast_inbox where chain_key = ?";
/** Results of tasks that nobody has consumed. */
const DELETE_RESULTS = "delete from holdfast_inbox where run_key = ? and chain_key is null";

interface OldRun {
  readonly runKey: number;
  readonly runId: Uint8Array;
  readonly endedAt: number;
  readonly chainKey: number;
  readonly status: number;
  readonly namespaceKey: number;
  readonly id: string;
}

/** One walk along the index for each status, merged. */
export function purgeRuns(call: Call, params: PurgeRunsParams): PurgeRunsResult {
  const { namespace, endedBefore, statuses = CLOSED_STATUSES, limit } = params;
  const namespaceKey = call.catalog.findNameKey(namespace);
  if (namespaceKey === undefined) return { purged: 0, more: false };
  const old = [...new Set(statuses)].flatMap((status) =>
    // One more than the limit, to know whether more are left.
    call.sql.all<OldRun>(OLD, namespaceKey, statusCode(status), endedBefore, limit + 1),
  );
  old.sort((a, b) => a.endedAt - b.endedAt || Buffer.compare(a.runId, b.runId));
  const purged = old.slice(0, limit);
  for (const { runKey, runId } of purged) {
    for (const deletion of DELETIONS) call.sql.run(deletion, runKey);
    call.sql.run(DELETE_TASKS, runId);
    call.sql.run(DELETE_RESULTS, runKey);
  }
  for (const run of purged) {
    if (hasChain(call, run)) call.sql.run(KEEP_MESSAGE_IDS, run.runKey);
    else call.sql.run(FORGET_CHAIN, run.chainKey);
  }
  return { purged: purged.length, more: old.length > purged.length };
}

/** Whether a run of the chain is left, so that its message ids are still needed. */
function hasChain({ sql }: Call, { runKey, chainKey, status, namespaceKey, id }: OldRun): boolean {
  if (runKey === chainKey && status !== statusCode("continued")) return false;
  return sql.get(ANY_OF_CHAIN, namespaceKey, id, chainKey) !== undefined;
}
