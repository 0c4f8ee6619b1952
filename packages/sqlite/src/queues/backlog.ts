import type { NewRun } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { limitedIn } from "./place-state.ts";

const SOME = "select 1 from holdfast_limited where kind = 'runs' limit 1";
const IN_LINE = "select count(*) from (select 1 from holdfast_lines where limited_id = ? limit ?)";
/** What is in line is counted there. */
const DUE = `
  select count(*) from (
    select 1 from holdfast_lanes l join holdfast_runs r on r.lane_id = l.lane_id
    where l.limited_id = ? and r.available_at <= ? and (r.waiting_for is null or r.waiting_for not like '["queue:%#05"]') limit ?)`;

export function hasBacklogs({ sql }: Call): boolean {
  return sql.columns(SOME) !== undefined;
}

/** Whether as many runs wait in the queue as its backlog allows. Counts no further than that. */
export function isFull(call: Call, { namespace, queue }: NewRun): boolean {
  const limited = limitedIn(call, namespace, queue, "runs");
  const backlog = limited?.limits.backlog;
  if (!limited || backlog === undefined) return false;
  const { sql, now } = call;
  const [inLine] = sql.columns(IN_LINE, limited.limitedId, backlog) as readonly [number];
  const [due] = sql.columns(DUE, limited.limitedId, now, backlog) as readonly [number];
  return inLine + due >= backlog;
}
