/**
 * Lists and counts of runs. This file, not the planner, decides which index a list walks: a planner that guesses wrong reads
 * millions of finished runs to find three parked ones.
 */
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
import { isUuid } from "../database/binary-array.ts";
import type { Statement } from "../database/pool.ts";
import type { Server } from "../database/server.ts";
import { queryOf } from "../database/server-call.ts";
import { quoteName } from "../database/settings.ts";
import { APART, IS_NEW, NOT_NEW, ODD, ODD_INDEX, OPEN } from "./run-indexes.ts";
import { REFS, type Refs } from "./run-refs.ts";
import { listedRunOf, runOf } from "./run-rows.ts";

/** The row is looked up for each run by itself: the planner has no choice but the index, whatever it believes about the tables. */
export const READ = queryOf<Refs>(
  "read_runs",
  (at) => `
    select v.*, k.i::int as i
      from unnest($p_run::uuid[], $p_namespace::text[], $p_id::text[]) with ordinality as k(run_id, namespace, id, i)
     cross join lateral (
       select k.run_id where k.run_id is not null
       union all
       (select s.run_id from ${at}.run_starts s where k.run_id is null and s.namespace = k.namespace and s.id = k.id
         order by s.nth desc limit 1)) t
     cross join lateral (
       select r.* from ${at}.run_rows r where r.run_id = t.run_id and r.namespace = k.namespace limit 1) v`,
  REFS,
);

/** For run ids that no run has. */
export const READ_CONTINUED = queryOf<Refs>(
  "read_continued_runs",
  (at) => `
    select v.*, k.i::int as i
      from unnest($p_run::uuid[], $p_namespace::text[], $p_id::text[]) with ordinality as k(run_id, namespace, id, i)
     cross join lateral (
       select s.run_id from ${at}.run_starts s
        where s.chain_id = k.run_id and s.continued_from is not null and s.namespace = k.namespace
        order by s.created_at desc limit 1) t
     cross join lateral (select r.* from ${at}.run_rows r where r.run_id = t.run_id limit 1) v`,
  REFS,
);

export async function readRuns(
  server: Server,
  { runs }: { readonly runs: readonly RunRef[] },
): Promise<readonly (Run | null)[]> {
  const found: (Run | null)[] = runs.map(() => null);
  for (const row of await server.read(READ, { refs: runs })) found[(row.i as number) - 1] = runOf(row);
  const gone = runs.flatMap((ref, i) => ("runId" in ref && !found[i] ? [i] : []));
  if (gone.length === 0) return found;
  const refs = gone.map((i) => runs[i] as RunRef);
  for (const row of await server.read(READ_CONTINUED, { refs }))
    found[gone[(row.i as number) - 1] as number] = runOf(row);
  return found;
}

/** Of so many that ended in the wanted time, a list reads all and sorts them; if there are more, it walks by creation. */
const ENDED_FEW = 10_000;

export async function listRuns(server: Server, params: ListRunsParams): Promise<readonly ListedRun[]> {
  const { statement, values } = listStatement(server.schema, params, await endedFew(server, params));
  return (await server.run(statement, values)).map(listedRunOf);
}

async function endedFew(server: Server, filter: RunFilter): Promise<boolean> {
  const { namespace, endedAfter, endedBefore, statuses } = narrowed(filter);
  if (endedAfter === undefined || !statuses) return false;
  const ended = { namespace, endedAfter, statuses, ...(endedBefore === undefined ? {} : { endedBefore }) };
  return (await countRuns(server, { ...ended, atMost: ENDED_FEW })) < ENDED_FEW;
}

export async function countRuns(
  server: Server,
  params: RunFilter & { readonly atMost: number | null },
): Promise<number> {
  const { statement, values } = countStatement(server.schema, params);
  return (await server.run(statement, values))[0]?.count as number;
}

interface Listing {
  readonly statement: Statement;
  readonly values: readonly unknown[];
}

/** `byEnd`: through the index of ended runs; whatever ended in the wanted time is read. */
export function listStatement(schema: string, params: ListRunsParams, byEnd = false): Listing {
  const query = new FilterQuery(schema, params, byEnd);
  const { before } = params;
  query.before = before
    ? `(%.created_at, %.run_id) < (${query.value(before.createdAt)}, ${query.value(before.runId)}::uuid)`
    : "";
  const limit = query.value(params.limit);
  const found = query.candidates(limit);
  const at = quoteName(schema);
  const text = `select v.*, ${at}.error_codes(n.error) as error_codes,
      coalesce(n.tail_at, (select e.at from ${at}.events e where e.run_no = n.run_no order by e.seq desc limit 1)) as last_event_at
    from (${found} order by created_at desc, run_id desc limit ${limit}) k
    join ${at}.lean_rows v using (run_id) join ${at}.runs n using (run_id) order by v.created_at desc, v.run_id desc`;
  return { statement: { name: query.name("list_runs"), text, reads: true }, values: query.values };
}

