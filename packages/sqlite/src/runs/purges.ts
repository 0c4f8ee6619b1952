import { CLOSED_STATUSES, type PurgeRunsParams, type PurgeRunsResult, scheduleIdOf } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { hasTie, statusCode, TIES } from "../database/codes.ts";
import { uuidBytes, uuidText } from "../database/uuid.ts";
import { selfAsChild } from "../debts/debt-state.ts";
import { leaveQueue } from "../tasks/task-state.ts";

const COLUMNS = `
  r.run_key as runKey, r.run_id as runId, r.ended_at as endedAt, coalesce(r.chain_key, r.run_key) as chainKey, r.status, r.ties,
  r.delivered, s.namespace_key as namespaceKey, s.id`;
const OLD = `
  select ${COLUMNS}
  from holdfast_runs r indexed by holdfast_runs_ended join holdfast_run_starts s on s.run_key = r.run_key
  where r.namespace_key = ? and r.status = ? and r.ended_at < ? and (r.ended_at, r.run_id) > (?, ?) and coalesce(r.ties, 0) & ? = 0
  order by r.ended_at, r.run_id limit ?`;
const OLD_NAMED = `
  select ${COLUMNS}
  from holdfast_runs r join holdfast_run_starts s on s.run_key = r.run_key
  where r.run_id = ? and r.namespace_key = ? and r.ended_at < ? and (r.ended_at, r.run_id) > (?, ?) and coalesce(r.ties, 0) & ? = 0`;
const BY_RUN_ID = `
  select ${COLUMNS}
  from holdfast_runs r join holdfast_run_starts s on s.run_key = r.run_key where r.run_id = ?`;
const LAST_OF_SCHEDULE = "select 1 as yes from holdfast_schedules where namespace = ? and id = ? and open_id = ?";
const DELETIONS = ["events", "segments", "attributes", "run_ends", "run_starts", "runs"].map(
  (table) => `delete from holdfast_${table} where run_key = ?`,
);
const DELETE_TASKS = "delete from holdfast_tasks where run_id = ? returning seq, place";
const DELETE_DEBOUNCE = "delete from holdfast_debounces where run_id = ?";
const ANY_OF_CHAIN = `
  select 1 from holdfast_run_starts s join holdfast_runs r on r.run_key = s.run_key
  where s.namespace_key = ? and s.id = ? and coalesce(r.chain_key, r.run_key) = ? limit 1`;
/** Only the id stays, under a key that no run has: keys of deleted runs may be reused. */
const KEEP_MESSAGE_IDS = "update holdfast_inbox set run_key = -message_key, name = '', payload = x'' where run_key = ?";
const FORGET_CHAIN = "delete from holdfast_inbox where chain_key = ?";
/** Results that nobody has consumed. */
const DELETE_RESULTS = "delete from holdfast_inbox where run_key = ? and chain_key is null";
const DELETE_UPDATES = "delete from holdfast_updates where run_key = ?";
const DELETE_LINEAGE = "delete from holdfast_lineages where run_key = ?";
const DELETE_FORK = "delete from holdfast_forks where run_key = ?";
const DELETE_KEY = "delete from holdfast_run_keys where run_key = ?";
const DELETE_CHILDREN = "delete from holdfast_children where parent_key = ?";
const DELETE_CHILD = "delete from holdfast_children where parent_key = ? and run_id = ?";
const DELETE_WATCHES = "delete from holdfast_watches where chain_key = ?";

interface OldRun {
  readonly runKey: number;
  readonly runId: Uint8Array;
  readonly endedAt: number;
  readonly chainKey: number;
  readonly status: number;
  readonly ties: number | null;
  readonly delivered: number;
  readonly namespaceKey: number;
  readonly id: string;
}

