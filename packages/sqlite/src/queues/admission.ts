import {
  admit,
  agedPriority,
  type Bucket,
  earlier,
  type KeyState,
  type Lines,
  type PlaceState,
  paceAfter,
  sortAgainAt,
} from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { givePlace, type LimitedRow, leaveLine, makeReady, type PlacedKey } from "./place-state.ts";

const WAKE = "select key from holdfast_limited_keys where limited_id = ? and wake_at <= ?";
const READY = `
  select key, running, tokens, tokens_at as tokensAt, awaited, virtual_time as virtualTime from holdfast_limited_keys
  where limited_id = ? and ready = 1 order by virtual_time, key limit ?`;
const HEADS = `
  select run_id as runId, run_key as runKey, seq, at from holdfast_lines
  where limited_id = ? and key = ? and lane_id = ? order by at, run_key, seq limit ?`;
const WAITS = "select 1 from holdfast_lines where limited_id = ? and key = ? limit 1";
const SAVE_KEY = `
  update holdfast_limited_keys set running = ?, tokens = ?, tokens_at = ?, awaited = ?, virtual_time = ?, ready = ?, wake_at = ?
  where limited_id = ? and key = ?`;
const FORGET_KEY = "delete from holdfast_limited_keys where limited_id = ? and key = ?";
const SAVE = `
  update holdfast_limited set running = ?, tokens = ?, tokens_at = ?, awaited = ?, virtual_time = ?, per_second = ?, pace_at = ?
  where limited_id = ?`;
const NEXT_WAKE = "select min(wake_at) from holdfast_limited_keys where limited_id = ? and wake_at is not null";

/** What a claim can take from a queue with limits: these lanes, as long as an entry still waits for a place. */
export interface ServedLanes {
  readonly lanes: readonly { readonly laneId: number; readonly priority: number }[];
  /** Whether it still does. Entries that do not are left out; whoever changed that has taken them out of the line. */
  waits(entry: PlacedKey): boolean;
}

interface Head extends PlacedKey {
  readonly runKey: number;
  readonly at: number;
  readonly priority: number;
}

export interface Admitted {
  /** `runKey`: of the run, or of the run of the task. */
  readonly admitted: readonly (PlacedKey & { readonly runKey: number })[];
  readonly nextAt: number | null;
  /** Something is left to be sorted in, at once. */
  readonly sortsOn: boolean;
}

/** Gives up to so many places to what this claim can serve. `left`: something is still to be sorted in. */
export function admitFrom(
  call: Call,
  limited: LimitedRow,
  limit: number,
  served: ServedLanes,
  left: boolean,
): Admitted {
  const { sql, now } = call;
  const { limitedId, limits } = limited;
  for (const [key] of sql.allColumns(WAKE, limitedId, now)) makeReady(sql, limitedId, key as string);
  const before = placesOf(limited);
  const { queue, taken, nextAt } = admit(limits, before, linesOf(call, limited, served), limit, now);
  for (const { key, entry } of taken) givePlace(call, limitedId, key, entry);
  const { running, bucket, virtualTime } = queue;
  // Of a claim that gives nothing, nothing is written: it costs no flush of the file.
  if (queue !== before) {
    const pace = paceAfter({ perSecond: limited.perSecond, at: limited.paceAt }, taken.length, now);
    sql.execute(SAVE, running, ...storedBucket(bucket), virtualTime, pace.perSecond, pace.at, limitedId);
  }
  const next = nextAfter(call, limited, running, nextAt);
  const again = left ? sortAgainAt(limits, queue, now) : null;
  return { admitted: taken.map(({ entry }) => entry), nextAt: earlier(next, again), sortsOn: again === now };
}

/** Tokens make a key ready by themselves; the places of the queue do not. */
function nextAfter(call: Call, limited: LimitedRow, running: number, nextAt: number | null) {
  const { concurrency } = limited.limits;
  return concurrency !== undefined && running >= concurrency ? nextAt : earlier(nextWake(call, limited), nextAt);
}

/** When the next key will be ready by itself. */
export function nextWake({ sql }: Call, { limitedId }: LimitedRow): number | null {
  return sql.columns(NEXT_WAKE, limitedId)?.[0] as number | null;
}

export function isAnyReady({ sql, now }: Call, { limitedId }: LimitedRow): boolean {
  return sql.columns(READY, limitedId, 1) !== undefined || sql.columns(WAKE, limitedId, now) !== undefined;
}

function linesOf(call: Call, { limitedId, limits }: LimitedRow, { lanes, waits }: ServedLanes): Lines<Head> {
  const { sql, now } = call;
  type Stored = Omit<KeyState, "bucket"> & StoredBucket;
  return {
    ready: (count, except) =>
      sql
        .all<Stored>(READY, limitedId, Math.min(count, 1_000_000) + except.size)
        .filter(({ key }) => !except.has(key))
        .slice(0, count)
        .map((key) => ({ ...key, bucket: bucketOf(key) })),
    take(key, count) {
      const rank = ({ priority, at }: Head): number => agedPriority(priority, now - at, limits.agingMs);
      const heads = lanes.flatMap(({ laneId, priority }) =>
        sql.all<Omit<Head, "priority">>(HEADS, limitedId, key, laneId, count).map((head) => ({ ...head, priority })),
      );
      heads.sort((a, b) => rank(b) - rank(a) || a.at - b.at || a.runKey - b.runKey || a.seq - b.seq);
      const taken = heads.filter(waits).slice(0, count);
      for (const head of taken) leaveLine(call, head);
      return taken;
    },
    isEmpty: (key) => sql.columns(WAITS, limitedId, key) === undefined,
    save({ key, running, bucket, virtualTime }, { ready, wakeAt, idle }) {
      if (idle) sql.execute(FORGET_KEY, limitedId, key);
      else
        sql.execute(
          SAVE_KEY,
          ...[running, ...storedBucket(bucket), virtualTime, Number(ready), wakeAt, limitedId, key],
        );
    },
  };
}

export function placesOf(limited: LimitedRow): PlaceState {
  return { running: limited.running, bucket: bucketOf(limited), virtualTime: limited.virtualTime };
}

export interface StoredBucket {
  readonly tokens: number | null;
  readonly tokensAt: number | null;
  readonly awaited: number;
}

export function bucketOf({ tokens, tokensAt, awaited }: StoredBucket): Bucket {
  return tokens === null || tokensAt === null ? null : { tokens, at: tokensAt, awaited: awaited === 1 };
}

function storedBucket(bucket: Bucket): [tokens: number | null, at: number | null, awaited: number] {
  return bucket === null ? [null, null, 0] : [bucket.tokens, bucket.at, Number(bucket.awaited)];
}
