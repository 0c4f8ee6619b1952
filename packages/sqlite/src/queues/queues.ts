import {
  keyLimits,
  type ListQueuesParams,
  NO_KEY,
  nextTokenAt,
  OPEN_STATUSES,
  type PlaceHolder,
  paceNow,
  QUEUE_KINDS,
  type QueueKind,
  type QueueLoad,
  type QueueState,
  type SetQueueParams,
  type SetQueueResult,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { statusCode, TIES, taskStatusCode } from "../database/codes.ts";
import { newUuidBytes, uuidText } from "../database/uuid.ts";
import { announceInQueue } from "../runs/run-state.ts";
import { bucketOf, type StoredBucket } from "./admission.ts";
import { type LimitedRow, limitedIn } from "./place-state.ts";

const OPEN = OPEN_STATUSES.map(statusCode).join();
const CREATE = `
  insert into holdfast_limited (namespace, queue, kind, limits, running, virtual_time, per_second, pace_at)
  values (?, ?, ?, ?, 0, 0, 0, 0)`;
const REVISION = "select revision from holdfast_queue_revisions where namespace = ? and queue = ?";
const NOTE_REVISION = `
  insert into holdfast_queue_revisions (namespace, queue, revision) values (?, ?, ?)
  on conflict (namespace, queue) do update set revision = excluded.revision`;
const CHANGE = "update holdfast_limited set limits = ? where limited_id = ?";
const ALL_READY = `
  update holdfast_limited_keys set ready = 1, wake_at = null,
    virtual_time = iif(ready = 1, virtual_time, max(virtual_time, (
      select q.virtual_time from holdfast_limited q where q.limited_id = holdfast_limited_keys.limited_id)))
  where limited_id = ?`;
/** What has begun gets places: as many as there are. */
const PLACE_RUNS = `
  insert into holdfast_places (run_id, seq, limited_id, key, since)
  select r.run_id, 0, l.limited_id, coalesce(k.key, '${NO_KEY}'), ? from holdfast_runs r join holdfast_lanes l on l.lane_id = r.lane_id
  left join holdfast_run_keys k on k.run_key = r.run_key
  where r.namespace_key = ? and r.status in (${OPEN}) and l.limited_id = ? and r.started_at is not null`;
const PLACE_TASKS = `
  insert into holdfast_places (run_id, seq, limited_id, key, since)
  select t.run_id, t.seq, l.limited_id, coalesce(t.key, k.key, '${NO_KEY}'), ?
  from holdfast_tasks t join holdfast_task_lanes l on l.lane_id = t.lane_id
  left join holdfast_runs r on r.run_id = t.run_id left join holdfast_run_keys k on k.run_key = r.run_key
  where (t.held_by is not null or t.suspect = 1) and t.status <> ${taskStatusCode("dead")} and l.limited_id = ?`;
const TIE_RUNS = `
  update holdfast_runs set ties = coalesce(ties, 0) | ${TIES.place}
  where run_id in (select run_id from holdfast_places where limited_id = ?)`;
/** Whoever holds one of them must read it again: see known-holds.ts. */
const NOTE_TIED = `
  update holdfast_workers set taken = taken + 1
  where worker_key in (select r.held_by from holdfast_places p join holdfast_runs r on r.run_id = p.run_id where p.limited_id = ?)`;
const NOTE_TASKS = `
  update holdfast_tasks set place = 2
  where (run_id, seq) in (select run_id, seq from holdfast_places where limited_id = ?)`;
const COUNT_PLACES = `
  update holdfast_limited set running = (select count(*) from holdfast_places p where p.limited_id = holdfast_limited.limited_id)
  where limited_id = ?`;
const COUNT_KEYS = `
  insert into holdfast_limited_keys (limited_id, key, running, virtual_time, ready)
  select limited_id, key, count(*), 0, 1 from holdfast_places where limited_id = ? group by key`;
const RELEASE_RUNS = `
  update holdfast_runs set waiting_for = null, available_at = (select at from holdfast_lines l where l.run_id = holdfast_runs.run_id and l.seq = 0)
  where run_id in (select run_id from holdfast_lines where limited_id = ?) and held_by is null`;
const RELEASE_TASKS = `
  update holdfast_tasks set place = null,
    available_at = (select at from holdfast_lines l where l.run_id = holdfast_tasks.run_id and l.seq = holdfast_tasks.seq)
  where (run_id, seq) in (select run_id, seq from holdfast_lines where limited_id = ?) and held_by is null`;
const LANES_OF: Readonly<Record<QueueKind, string>> = {
  runs: "update holdfast_lanes set limited_id = ? where namespace = ? and queue = ?",
  tasks: "update holdfast_task_lanes set limited_id = ? where namespace = ? and queue = ?",
};
const REMOVE = ["limited_keys", "lines", "places", "limited"].map(
  (table) => `delete from holdfast_${table} where limited_id = ?`,
);

export function setQueue(call: Call, params: SetQueueParams): SetQueueResult {
  const { namespace, queue, next } = params;
  const stored = call.sql.columns(REVISION, namespace, queue)?.[0] as Uint8Array | undefined;
  const revision = stored ? uuidText(stored) : null;
  if (revision === next) return { outcome: "written" };
  if (revision !== params.revision) return { outcome: "moved", revision };
  call.sql.execute(NOTE_REVISION, namespace, queue, newUuidBytes(next));
  setLimits(call, params);
  return { outcome: "written" };
}

function setLimits(call: Call, { namespace, queue, limits }: SetQueueParams): void {
  const { sql, now } = call;
  for (const kind of QUEUE_KINDS) {
    const known = limitedIn(call, namespace, queue, kind);
    if (limits === null) {
      if (!known) continue;
      sql.run(kind === "runs" ? RELEASE_RUNS : RELEASE_TASKS, known.limitedId);
      for (const statement of REMOVE) sql.run(statement, known.limitedId);
      sql.run(LANES_OF[kind], null, namespace, queue);
    } else if (known) {
      sql.run(CHANGE, JSON.stringify(limits), known.limitedId);
      // Whatever kept them from it may be gone.
      sql.run(ALL_READY, known.limitedId);
    } else {
      const limitedId = sql.insert(CREATE, namespace, queue, kind, JSON.stringify(limits));
      sql.run(LANES_OF[kind], limitedId, namespace, queue);
      if (kind === "runs") sql.run(PLACE_RUNS, now, call.catalog.nameKey(namespace), limitedId);
      else sql.run(PLACE_TASKS, now, limitedId);
      sql.run(kind === "runs" ? TIE_RUNS : NOTE_TASKS, limitedId);
      if (kind === "runs") sql.run(NOTE_TIED, limitedId);
      sql.run(COUNT_PLACES, limitedId);
      sql.run(COUNT_KEYS, limitedId);
    }
    announceInQueue(call, { namespace, queue }, now, kind === "runs" ? "due" : "task_due");
  }
}

/** In line, and due or not: it is counted there. */
const NOT_IN_LINE = `(r.waiting_for is null or r.waiting_for not like '["queue:%#05"]')`;
const RUNS = `
  select l.queue, total(r.available_at <= ? and ${NOT_IN_LINE}) as due, count(r.held_by) as held,
    min(iif(r.available_at <= ? and ${NOT_IN_LINE}, r.available_at, null)) as oldest
  from holdfast_runs r join holdfast_lanes l on l.lane_id = r.lane_id left join holdfast_run_keys k on k.run_key = r.run_key
  where r.namespace_key = ? and r.status in (${OPEN}) and (? is null or coalesce(k.key, '${NO_KEY}') = ?)
  group by l.queue`;
const TASKS = `
  select l.queue, total(t.available_at <= ?) as due, count(t.held_by) as held, min(iif(t.available_at <= ?, t.available_at, null)) as oldest
  from holdfast_tasks t join holdfast_task_lanes l on l.lane_id = t.lane_id
  left join holdfast_runs r on r.run_id = t.run_id left join holdfast_run_keys k on k.run_key = r.run_key
  where l.namespace = ? and t.status <> ${taskStatusCode("dead")} and (? is null or coalesce(t.key, k.key, '${NO_KEY}') = ?)
  group by l.queue`;
const NAMES = `
  select queue from holdfast_limited where namespace = ? union select queue from holdfast_lanes where namespace = ?
  union select queue from holdfast_task_lanes where namespace = ? order by 1`;
const LINE = "select count(*), min(at) from holdfast_lines where limited_id = ? and (? is null or key = ?)";
const PLACES = "select count(*) from holdfast_places where limited_id = ? and (? is null or key = ?)";
const KEY_TOKENS =
  "select tokens, tokens_at as tokensAt, awaited from holdfast_limited_keys where limited_id = ? and key = ?";
const HOLDERS = `
  select p.run_id as runId, p.key, p.since, s.id, t.op from holdfast_places p
  join holdfast_runs r on r.run_id = p.run_id join holdfast_run_starts s on s.run_key = r.run_key
  left join holdfast_tasks t on t.run_id = p.run_id and t.seq = p.seq
  where p.limited_id = ? and (? is null or p.key = ?) order by p.since, p.run_id, p.seq limit ?`;

interface Counted {
  readonly queue: string;
  readonly due: number;
  readonly held: number;
  readonly oldest: number | null;
}

export function listQueues(call: Call, params: ListQueuesParams): QueueState[] {
  const { namespace } = params;
  const key = params.key ?? null;
  const { sql, now } = call;
  const namespaceKey = call.catalog.findNameKey(namespace) ?? -1;
  const counted: Record<QueueKind, readonly Counted[]> = {
    runs: sql.all<Counted>(RUNS, now, now, namespaceKey, key, key),
    tasks: sql.all<Counted>(TASKS, now, now, namespace, key, key),
  };
  return sql
    .allColumns(NAMES, namespace, namespace, namespace)
    .map(([queue]) => queue as string)
    .filter((name) => params.queue === undefined || name === params.queue)
    .map((name) => {
      const load = (kind: QueueKind): QueueLoad => {
        const found = counted[kind].find(({ queue }) => queue === name);
        return loadOf(call, limitedIn(call, namespace, name, kind), found, params);
      };
      return {
        name,
        limits: limitedIn(call, namespace, name, "runs")?.limits ?? null,
        runs: load("runs"),
        tasks: load("tasks"),
      };
    });
}

function loadOf(
  { sql, now }: Call,
  limited: LimitedRow | undefined,
  found: Counted | undefined,
  { key: given, holdersMax }: ListQueuesParams,
): QueueLoad {
  const key = given ?? null;
  const { due = 0, held = 0, oldest = null } = found ?? {};
  if (!limited) return { waiting: due, running: held, oldestDueAt: oldest, perSecond: 0, tokenAt: null, holders: [] };
  const { limitedId, perSecond, paceAt } = limited;
  const [waiting, first] = sql.columns(LINE, limitedId, key, key) as readonly [number, number | null];
  const [running] = sql.columns(PLACES, limitedId, key, key) as readonly [number];
  const oldestDueAt = oldest === null || first === null ? (oldest ?? first) : Math.min(oldest, first);
  const holders = sql.all<StoredHolder>(HOLDERS, limitedId, key, key, holdersMax).map(holderOf);
  const pace = paceNow({ perSecond, at: paceAt }, now);
  const tokenAt = tokenWaitedFor(sql, limited, given, now);
  return { waiting: due + waiting, running, oldestDueAt, perSecond: pace, tokenAt, holders };
}

function tokenWaitedFor(sql: Call["sql"], limited: LimitedRow, key: string | undefined, now: number): number | null {
  if (key === undefined) return nextTokenAt(limited.limits, bucketOf(limited), now);
  const own = sql.get<StoredBucket>(KEY_TOKENS, limited.limitedId, key);
  return nextTokenAt(keyLimits(limited.limits, key), own ? bucketOf(own) : null, now);
}

interface StoredHolder {
  readonly runId: Uint8Array;
  readonly key: string;
  readonly since: number;
  readonly id: string;
  readonly op: string | null;
}

function holderOf({ runId, key, since, id, op }: StoredHolder): PlaceHolder {
  return { id, runId: uuidText(runId), key: key === NO_KEY ? null : key, ...(op === null ? {} : { op }), since };
}
