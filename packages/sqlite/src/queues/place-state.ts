/** Places in queues with limits, and the lines before them. What is in a queue without limits never gets here. */
import { NO_KEY, type QueueKind, type QueueLimits } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { announceInQueue } from "../runs/run-state.ts";

/** A queue with limits, for its runs or for its tasks. */
export interface LimitedRow {
  readonly limitedId: number;
  readonly kind: QueueKind;
  readonly namespace: string;
  readonly queue: string;
  readonly limits: QueueLimits;
  readonly running: number;
  readonly tokens: number | null;
  readonly tokensAt: number | null;
  readonly awaited: number;
  readonly virtualTime: number;
  readonly perSecond: number;
  readonly paceAt: number;
}

/** A run (seq 0) or a task. */
export interface PlacedKey {
  readonly runId: Uint8Array;
  readonly seq: number;
}

const LIMITED = `
  select limited_id as limitedId, kind, namespace, queue, limits, running, tokens, tokens_at as tokensAt, awaited,
    virtual_time as virtualTime, per_second as perSecond, pace_at as paceAt
  from holdfast_limited`;
const LEAVE = "delete from holdfast_lines where run_id = ? and seq = ?";
const LINE_UP = `
  insert into holdfast_lines (limited_id, key, lane_id, at, run_key, run_id, seq) values (?, ?, ?, ?, ?, ?, ?)
  on conflict (run_id, seq) do nothing`;
const GIVE = "insert into holdfast_places (run_id, seq, limited_id, key, since) values (?, ?, ?, ?, ?)";
const GIVE_BACK = "delete from holdfast_places where run_id = ? and seq = ? returning limited_id, key";
const HAND_ON = "update holdfast_places set run_id = ? where run_id = ? and seq = 0";
const ONE_LESS = "update holdfast_limited set running = running - 1 where limited_id = ?";
/** The queues that a call has announced. */
const announced = new WeakMap<Call, Set<number>>();
const SOME_WAIT = "select 1 from holdfast_lines where limited_id = ? limit 1";
/** It takes its turn from now on: not before those that are ready already. With so many places less. */
const MAKE_READY = `
  insert into holdfast_limited_keys (limited_id, key, running, virtual_time, ready)
    select limited_id, ?, 0, virtual_time, 1 from holdfast_limited where limited_id = ?
  on conflict (limited_id, key) do update set running = running - ?, ready = 1, wake_at = null,
    virtual_time = iif(ready = 1, virtual_time, max(virtual_time, excluded.virtual_time))`;
const LINED = "select 1 from holdfast_lines where run_id = ? and seq = ?";

export function limitedById({ sql }: Call, limitedId: number): LimitedRow {
  return limitedRow(sql.get(`${LIMITED} where limited_id = ?`, limitedId) as StoredLimited);
}

export function limitedIn({ sql }: Call, namespace: string, queue: string, kind: QueueKind): LimitedRow | undefined {
  const row = sql.get<StoredLimited>(
    `${LIMITED} where namespace = ? and queue = ? and kind = ?`,
    namespace,
    queue,
    kind,
  );
  return row && limitedRow(row);
}

type StoredLimited = Omit<LimitedRow, "limits"> & { readonly limits: string };

function limitedRow(row: StoredLimited): LimitedRow {
  return { ...row, limits: JSON.parse(row.limits) as QueueLimits };
}

export function isInLine({ sql }: Call, { runId, seq }: PlacedKey): boolean {
  return sql.columns(LINED, runId, seq) !== undefined;
}

/** It is due and has no place. One that is in line already keeps its turn. Its key must be made ready. */
export function lineUp(
  { sql }: Call,
  limitedId: number,
  entry: PlacedKey & {
    readonly runKey: number;
    readonly key: string | null;
    readonly laneId: number;
    readonly at: number;
  },
): void {
  const { key, laneId, at, runKey, runId, seq } = entry;
  sql.execute(LINE_UP, limitedId, key ?? NO_KEY, laneId, at, runKey, runId, seq);
}

export function leaveLine({ sql }: Call, { runId, seq }: PlacedKey): void {
  sql.execute(LEAVE, runId, seq);
}

export function givePlace({ sql, now }: Call, limitedId: number, key: string, { runId, seq }: PlacedKey): void {
  sql.execute(GIVE, runId, seq, limitedId, key, now);
}

/** The run has ended, or the attempt: whoever is next may be claimed. */
export function giveBackPlace(call: Call, { runId, seq }: PlacedKey): void {
  const { sql, now } = call;
  const [limitedId, key] = (sql.columns(GIVE_BACK, runId, seq) ?? []) as readonly [number?, string?];
  if (limitedId === undefined || key === undefined) return;
  sql.execute(ONE_LESS, limitedId);
  sql.execute(MAKE_READY, key, limitedId, 1);
  // A flush of many ends announces a queue once.
  const known = announced.get(call) ?? new Set();
  if (known.has(limitedId) || sql.columns(SOME_WAIT, limitedId) === undefined) return;
  announced.set(call, known.add(limitedId));
  const { kind, ...queue } = limitedById(call, limitedId);
  announceInQueue(call, queue, now, kind === "runs" ? "due" : "task_due");
}

/** A continuation inherits the place. */
export function handPlaceOn({ sql }: Call, from: Uint8Array, to: Uint8Array): void {
  sql.execute(HAND_ON, to, from);
}

export function makeReady(sql: Call["sql"], limitedId: number, key: string): void {
  sql.execute(MAKE_READY, key, limitedId, 0);
}
