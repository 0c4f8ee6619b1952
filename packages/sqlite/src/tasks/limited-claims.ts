/** Claims of tasks in queues with limits: what is due goes into line, and the heads of the lines get places. */
import { NO_KEY, sortedAtEachEnd } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import type { TaskLane } from "../database/catalog.ts";
import { admitFrom, placesOf } from "../queues/admission.ts";
import { limitedById, lineUp, makeReady, type PlacedKey } from "../queues/place-state.ts";
import { endsOf } from "../runs/limited-claims.ts";
import { IN_LINE } from "./task-state.ts";

/** A task that names no key has that of its run. */
const DUE = `
  select t.run_id as runId, r.run_key as runKey, t.seq, t.available_at as at, coalesce(t.key, k.key) as key from holdfast_tasks t
  join holdfast_runs r on r.run_id = t.run_id left join holdfast_run_keys k on k.run_key = r.run_key
  where t.lane_id = ? and t.suspect = 0 and t.available_at <= ?`;
const OLDEST = `${DUE} order by t.available_at limit ?`;
const NEWEST = `${DUE} order by t.available_at desc limit ?`;
const WAIT = `update holdfast_tasks set available_at = null, place = ${IN_LINE} where run_id = ? and seq = ?`;
const STILL_WAITS = `
  select 1 from holdfast_tasks where run_id = ? and seq = ? and held_by is null and available_at is null and place = ${IN_LINE}`;

interface Due extends PlacedKey {
  readonly runKey: number;
  readonly at: number;
  readonly key: string | null;
}

/** `lanes`: those of the queue that the claim serves. */
export function takeLimited(call: Call, limitedId: number, lanes: readonly TaskLane[], limit: number) {
  const { sql, now } = call;
  const limited = limitedById(call, limitedId);
  const count = sortedAtEachEnd(limited.limits, placesOf(limited), now);
  const keys = new Set<string>();
  let left = false;
  for (const { laneId } of lanes) {
    const { due, more } = endsOf(count, (newest, most) => sql.all<Due>(newest ? NEWEST : OLDEST, laneId, now, most));
    left ||= more;
    for (const task of due) {
      lineUp(call, limitedId, { ...task, laneId });
      keys.add(task.key ?? NO_KEY);
      sql.execute(WAIT, task.runId, task.seq);
    }
  }
  for (const key of keys) makeReady(sql, limitedId, key);
  const waits = ({ runId, seq }: PlacedKey): boolean => sql.columns(STILL_WAITS, runId, seq) !== undefined;
  const { admitted, nextAt, sortsOn } = admitFrom(call, limited, limit, { lanes, waits }, left);
  return { taken: admitted, moreDue: sortsOn, nextAt };
}