/** One walk along the index for each status, merged. */
export function purgeRuns(call: Call, params: PurgeRunsParams): PurgeRunsResult {
  const { namespace, limit } = params;
  const namespaceKey = call.catalog.findNameKey(namespace);
  if (namespaceKey === undefined) return { purged: 0, more: false, last: null };
  const old = oldRuns(call, params, namespaceKey);
  old.sort((a, b) => a.endedAt - b.endedAt || Buffer.compare(a.runId, b.runId));
  const found = old.slice(0, limit);
  const purged = params.sparesLastOfSchedules ? found.filter((run) => !isLastOfSchedule(call, namespace, run)) : found;
  deleteRuns(call, purged);
  const last = found.at(-1);
  const position = last ? { endedAt: last.endedAt, runId: uuidText(last.runId) } : null;
  return { purged: purged.length, more: old.length > limit, last: position };
}

/** A run that has continued is never the last one of its id. */
function isLastOfSchedule({ sql }: Call, namespace: string, { id, status }: OldRun): boolean {
  const schedule = scheduleIdOf(id);
  if (schedule === undefined || status === statusCode("continued")) return false;
  return sql.get(LAST_OF_SCHEDULE, namespace, schedule, id) !== undefined;
}

/** A run that has left, and comes back: everything of it is written anew. */
export function deleteRun(call: Call, runId: Uint8Array): void {
  deleteRuns(call, call.sql.all<OldRun>(BY_RUN_ID, runId));
}

function deleteRuns(call: Call, purged: readonly OldRun[]): void {
  const asChildren = new Map(
    purged.filter(({ ties }) => hasTie(ties, TIES.lineage)).map((run) => [run, selfAsChild(call, run.runKey)]),
  );
  for (const { runKey, runId, delivered, ties } of purged) {
    for (const deletion of DELETIONS) call.sql.run(deletion, runKey);
    for (const [seq, place] of call.sql.allColumns(DELETE_TASKS, runId) as [number, number | null][])
      if (place !== null) leaveQueue(call, { runId, seq, place });
    call.sql.run(DELETE_DEBOUNCE, runId);
    call.sql.run(DELETE_RESULTS, runKey);
    if (delivered > 0) call.sql.run(DELETE_UPDATES, runKey);
    if (hasTie(ties, TIES.children)) call.sql.run(DELETE_CHILDREN, runKey);
    if (hasTie(ties, TIES.lineage)) call.sql.run(DELETE_LINEAGE, runKey);
    if (hasTie(ties, TIES.forked)) call.sql.run(DELETE_FORK, runKey);
    if (hasTie(ties, TIES.key)) call.sql.run(DELETE_KEY, runKey);
  }
  for (const run of purged) {
    if (hasChain(call, run)) {
      call.sql.run(KEEP_MESSAGE_IDS, run.runKey);
      continue;
    }
    call.sql.run(FORGET_CHAIN, run.chainKey);
    const [parentKey, firstRunId] = asChildren.get(run) ?? [];
    if (parentKey !== undefined && firstRunId) call.sql.run(DELETE_CHILD, parentKey, firstRunId);
    if (hasTie(run.ties, TIES.watched)) call.sql.run(DELETE_WATCHES, run.chainKey);
  }
}

function oldRuns({ sql }: Call, params: PurgeRunsParams, namespaceKey: number): OldRun[] {
  const { endedBefore, statuses = CLOSED_STATUSES, runIds, limit } = params;
  const codes = [...new Set(statuses)].map(statusCode);
  // No run has ended before the first of these, and no run id is empty.
  const { endedAt, runId } = params.after ?? { endedAt: Number.MIN_SAFE_INTEGER, runId: "" };
  const behind = [endedAt, uuidBytes(runId)] as const;
  if (runIds)
    return [...new Set(runIds)]
      .flatMap((id) => sql.all<OldRun>(OLD_NAMED, uuidBytes(id), namespaceKey, endedBefore, ...behind, TIES.owes))
      .filter(({ status }) => codes.includes(status));
  // One more than the limit, to know whether more are left.
  return codes.flatMap((code) =>
    sql.all<OldRun>(OLD, namespaceKey, code, endedBefore, ...behind, TIES.owes, limit + 1),
  );
}

/** Whether a run of the chain is left, so that its message ids are still needed. */
function hasChain({ sql }: Call, { runKey, chainKey, status, namespaceKey, id }: OldRun): boolean {
  if (runKey === chainKey && status !== statusCode("continued")) return false;
  return sql.get(ANY_OF_CHAIN, namespaceKey, id, chainKey) !== undefined;
}
