import {
  DECISIONS_MAX,
  type DueSchedulesParams,
  type DueSchedulesResult,
  type ErrorRecord,
  type ListSchedulesParams,
  type OpenRun,
  type PutSchedule,
  type PutScheduleOutcome,
  type PutSchedulesParams,
  type PutSchedulesResult,
  type RunStatus,
  type Schedule,
  type ScheduleDecision,
  type ScheduleDefinition,
  type ScheduleRef,
  type ScheduleState,
  type StartRun,
} from "holdfast/adapter";
import * as binary from "./database/binary-array.ts";
import { jsonBytes, jsonOf } from "./database/codes.ts";
import type { Row } from "./database/driver.ts";
import type { Server } from "./database/server.ts";
import { callOf, queryOf, readingCallOf } from "./database/server-call.ts";
import { NEW_RUN, type NewRuns, namedFor } from "./runs/new-runs.ts";

/** As stored. */
const WAITS: Readonly<Record<ScheduleState["waits"], number>> = { no: 0, end: 1, look: 2 };

/** The subject of a call to put_schedules. */
interface Putting extends NewRuns {
  readonly puts: readonly PutSchedule[];
  readonly starts: readonly (readonly [i: number, start: StartRun])[];
  readonly decisions: readonly Uint8Array[];
  /** Per put: how many of the decisions belong to it or to one before it. */
  readonly decided: readonly number[];
  /** As stored. */
  readonly states: readonly Uint8Array[];
  readonly definitions: readonly (Uint8Array | null)[];
  /** Those of the runs that are terminated. */
  readonly errors: readonly (Uint8Array | null)[];
  readonly announce: boolean;
  readonly notify: boolean;
}

const PUT = callOf<Putting>("put_schedules", {
  p_namespace: ({ puts }) => binary.textArray(puts, ({ namespace }) => namespace),
  p_id: ({ puts }) => binary.textArray(puts, ({ id }) => id),
  p_revision: ({ puts }) => binary.uuidArray(puts, ({ revision }) => revision),
  p_next: ({ puts }) => binary.uuidArray(puts, ({ next }) => next),
  p_definition: ({ definitions }) => binary.byteaArray(definitions),
  p_input: ({ puts }) => binary.byteaArray(puts, ({ input }) => input ?? null),
  p_state: ({ states }) => binary.byteaArray(states),
  p_next_at: ({ puts }) => binary.timeArray(puts, ({ state }) => state.nextAt),
  p_waits: ({ puts }) => binary.int2Array(puts, ({ state }) => WAITS[state.waits]),
  p_failures: ({ puts }) => binary.int4Array(puts, ({ state }) => state.failures),
  p_open_id: ({ puts }) => binary.textArray(puts, ({ state }) => state.openId),
  p_assumes: ({ puts }) => binary.boolArray(puts, ({ assumes }) => assumes?.open ?? null),
  p_terminates: ({ puts }) => binary.uuidArray(puts, ({ terminates }) => terminates?.runId ?? null),
  p_errors: ({ errors }) => binary.byteaArray(errors),
  p_decided: ({ decided }) => binary.int4Array(decided),
  d_decision: ({ decisions }) => binary.byteaArray(decisions),
  p_decisions_max: () => DECISIONS_MAX,
  s_i: ({ starts }) => binary.int4Array(starts, ([i]) => i),
  s_run: ({ runs }) => binary.uuidArray(runs, (run) => run.runId),
  s_namespace: ({ runs }) => binary.textArray(runs, (run) => run.namespace),
  s_id: ({ runs }) => binary.textArray(runs, (run) => run.id),
  ...namedFor("s", NEW_RUN),
  s_pick: ({ starts }) => binary.float8Array(starts, ([, { pick }]) => pick),
  p_announce: ({ announce }) => announce,
  p_notify: ({ notify }) => notify,
});

const DUE = readingCallOf<DueSchedulesParams>("due_schedules", {
  p_limit: ({ limit }) => limit + 1,
  // Before all others: no schedule has an empty id.
  p_due_after: ({ after }) => (after ? after.dueAt : Number.MIN_SAFE_INTEGER),
  p_namespace: ({ after }) => after?.namespace ?? "",
  p_id: ({ after }) => after?.id ?? "",
});
const DUE_COLUMNS = {
  ...DUE,
  text: (at: string) => DUE.text(at).replace("*", "now, c.next_at as outlook, waiting, awaited, (schedule).*"),
};

const READ = queryOf<{ readonly schedules: readonly ScheduleRef[] }>(
  "read_schedules",
  (at) => `
    select p.i::int as i, v.* from unnest($namespaces::text[], $ids::text[]) with ordinality as p(namespace, id, i)
      join ${at}.schedule_rows v on v.namespace = p.namespace and v.id = p.id`,
  {
    namespaces: ({ schedules }) => binary.textArray(schedules, ({ namespace }) => namespace),
    ids: ({ schedules }) => binary.textArray(schedules, ({ id }) => id),
  },
);

const DECISIONS = queryOf<ScheduleRef>(
  "schedule_decisions",
  (at) => `select k.decisions from ${at}.schedules k where k.namespace = $namespace and k.id = $id`,
  { namespace: ({ namespace }) => namespace, id: ({ id }) => id },
);

