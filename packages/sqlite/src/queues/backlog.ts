import type { NewRun } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { newestKey } from "../runs/run-state.ts";
import { limitedIn } from "./place-state.ts";

const SOME = "select exists (select 1 from holdfast_limited where kind = 'runs')";
const NEWEST_KEY_AND_SOME = `
  select max(run_key), exists (select 1 from holdfast_limited where kind = 'runs') from holdfast_run_starts
  where namespace_key = ? and id = ?`;
const IN_LINE = "select count(*) from (select 1 from holdfast_lines where limited_id = ? limit ?)";
/** What is in line is counted there. */
const DUE = `
  select count(*) from (
    select 1 from holdfast_lanes l join holdfast_runs r on r.lane_id = l.lane_id
    where l.limited_id = ? and r.available_at <= ? and (r.waiting_for is null or r.waiting_for not like '["queue:%#05"]') limit ?)`;

/** Whether the starts of a call have to look at backlogs. It learns that from a statement that is made anyway. */
export class Backlogs {
  #some: boolean | undefined;

  /** `some`: whether any queue has limits, if that is known. */
  constructor(some: boolean | undefined) {
    this.#some = some;
  }

  /** The newest run of that id. */
  newestKey(call: Call, namespace: string, id: string): number | null {
    const namespaceKey = this.#some === undefined ? call.catalog.findNameKey(namespace) : undefined;
    if (namespaceKey === undefined) return newestKey(call, namespace, id);
    const [runKey, some] = call.sql.columns(NEWEST_KEY_AND_SOME, namespaceKey, id) as readonly [number | null, number];
    this.#some = some === 1;
    return runKey;
  }

  isFull(call: Call, run: NewRun): boolean {
    this.#some ??= call.sql.columns(SOME)?.[0] === 1;
    return this.#some && isFull(call, run);
  }
}

/** Whether as many runs wait in the queue as its backlog allows. Counts no further than that. */
function isFull(call: Call, { namespace, queue }: NewRun): boolean {
  const limited = limitedIn(call, namespace, queue, "runs");
  const backlog = limited?.limits.backlog;
  if (!limited || backlog === undefined) return false;
  const { sql, now } = call;
  const [inLine] = sql.columns(IN_LINE, limited.limitedId, backlog) as readonly [number];
  const [due] = sql.columns(DUE, limited.limitedId, now, backlog) as readonly [number];
  return inLine + due >= backlog;
}
