import {
  type ListedRun,
  type ListRunsParams,
  narrowed,
  RETRYING_SUFFIX,
  type Run,
  type RunFilter,
  type RunRef,
  type RunStatus,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { statusCode } from "../database/codes.ts";
import type { SqlValue } from "../database/driver.ts";
import { sharedUuidBytes, uuidBytes } from "../database/uuid.ts";
import { readListed, readRun } from "./run-rows.ts";
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
export function listRuns(call: Call, params: ListRunsParams): ListedRun[] {
  const { limit } = params;
  const walks = walksOf(call, params, endedFew(call, params));
  const places = walks.flatMap(({ sql, time, values }) =>
    call.sql.all<Place>(`${sql} order by ${time} desc, r.run_id desc limit ?`, ...values, limit),
  );
  if (walks.length > 1) places.sort((a, b) => b.createdAt - a.createdAt || compare(b.runId, a.runId));
  return places.slice(0, limit).map(({ runKey }) => readListed(call, runKey));
}

/** Of so many that ended in the wanted time, a list reads all and sorts them; if there are more, it walks by creation. */
const ENDED_FEW = 10_000;

function endedFew(call: Call, filter: RunFilter): boolean {
  const { namespace, endedAfter, endedBefore, statuses } = narrowed(filter);
  if (endedAfter === undefined || !statuses) return false;
  const ended = { namespace, endedAfter, statuses, ...(endedBefore === undefined ? {} : { endedBefore }) };
  return countRuns(call, { ...ended, atMost: ENDED_FEW }) < ENDED_FEW;
}

export function countRuns(call: Call, params: RunFilter & { readonly atMost: number | null }): number {
  let count = 0;
  for (const { sql, values } of walksOf(call, params, params.endedAfter !== undefined)) {
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

/** Returns no walks if nothing can match. `byEnd`: those that ended in the wanted time, in no order. */
function walksOf(call: Call, given: RunFilter & Pick<ListRunsParams, "before">, byEnd: boolean): Walk[] {
  const filter = narrowed(given);
  const namespaceKey = call.catalog.findNameKey(filter.namespace);
  const workflowKey = filter.workflow === undefined ? undefined : call.catalog.findNameKey(filter.workflow);
  if (namespaceKey === undefined || (filter.workflow !== undefined && workflowKey === undefined)) return [];
  const relation = relationOf(call, filter);
  if (relation) return relatedWalks(filter, relation, namespaceKey, workflowKey);
  const common = conditionsOf(filter, namespaceKey, workflowKey);
  const { statuses } = filter;
  if (!statuses) return [walk(indexWithoutStatus(filter), common)];
  if (byEnd && filter.id === undefined)
    return statuses.map((status) => walk("holdfast_runs_ended", [...common, ["r.status = ?", statusCode(status)]]));
  if (prefersWorkflow(filter, statuses)) return [walk("holdfast_runs_workflow", [...common, amongStatuses(statuses)])];
  const index = filter.id === undefined ? "holdfast_runs_status" : null;
  return statuses.map((status) => walk(index, [...common, ["r.status = ?", statusCode(status)]]));
}

const KEY_OF_PARENT = "select run_key from holdfast_runs where run_id = ?";
const CHILDREN =
  "holdfast_lineages l indexed by holdfast_lineages_parent cross join holdfast_runs r on r.run_key = l.run_key";
const FORKS = "holdfast_forks l indexed by holdfast_forks_origin cross join holdfast_runs r on r.run_key = l.run_key";
const HAS_PARENT = "exists (select 1 from holdfast_lineages p where p.run_key = r.run_key and p.parent_key = ?)";

/** Where runs are found that come from another one: it has fewer of them than there are runs of whatever else. */
interface Relation {
  readonly source: string;
  readonly conditions: readonly Condition[];
}

function relationOf(call: Call, { parent, forkedFrom }: RunFilter): Relation | undefined {
  if (parent === undefined && forkedFrom === undefined) return undefined;
  const [parentKey = null] =
    parent === undefined ? [] : (call.sql.columns(KEY_OF_PARENT, sharedUuidBytes(parent)) ?? []);
  if (forkedFrom === undefined) return { source: CHILDREN, conditions: [["l.parent_key = ?", parentKey]] };
  const forked: Condition = ["l.origin_run_id = ?", uuidBytes(forkedFrom)];
  return { source: FORKS, conditions: parent === undefined ? [forked] : [forked, [HAS_PARENT, parentKey]] };
}

function relatedWalks(
  filter: RunFilter & Pick<ListRunsParams, "before">,
  { source, conditions: related }: Relation,
  namespaceKey: number,
  workflowKey: number | undefined,
): Walk[] {
  const { id, statuses, ...rest } = filter;
  const conditions = [...conditionsOf(rest, namespaceKey, workflowKey, "l.created_at"), ...related];
  if (id !== undefined)
    conditions.push(["exists (select 1 from holdfast_run_starts s where s.run_key = r.run_key and s.id = ?)", id]);
  if (statuses) conditions.push(amongStatuses(statuses));
  return [walkOf(source, conditions, "l.created_at")];
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
  return [...conditions, ...stateConditions(filter)];
}

const LAST_EVENT_AT = "(select e.at from holdfast_events e where e.run_key = r.run_key and e.seq = r.event_count)";
const WAITS_FOR = "exists (select 1 from json_each(r.waiting_for) w where";
const ERROR = "exists (select 1 from holdfast_run_ends x where x.run_key = r.run_key and";

/** What a run waits for, and how it has ended. */
function stateConditions(filter: RunFilter): Condition[] {
  const { waitingFor, retrying, waitingSince, error, endedAfter, endedBefore } = filter;
  const conditions: Condition[] = [];
  if (waitingFor?.endsWith(":"))
    conditions.push([`${WAITS_FOR} substr(w.value, 1, length(?)) = ?)`, waitingFor, waitingFor]);
  else if (waitingFor !== undefined)
    // Behind the name there may be numbers, and nothing else: see waitsFor.
    conditions.push([
      `${WAITS_FOR} w.value = ? or (substr(w.value, 1, length(?) + 1) = ? || '#'
        and substr(w.value, length(?) + 1) not glob '*[^#0-9]*' and substr(w.value, length(?) + 1) not glob '*##*' and w.value not glob '*#'))`,
      ...[waitingFor, waitingFor, waitingFor, waitingFor, waitingFor],
    ]);
  if (retrying) conditions.push([`${WAITS_FOR} w.value glob ?)`, `*${RETRYING_SUFFIX}`]);
  if (waitingSince !== undefined)
    conditions.push([
      `r.held_by is null and coalesce(${LAST_EVENT_AT}, r.started_at, r.created_at) <= ?`,
      waitingSince,
    ]);
  if (error !== undefined)
    conditions.push([`${ERROR} ? in (json_extract(x.error, '$.code'), json_extract(x.error, '$.kind')))`, error]);
  if (endedAfter !== undefined) conditions.push(["r.ended_at > ?", endedAfter]);
  if (endedBefore !== undefined) conditions.push(["r.ended_at < ?", endedBefore]);
  return conditions;
}

function compare(a: Uint8Array, b: Uint8Array): number {
  return Buffer.compare(a, b);
}
