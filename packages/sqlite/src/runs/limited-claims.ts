/** Claims of runs in queues with limits: what is due goes into line, and the heads of the lines get places. */
import { type ClaimRunsParams, NO_KEY, sortAgainAt, sortedAtEachEnd, waitingForPlace } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import type { Lane } from "../database/catalog.ts";
import { TIES } from "../database/codes.ts";
import { uuidText } from "../database/uuid.ts";
import { admitFrom, isAnyReady, nextWake, placesOf } from "../queues/admission.ts";
import { type LimitedRow, leaveLine, limitedById, makeReady, type PlacedKey } from "../queues/place-state.ts";

/** `free`: it has a place, or only winds up. */
const DUE = `
  select r.run_key as runKey, r.run_id as runId, r.available_at as availableAt, k.key, 0 as seq,
    exists (select 1 from holdfast_places p where p.run_id = r.run_id and p.seq = 0) or r.deadline_at <= ?
      or exists (select 1 from holdfast_inbox m where m.run_key = r.run_key and m.number > r.consumed and m.kind = 'cancel') as free
  from holdfast_runs r left join holdfast_run_keys k on k.run_key = r.run_key
  where r.lane_id = ? and r.suspect = 0 and r.available_at <= ?`;
const OLDEST = `${DUE} order by r.available_at, r.run_key limit ?`;
const NEWEST = `${DUE} order by r.available_at desc, r.run_key desc limit ?`;
/** One statement for all of a lane: the fixed cost of a statement is larger than its cost per run. */
const LINE_UP = `
  insert into holdfast_lines (limited_id, key, lane_id, at, run_key, run_id, seq)
  select ?, coalesce(k.key, '${NO_KEY}'), r.lane_id, r.available_at, r.run_key, r.run_id, 0
  from holdfast_runs r left join holdfast_run_keys k on k.run_key = r.run_key where r.run_key in (select value from json_each(?))
  on conflict (run_id, seq) do nothing`;
/** They are due again only at their deadlines, and have to do with limits. */
const WAIT = `
  update holdfast_runs set available_at = deadline_at, waiting_for = ?, ties = coalesce(ties, 0) | ${TIES.place}
  where run_key in (select value from json_each(?))`;
const STILL_WAITS = `
  select run_key from holdfast_runs
  where run_id = ? and held_by is null and waiting_for is not null and (available_at is null or available_at > ?)`;

interface Due extends PlacedKey {
  readonly runKey: number;
  readonly availableAt: number;
  readonly key: string | null;
  readonly free: number | null;
}

export interface LimitedFound {
  /** The keys of runs. */
  readonly taken: readonly number[];
  readonly moreDue: boolean;
  readonly nextAt: number | null;
}

/** `lanes`: those of the queue that the claim serves. */
export function takeLimited(call: Call, limitedId: number, lanes: readonly Lane[], limit: number): LimitedFound {
  const limited = limitedById(call, limitedId);
  const { free, left } = sortIn(call, limited, lanes);
  const going = free.slice(0, limit);
  for (const { runId } of going) leaveLine(call, { runId, seq: 0 });
  const waits = ({ runId }: PlacedKey): boolean => call.sql.columns(STILL_WAITS, runId, call.now) !== undefined;
  const room = limit - going.length;
  const { admitted, nextAt, sortsOn } = admitFrom(call, limited, room, { lanes, waits }, left);
  return {
    taken: [...going, ...admitted].map(({ runKey }) => runKey),
    moreDue: free.length > limit || sortsOn,
    nextAt,
  };
}

/**
 * If there is nothing to give: when to claim again. Either nothing is due and no key is ready, or the queue is full and what is due waits
 * for a place. It need not be sorted in at once: whoever gave the last place has sorted some in.
 */
