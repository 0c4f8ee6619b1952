import type { ListRunsParams, Run, RunFilter, RunRef, RunRow, RunStatus } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { statusCode } from "../database/codes.ts";
import type { SqlValue } from "../database/driver.ts";
import { uuidBytes } from "../database/uuid.ts";
import { readRow, readRun } from "./run-rows.ts";
import { keyOf } from "./run-state.ts";

export function readRuns(call: Call, params: { runs: readonly RunRef[] }): (Run | null)[] {
  return params.runs.map((ref) => {
    const runKey = keyOf(call, ref);
    return runKey === null ? null : readRun(call, runKey);
  });
}

/**
 * Newest first. Every query walks one index that is ordered by creation, starting at the newest run, and stops at the limit;
 * with several statuses, one such walk for each, merged.
 */
export function listRuns(call: Call, params: ListRunsParams): RunRow[] {
  const { limit } = params;
  const walks = walksOf(call, params);
  const places = walks.flatMap(({ sql, values }) =>
    call.sql.all<Place>(`${sql} order by r.created_at desc, r.run_id desc limit ?`, ...values, limit),
  );
  if (walks.length > 1) places.sort((a, b) => b.createdAt - a.createdAt || compare(b.runId, a.runId));
  return places.slice(0, limit).map(({ runKey }) => readRow(call, runKey));
}

export function countRuns(call: Call, params: RunFilter & { readonly atMost: number | null }): number {
  let count = 0;
  for (const { sql, values } of walksOf(call, params)) {
    const limit = params.atMost === null ? -1 : params.atMost - count;
    if (limit === 0) break;
    count += call.sql.get<{ n: number }>(`select count(*) as n from (${sql} limit ?)`, ...values, limit)?.n ?? 0;
  }
  return count;
}

interface Place {
  readonly runKey: number;
  readonly createdAt: number;
  readonly runId: Uint8Array;
}

interface Walk {
  readonly sql: string;
  readonly values: SqlValue[];
}

/** Returns no walks if nothing can match. */
function walksOf(call: Call, filter: RunFilter & Pick<ListRunsParams, "before">): Walk[] {
  const namespaceKey = call.catalog.findNameKey(filter.namespace);
  const workflowKey = filter.workflow === undefined ? undefined : call.catalog.findNameKey(filter.workflow);
  if (namespaceKey === undefined || (filter.workflow !== undefined && workflowKey === undefined)) return [];
  const common = conditionsOf(filter, namespaceKey, workflowKey);
  const { statuses } = filter;
  if (!statuses) return [walk(indexWithoutStatus(filter), common)];
  if (prefersWorkflow(filter, statuses)) {
    const codes = statuses.map(statusCode);
    const among: Condition = [`r.status in (${codes.map(() => "?").join(", ")})`, ...codes];
    return [walk("holdfast_runs_workflow", [...common, among])];
  }
  const index = filter.id === undefined ? "holdfast_runs_status" : null;
  return [...new Set(statuses)].map((status) => walk(index, [...common, ["r.status = ?", statusCode(status)]]));
}

/** Most runs end as completed: for that status, the workflow narrows the search more than the status does. */
function prefersWorkflow(filter: RunFilter, statuses: readonly RunStatus[]): boolean {
  return filter.id === undefined && filter.workflow !== undefined && statuses.includes("completed");
}

/** Null: the id finds few runs, whatever the other filters are. */
function indexWithoutStatus(filter: RunFilter): string | null {
  if (filter.id !== undefined) return null;
  return filter.workflow === undefined ? "holdfast_runs_time" : "holdfast_runs_workflow";
}

type Condition = readonly [sql: string, ...values: SqlValue[]];

function walk(index: string | null, conditions: readonly Condition[]): Walk {
  const source =
    index === null
      ? "holdfast_run_starts s cross join holdfast_runs r on r.run_key = s.run_key"
      : `holdfast_runs r indexed by ${index}`;
  const where = conditions.map(([sql]) => sql).join(" and ");
  return {
    sql: `select r.run_key as runKey, r.created_at as createdAt, r.run_id as runId from ${source} where ${where}`,
    values: conditions.flatMap(([, ...values]) => values),
  };
}

function conditionsOf(
  filter: RunFilter & Pick<ListRunsParams, "before">,
  namespaceKey: number,
  workflowKey: number | undefined,
): Condition[] {
  const { id, version, queue, createdAfter, createdBefore, before } = filter;
  const conditions: Condition[] = [["r.namespace_key = ?", namespaceKey]];
  if (id !== undefined) conditions.push(["s.namespace_key = ? and s.id = ?", namespaceKey, id]);
  if (workflowKey !== undefined) conditions.push(["r.workflow_key = ?", workflowKey]);
  if (version !== undefined)
    conditions.push(["r.lane_id in (select lane_id from holdfast_lanes where version = ?)", version]);
  if (queue !== undefined)
    conditions.push(["r.lane_id in (select lane_id from holdfast_lanes where queue = ?)", queue]);
  if (createdAfter !== undefined) conditions.push(["r.created_at > ?", createdAfter]);
  if (createdBefore !== undefined) conditions.push(["r.created_at < ?", createdBefore]);
  if (before) conditions.push(["(r.created_at, r.run_id) < (?, ?)", before.createdAt, uuidBytes(before.runId)]);
  for (const [name, value] of Object.entries(filter.attributes ?? {}))
    conditions.push([
      "exists (select 1 from holdfast_attributes a where a.run_key = r.run_key and a.name = ? and a.value = ?)",
      ...[name, JSON.stringify(value)],
    ]);
  return conditions;
}

function compare(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}