const LIST_VALUES = {
  namespace: ({ namespace }: ListSchedulesParams) => namespace,
  after: ({ after }: ListSchedulesParams) => after ?? null,
  limit: ({ limit }: ListSchedulesParams) => limit,
};
const listText = (at: string, only: string): string => `
  select v.* from ${at}.schedule_rows v
   where v.namespace = $namespace and ($after::text is null or v.id > $after) ${only} order by v.id limit $limit`;
const LIST = queryOf<ListSchedulesParams>("list_schedules", (at) => listText(at, ""), LIST_VALUES);
const LIST_FAILING = queryOf<ListSchedulesParams>(
  "list_failing_schedules",
  (at) => listText(at, "and (v.failures > 0 or v.open_status in ('failed', 'timed_out', 'parked'))"),
  LIST_VALUES,
);

const REMOVE = callOf<ScheduleRef>("remove_schedule", {
  p_namespace: ({ namespace }) => namespace,
  p_id: ({ id }) => id,
});

export async function putSchedules(server: Server, params: PutSchedulesParams): Promise<PutSchedulesResult> {
  return putResult(params, await server.writeOne(PUT, puttingOf(params, server.notify)));
}

function puttingOf({ puts, announce }: PutSchedulesParams, notify: boolean): Putting {
  const starts = puts.flatMap((put, i) => put.starts.map((start) => [i + 1, start] as const));
  const decisions = puts.flatMap((put) => put.decided.map(jsonBytes));
  const decided: number[] = [];
  for (const put of puts) decided.push((decided.at(-1) ?? 0) + put.decided.length);
  const states = puts.map(({ state }) => jsonBytes(state));
  const definitions = puts.map(({ definition }) => (definition ? jsonBytes(definition) : null));
  const errors = puts.map(({ terminates }) => (terminates ? jsonBytes(terminates.error) : null));
  const runs = starts.map(([, { run }]) => run);
  return { puts, starts, decisions, decided, states, definitions, errors, runs, announce, notify };
}

function putResult({ puts }: PutSchedulesParams, row: Row): PutSchedulesResult {
  const outcomes = row.o_outcome as PutScheduleOutcome["outcome"][];
  const taken = (row.o_taken ?? []) as string[];
  const takenBy = (row.o_taken_i ?? []) as number[];
  const owing = (row.o_owes ?? []) as number[];
  return {
    now: row.o_now as number,
    outcomes: puts.map((_, i) => {
      const outcome = outcomes[i] as PutScheduleOutcome["outcome"];
      if (outcome === "taken") return { outcome, taken: taken.filter((_id, k) => takenBy[k] === i + 1) };
      return owing.includes(i + 1) ? { outcome, owes: true } : { outcome };
    }),
  };
}

export async function dueSchedules(server: Server, params: DueSchedulesParams): Promise<DueSchedulesResult> {
  const [outlook, ...rows] = (await server.read(DUE_COLUMNS, params)) as [Row, ...Row[]];
  return {
    schedules: rows.slice(0, params.limit).map(scheduleOf),
    now: outlook.now as number,
    awaited: (outlook.awaited ?? []) as string[],
    more: rows.length > params.limit,
    nextAt: outlook.outlook as number | null,
    waiting: outlook.waiting as boolean,
  };
}

export async function readSchedules(
  server: Server,
  params: { readonly schedules: readonly ScheduleRef[] },
): Promise<readonly (Schedule | null)[]> {
  const rows = new Map((await server.read(READ, params)).map((row) => [row.i as number, row]));
  return params.schedules.map((_, i) => {
    const row = rows.get(i + 1);
    return row ? scheduleOf(row) : null;
  });
}

export async function readDecisions(server: Server, params: ScheduleRef): Promise<readonly ScheduleDecision[]> {
  const [row] = await server.read(DECISIONS, params);
  return ((row?.decisions ?? []) as Uint8Array[]).map((bytes) => jsonOf(bytes) as ScheduleDecision);
}

export async function listSchedules(server: Server, params: ListSchedulesParams): Promise<readonly Schedule[]> {
  return (await server.read(params.failing ? LIST_FAILING : LIST, params)).map(scheduleOf);
}

export async function removeSchedule(server: Server, params: ScheduleRef): Promise<{ readonly removed: boolean }> {
  return { removed: (await server.writeOne(REMOVE, params)).o_removed as boolean };
}

function scheduleOf(row: Row): Schedule {
  return {
    namespace: row.namespace as string,
    id: row.id as string,
    revision: row.revision as string,
    createdAt: row.created_at as number,
    definition: jsonOf(row.definition) as ScheduleDefinition,
    input: row.input as Uint8Array,
    state: jsonOf(row.state) as ScheduleState,
    open: openRunOf(row),
  };
}

function openRunOf(row: Row): OpenRun | null {
  if (row.open_run_id === null) return null;
  const error = jsonOf<ErrorRecord>(row.open_error)?.message ?? null;
  return { runId: row.open_run_id as string, status: row.open_status as RunStatus, error };
}