export function lookAtLimited(
  call: Call,
  limitedId: number,
  lanes: readonly Lane[],
): { readonly nextAt: number | null } | undefined {
  const { sql, now } = call;
  const limited = limitedById(call, limitedId);
  const places = placesOf(limited);
  const isFull = places.running >= (limited.limits.concurrency ?? Number.POSITIVE_INFINITY);
  if (!isFull && isAnyReady(call, limited)) return undefined;
  const count = sortedAtEachEnd(limited.limits, places, now);
  const due = lanes.flatMap(
    ({ laneId }) =>
      endsOf(count, (newest, limit) => sql.all<Due>(newest ? NEWEST : OLDEST, now, laneId, now, limit)).due,
  );
  if (due.some(({ free }) => free === 1)) return undefined;
  if (isFull) {
    if (due.length === 0) return { nextAt: null };
    const nextAt = sortAgainAt(limited.limits, places, limited.paceAt);
    return nextAt > now ? { nextAt } : undefined;
  }
  return due.length > 0 ? undefined : { nextAt: nextWake(call, limited) };
}

function sortIn(call: Call, limited: LimitedRow, lanes: readonly Lane[]) {
  const { sql, now } = call;
  const { limitedId } = limited;
  const count = sortedAtEachEnd(limited.limits, placesOf(limited), now);
  const free: (Due & Pick<Lane, "priority">)[] = [];
  const keys = new Set<string>();
  let left = false;
  for (const { laneId, priority, queue } of lanes) {
    const { due, more } = endsOf(count, (newest, limit) =>
      sql.all<Due>(newest ? NEWEST : OLDEST, now, laneId, now, limit),
    );
    left ||= more;
    for (const run of due) if (run.free === 1) free.push({ ...run, priority });
    const waiting = due.filter((run) => run.free !== 1);
    if (waiting.length === 0) continue;
    const runKeys = JSON.stringify(waiting.map(({ runKey }) => runKey));
    sql.execute(LINE_UP, limitedId, runKeys);
    sql.execute(WAIT, JSON.stringify([waitingForPlace(queue)]), runKeys);
    for (const { key } of waiting) keys.add(key ?? NO_KEY);
  }
  for (const key of keys) makeReady(sql, limitedId, key);
  free.sort((a, b) => b.priority - a.priority || a.availableAt - b.availableAt || Buffer.compare(a.runId, b.runId));
  return { free, left };
}

/** Of what is due in a lane, the oldest and the newest (sortedInFirst in model/decisions/admission.ts). `more`: some are left. */
export function endsOf<D extends PlacedKey>(
  count: number,
  read: (newest: boolean, limit: number) => D[],
): { readonly due: readonly D[]; readonly more: boolean } {
  const oldest = read(false, count);
  if (oldest.length < count) return { due: oldest, more: false };
  const known = new Set(oldest.map(nameOf));
  const newest = read(true, count + 1).filter((one) => !known.has(nameOf(one)));
  return { due: [...oldest, ...newest.slice(0, count)], more: newest.length > count };
}

function nameOf({ runId, seq }: PlacedKey): string {
  return `${uuidText(runId)}/${seq}`;
}

/** Lanes by the queue with limits that they belong to, in the order of the queues' names; `plain` belong to none. */
export function byLimits<L extends { readonly limitedId: number | null; readonly queue: string }>(
  lanes: readonly L[],
  { solo }: Pick<ClaimRunsParams, "solo">,
): { readonly plain: readonly L[]; readonly limited: readonly (readonly [limitedId: number, lanes: readonly L[]])[] } {
  // A suspect has begun: it has a place.
  if (solo || lanes.every(({ limitedId }) => limitedId === null)) return { plain: lanes, limited: [] };
  const limited = new Map<number, L[]>();
  for (const lane of [...lanes].sort((a, b) => (a.queue < b.queue ? -1 : a.queue > b.queue ? 1 : 0))) {
    if (lane.limitedId === null) continue;
    const known = limited.get(lane.limitedId);
    if (known) known.push(lane);
    else limited.set(lane.limitedId, [lane]);
  }
  return { plain: lanes.filter(({ limitedId }) => limitedId === null), limited: [...limited] };
}