export function countStatement(schema: string, params: RunFilter & { readonly atMost: number | null }): Listing {
  const query = new FilterQuery(schema, params, params.endedAfter !== undefined);
  const found = query.candidates(null);
  const limit = params.atMost === null ? "" : ` limit ${query.value(params.atMost)}`;
  const name = params.atMost === null ? "count_runs" : "count_runs_to";
  const text = `select count(*)::int as count from (select 1 from (${found}) f${limit}) k`;
  return { statement: { name: query.name(name), text, reads: true }, values: query.values };
}

/** Builds the statement for one combination of filters; the server keeps a plan for each combination in use. */
class FilterQuery {
  readonly values: unknown[] = [];
  /** The cursor, with % for the table that is walked. */
  before = "";
  readonly #schema: string;
  readonly #filter: RunFilter;
  readonly #shape: string[] = [];

  readonly #byEnd: boolean;

  constructor(schema: string, filter: RunFilter, byEnd: boolean) {
    this.#schema = quoteName(schema);
    this.#filter = narrowed(filter);
    this.#byEnd = byEnd;
  }

  value(value: unknown): string {
    this.values.push(value);
    return `$${this.values.length}`;
  }

  /** One letter for each filter: names have at most 63 characters. */
  name(call: string): string {
    return `${call} ${this.#shape.join("")}${this.before === "" ? "" : "b"}`;
  }

  /** Matching run ids with their creation times, from the narrowest source. `limit`: how many are wanted. */
  candidates(limit: string | null): string {
    const { statuses, id, attributes, parent, forkedFrom } = this.#filter;
    if (forkedFrom !== undefined) return this.#forksOf(forkedFrom);
    if (parent !== undefined) return this.#ofParent(parent, limit);
    if (id !== undefined) return this.#ofId(id, limit);
    if (attributes && !isEmpty(attributes)) return this.#byAttributes(attributes);
    if (statuses && this.#byEnd) return this.#byEndTime(statuses);
    if (statuses?.every((status) => ODD.includes(status))) return this.#byOddStatus(statuses, limit);
    if (statuses?.every((status) => OPEN.includes(status))) return this.#byOpenStatus(statuses, limit);
    return this.#byLane(limit);
  }

  /** The runs of an id: their numbers are in the order of their times. */
  #ofId(id: string, limit: string | null): string {
    const named = this.value(id);
    const conditions = [`s.id = ${named}`, this.#hasAttributes()];
    const before = (this.#filter as Partial<ListRunsParams>).before;
    if (before) {
      const run = `x.run_id = ${this.value(before.runId)}::uuid and x.id = ${named}`;
      conditions.push(`s.nth < coalesce((select x.nth from ${this.#schema}.run_starts x where ${run}), 2147483647)`);
    }
    const order = limit === null ? "" : ` order by s.nth desc limit ${limit}`;
    return `select x.* from (${this.#from("i", "run_starts s", "s", conditions)}${order}) x`;
  }

  /** The children of a run and their continuations: a page of them, unless more must be read to find those that match. */
  #ofParent(parent: string, limit: string | null): string {
    const { statuses, id, attributes, workflow, version, queue, createdAfter, createdBefore } = this.#filter;
    // Every other filter comes with statuses.
    const others = [statuses, id, attributes, workflow, version, queue, createdAfter, createdBefore];
    const page = others.every((filter) => filter === undefined) ? limit : null;
    this.#shape.push(page === null ? "*" : "");
    const before = (this.#filter as Partial<ListRunsParams>).before;
    const from = [
      isUuid(parent) ? parent : null,
      this.#filter.namespace,
      before?.createdAt ?? null,
      before?.runId ?? null,
    ];
    const places = from.map((value) => this.value(value)).join(", ");
    const conditions = [this.#hasAttributes()];
    if (id !== undefined) {
      this.#shape.push("i");
      conditions.push(`s.id = ${this.value(id)}`);
    }
    return this.#from("p", `children_page(${places}, ${page}) s`, "s", conditions);
  }

  #forksOf(origin: string): string {
    const { id, parent } = this.#filter;
    const conditions = [this.#hasAttributes(), `s.origin_run_id = ${this.value(isUuid(origin) ? origin : null)}`];
    if (id !== undefined) {
      this.#shape.push("i");
      conditions.push(`s.id = ${this.value(id)}`);
    }
    // No run has started a fork.
    if (parent !== undefined) {
      this.#shape.push("p");
      conditions.push("false");
    }
    return this.#from("f", "forks s", "s", conditions);
  }

  /** Walks one table that has the namespace and the creation time. */
  #from(shape: string, table: string, alias: string, more: readonly string[] = []): string {
    this.#shape.push(shape);
    const conditions = [`${alias}.namespace = ${this.value(this.#filter.namespace)}`, ...more, ...this.#times(alias)];
    const joined = this.#joins(alias);
    return `select ${alias}.run_id, ${alias}.created_at from ${this.#schema}.${table} ${joined.text} where ${all([...conditions, ...joined.conditions])}`;
  }

  /** The runs that the attribute index finds. */
  #byAttributes(wanted: NonNullable<RunFilter["attributes"]>): string {
    const contains = `a.attributes @> ${this.value(JSON.stringify(wanted))}::jsonb`;
    this.#shape.push("a");
    return this.#from(
      "n",
      `run_starts s join ${this.#schema}.run_attributes a on a.run_id = s.run_id and ${contains}`,
      "s",
    );
  }

  #hasAttributes(): string {
    const { attributes } = this.#filter;
    if (!attributes || isEmpty(attributes)) return "";
    this.#shape.push("a");
    const contains = `a.attributes @> ${this.value(JSON.stringify(attributes))}::jsonb`;
    return `exists (select 1 from ${this.#schema}.run_attributes a where a.run_id = s.run_id and ${contains})`;
  }

