import type { ListRunsParams, Run, RunFilter, RunRef, RunRow, RunStatus } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { statusCode } from "../database/codes.ts";
import type { SqlValue } from "../database/driver.ts";
import { sharedUuidBytes, uuidBytes } from "../database/uuid.ts";
import { readRow, readRun } from "./run-rows.ts";
import { findKey } from "./run-state.ts";

export function readRuns(call: Call, params: { runs: readonly RunRef[] }): (Run | null)[] {
  return params.runs.map((ref) => {
    const runKey = findKey(call, ref);
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
  const places = walks.flatMap(({ sql, time, values }) =>
    call.sql.all<Place>(`${sql} order by ${time} desc, r.run_id desc limit ?`, ...values, limit),
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
  /** The column by which the index is ordered. */
  readonly time: Time;
  readonly values: SqlValue[];
}

/** Returns no walks if nothing can match. */
function walksOf(call: Call, filter: RunFilter & Pick<ListRunsParams, "before">): Walk[] {
  const namespaceKey = call.catalog.findNameKey(filter.namespace);
  const workflowKey = filter.workflow === undefined ? undefined : call.catalog.findNameKey(filter.workflow);
  if (namespaceKey === undefined || (filter.workflow !== undefined && workflowKey === undefined)) return [];
  if (filter.parent !== undefined) return childWalks(call, filter, filter.parent, namespaceKey, workflowKey);
  const common = conditionsOf(filter, namespaceKey, workflowKey);
  const { statuses } = filter;
  if (!statuses) return [walk(indexWithoutStatus(filter), common)];
  if (prefersWorkflow(filter, statuses)) return [walk("holdfast_runs_workflow", [...common, amongStatuses(statuses)])];
  const index = filter.id === undefined ? "holdfast_runs_status" : null;
  return [...new Set(statuses)].map((status) => walk(index, [...common, ["r.status = ?", statusCode(status)]]));
}

const KEY_OF_PARENT = "select run_key from holdfast_runs where run_id = ?";
const CHILDREN =
  "holdfast_lineages l indexed by holdfast_lineages_parent cross join holdfast_runs r on r.run_key = l.run_key";

/** A parent has fewer children than there are runs of whatever else: its index it is. */
function childWalks(
  call: Call,
  filter: RunFilter & Pick<ListRunsParams, "before">,
  parent: string,
  namespaceKey: number,
  workflowKey: number | undefined,
): Walk[] {
  const [parentKey] = call.sql.columns(KEY_OF_PARENT, sharedUuidBytes(parent)) ?? [];
  if (parentKey === undefined) return [];
  const { id, statuses, ...rest } = filter;
  const conditions = conditionsOf(rest, namespaceKey, workflowKey, "l.created_at");
  conditions.push(["l.parent_key = ?", parentKey]);
  if (id !== undefined)
    conditions.push(["exists (select 1 from holdfast_run_starts s where s.run_key = r.run_key and s.id = ?)", id]);
  if (statuses) conditions.push(amongStatuses(statuses));
  return [walkOf(CHILDREN, conditions, "l.created_at")];
}

function amongStatuses(statuses: readonly RunStatus[]): Condition {
  const codes = statuses.map(statusCode);
  return [`r.status in (${codes.map(() => "?").join(", ")})`, ...codes];
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

type Time = "r.created_at" | "l.created_at";

type Condition = readonly [sql: string, ...values: SqlValue[]];

function walk(index: string | null, conditions: readonly Condition[]): Walk {
  const source =
    index === null
      ? "holdfast_run_starts s cross join holdfast_runs r on r.run_key = s.run_key"
      : `holdfast_runs r indexed by ${index}`;
  return walkOf(source, conditions, "r.created_at");
}

function walkOf(source: string, conditions: readonly Condition[], time: Time): Walk {
  const where = conditions.map(([sql]) => sql).join(" and ");
  return {
    sql: `select r.run_key as runKey, r.created_at as createdAt, r.run_id as runId from ${source} where ${where}`,
    time,
    values: conditions.flatMap(([, ...values]) => values),
  };
}

function conditionsOf(
  filter: RunFilter & Pick<ListRunsParams, "before">,
  namespaceKey: number,
  workflowKey: number | undefined,
  time: Time = "r.created_at",
): Condition[] {
  const { id, version, queue, createdAfter, createdBefore, before } = filter;
  const conditions: Condition[] = [["r.namespace_key = ?", namespaceKey]];
  if (id !== undefined) conditions.push(["s.namespace_key = ? and s.id = ?", namespaceKey, id]);
  if (workflowKey !== undefined) conditions.push(["r.workflow_key = ?", workflowKey]);
  if (version !== undefined)
    conditions.push(["r.lane_id in (select lane_id from holdfast_lanes where version = ?)", version]);
  if (queue !== undefined)
    conditions.push(["r.lane_id in (select lane_id from holdfast_lanes where queue = ?)", queue]);
  if (createdAfter !== undefined) conditions.push([`${time} > ?`, createdAfter]);
  if (createdBefore !== undefined) conditions.push([`${time} < ?`, createdBefore]);
  if (before) conditions.push([`(${time}, r.run_id) < (?, ?)`, before.createdAt, uuidBytes(before.runId)]);
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