  /** The newest of each status, merged. */
  #byOddStatus(statuses: readonly RunStatus[], limit: string | null): string {
    this.#shape.push("d");
    const namespace = this.value(this.#filter.namespace);
    const joined = this.#joins("r", true);
    const wanted = this.value([...statuses]);
    const conditions = [
      "r.status = t.status",
      ODD_INDEX,
      ...this.#times("r"),
      ...joined.conditions,
      `l.namespace = ${namespace}`,
    ];
    return `select x.* from (select distinct unnest(${wanted}::text[])::${this.#schema}.run_status as status) t
      cross join lateral (select r.run_id, r.created_at from ${this.#schema}.runs r ${joined.text}
        where ${all(conditions)} order by r.created_at desc, r.run_id desc ${limit === null ? "" : `limit ${limit}`}) x`;
  }

  /** The newest open ones of each lane that nobody holds, and of each worker that may hold some, merged. */
  #byOpenStatus(statuses: readonly RunStatus[], limit: string | null): string {
    this.#shape.push(statuses.includes("pending") ? "on" : "o");
    const at = this.#schema;
    const namespace = this.value(this.#filter.namespace);
    const wanted = `r.status = any (${this.value([...statuses])}::text[]::${at}.run_status[])`;
    const [times, state, lanes] = [this.#times("r"), this.#stateConditions(), this.#laneConditions()];
    const newest = (of: string, which: readonly string[], by = "created_at") => {
      const order = limit === null ? APART : `order by r.${by} desc, r.run_id desc limit ${limit}`;
      const found = `select r.run_id, r.created_at from ${at}.runs r ${of} where ${all([...which, ...state])} ${order}`;
      return `cross join lateral (${found}) x`;
    };
    const laneOfRun = lanes.length === 0 ? "" : `join ${at}.lanes l on l.lane_id = r.lane_id`;
    const inLanes = `where ${all([`l.namespace = ${namespace}`, ...lanes])}`;
    const open = ["r.lane_id = l.lane_id", NOT_NEW, wanted, ...times];
    // Those that wait since they were created are read from the index of due runs, but not past all timers of the future.
    const last = `select s.created_at from ${at}.run_starts s where s.lane_id = l.lane_id order by s.created_at desc limit 1`;
    const due = times.map((condition) => condition.replaceAll("created_at", "available_at"));
    const fresh = newest("", ["r.lane_id = l.lane_id", IS_NEW, `r.available_at <= (${last})`, ...due], "available_at");
    // A worker holds runs of its own namespace only.
    return `select x.* from ${at}.lanes l ${newest("", open)} ${inLanes}
      ${statuses.includes("pending") ? `union all select x.* from ${at}.lanes l ${fresh} ${inLanes}` : ""}
      union all
      select x.* from ${at}.workers w ${newest(laneOfRun, ["r.held_by = w.worker_id", ...lanes, wanted, ...times])}
       where not w.emptied and w.namespace = ${namespace}`;
  }

  /** Those of each lane and status that ended in the wanted time. */
  #byEndTime(statuses: readonly RunStatus[]): string {
    this.#shape.push("t");
    const conditions = [
      `l.namespace = ${this.value(this.#filter.namespace)}`,
      ...["r.status = t.status", "r.ended_at is not null"],
      ...[...this.#laneConditions(), ...this.#stateConditions(), ...this.#times("r")],
    ];
    return `select r.run_id, r.created_at from ${this.#schema}.lanes l
      cross join (select unnest(${this.value([...statuses])}::text[])::${this.#schema}.run_status as status) t
      join ${this.#schema}.runs r on r.lane_id = l.lane_id where ${all(conditions)}`;
  }

  /** The newest of each lane, merged. */
  #byLane(limit: string | null): string {
    this.#shape.push("l");
    const lanes = this.#laneConditions();
    const status = this.#statusCondition();
    const state = this.#stateConditions();
    const join =
      status === "" ? "" : `join ${this.#schema}.runs r on r.run_id = s.run_id and ${all([status, ...state])}`;
    return `select x.* from ${this.#schema}.lanes l cross join lateral (
        select s.run_id, s.created_at from ${this.#schema}.run_starts s ${join}
         where ${all(["s.lane_id = l.lane_id", ...this.#times("s")])}
         order by s.created_at desc, s.run_id desc ${limit === null ? "" : `limit ${limit}`}) x
      where ${all([`l.namespace = ${this.value(this.#filter.namespace)}`, ...lanes])}`;
  }

  /** Conditions on tables other than the one that is walked. */
  #joins(alias: string, hasStatus = false): { readonly text: string; readonly conditions: readonly string[] } {
    const lanes = this.#laneConditions();
    const status = hasStatus ? "" : this.#statusCondition();
    const needsRuns = !hasStatus && (status !== "" || lanes.length > 0);
    const runs = needsRuns ? `join ${this.#schema}.runs r on r.run_id = ${alias}.run_id` : "";
    const lane = lanes.length > 0 || hasStatus ? `join ${this.#schema}.lanes l on l.lane_id = r.lane_id` : "";
    return { text: `${runs} ${lane}`, conditions: [status, ...lanes, ...this.#stateConditions()] };
  }

  /** What a run waits for, and how it has ended. With each of these come statuses, and so the row of the run. */
  #stateConditions(): string[] {
    const { waitingFor, retrying, waitingSince, error, endedAfter, endedBefore } = this.#filter;
    const conditions: string[] = [];
    const add = (shape: string, condition: string): void => {
      this.#shape.push(shape);
      conditions.push(condition);
    };
    const waits = (condition: string): string =>
      `exists (select 1 from unnest(r.waiting_for::text[]) as w(op) where ${condition})`;
    if (waitingFor?.endsWith(":")) add("P", waits(`starts_with(w.op, ${this.value(waitingFor)})`));
    else if (waitingFor !== undefined) {
      const name = `${this.value(waitingFor)}::text`;
      // Behind the name there may be numbers, and nothing else: see waitsFor.
      const numbers = `starts_with(w.op, ${name} || '#') and substr(w.op, length(${name}) + 1) ~ '^(#[0-9]+)+$'`;
      add("W", waits(`w.op = ${name} or (${numbers})`));
    }
    if (retrying) add("R", waits(`right(w.op, ${RETRYING_SUFFIX.length}) = '${RETRYING_SUFFIX}'`));
    if (waitingSince !== undefined) {
      const lastAt = `(select e.at from ${this.#schema}.events e where e.run_no = r.run_no and e.seq = r.event_count)`;
      const since = `coalesce(r.tail_at, ${lastAt}, r.started_at, r.created_at)`;
      add("S", `r.held_by is null and ${since} <= ${this.value(waitingSince)}`);
    }
    if (error !== undefined) add("E", `${this.#schema}.error_matches(r.error, ${this.value(error)})`);
    if (endedAfter !== undefined) add("A", `r.ended_at > ${this.value(endedAfter)}`);
    if (endedBefore !== undefined) add("B", `r.ended_at < ${this.value(endedBefore)}`);
    return conditions;
  }

  #statusCondition(): string {
    if (!this.#filter.statuses) return "";
    this.#shape.push("s");
    return `r.status = any (${this.value([...this.#filter.statuses])}::text[]::${this.#schema}.run_status[])`;
  }

  #laneConditions(): string[] {
    return (["workflow", "version", "queue"] as const).flatMap((column) => {
      const wanted = this.#filter[column];
      if (wanted === undefined) return [];
      this.#shape.push(column[0] as string);
      return [`l.${column} = ${this.value(wanted)}`];
    });
  }

  #times(alias: string): string[] {
    const { createdAfter, createdBefore } = this.#filter;
    const conditions = [this.before.replaceAll("%", alias)];
    if (createdAfter !== undefined) {
      this.#shape.push(">");
      conditions.push(`${alias}.created_at > ${this.value(createdAfter)}`);
    }
    if (createdBefore !== undefined) {
      this.#shape.push("<");
      conditions.push(`${alias}.created_at < ${this.value(createdBefore)}`);
    }
    return conditions;
  }
}

function isEmpty(object: object): boolean {
  return Object.keys(object).length === 0;
}

function all(conditions: readonly string[]): string {
  return conditions.filter((condition) => condition !== "").join(" and ");
}
