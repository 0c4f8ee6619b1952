import type { NewRun } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { newestKey } from "../runs/run-state.ts";
import { limitedIn } from "./place-state.ts";

/** Parameters: namespace and queue. */
export const LIMITED = "exists (select 1 from holdfast_limited where namespace = ? and queue = ? and kind = 'runs')";
const IS_LIMITED = `select ${LIMITED}`;
const NEWEST_KEY_AND_LIMITED = `
  select max(run_key), ${LIMITED} from holdfast_run_starts where namespace_key = ? and id = ?`;
const IN_LINE = "select count(*) from (select 1 from holdfast_lines where limited_id = ? limit ?)";
/** What is in line is counted there. */
const DUE = `
  select count(*) from (
    select 1 from holdfast_lanes l join holdfast_runs r on r.lane_id = l.lane_id
    where l.limited_id = ? and r.available_at <= ? and (r.waiting_for is null or r.waiting_for not like '["queue:%#05"]') limit ?)`;

/** Which queues have limits, for the starts of a call. It learns that from a statement that is made anyway. */
export class Backlogs {
  /** False: none has. */
  readonly #some: boolean;
  readonly #limited = new Map<string, boolean>();
  /** What is known of the queue that was looked up last: mostly all are in one. */
  #last: { readonly namespace: string; readonly queue: string; readonly limited: boolean } | undefined;

  /** `some`: whether any queue has limits, if that is known. */
  constructor(some = true) {
    this.#some = some;
  }

  /** The newest run of that id. */
  newestKey(call: Call, { namespace, queue, id }: Pick<NewRun, "namespace" | "queue" | "id">): number | null {
    const isKnown = !this.#some || this.#known(namespace, queue) !== undefined;
    const namespaceKey = isKnown ? undefined : call.catalog.findNameKey(namespace);
    if (namespaceKey === undefined) return newestKey(call, namespace, id);
    const row = call.sql.columns(NEWEST_KEY_AND_LIMITED, namespace, queue, namespaceKey, id);
    const [runKey, limited] = row as readonly [number | null, number];
    this.note({ namespace, queue }, limited === 1);
    return runKey;
  }

  /** Whether the queue of the run has limits. */
  isLimited({ sql }: Call, { namespace, queue }: NewRun): boolean {
    if (!this.#some) return false;
    const known = this.#known(namespace, queue);
    if (known !== undefined) return known;
    const limited = sql.columns(IS_LIMITED, namespace, queue)?.[0] === 1;
    this.note({ namespace, queue }, limited);
    return limited;
  }

  isFull(call: Call, run: NewRun): boolean {
    return this.isLimited(call, run) && isFull(call, run);
  }

  #known(namespace: string, queue: string): boolean | undefined {
    const last = this.#last;
    if (last?.queue === queue && last.namespace === namespace) return last.limited;
    return this.#limited.get(`${namespace}\n${queue}`);
  }

  note({ namespace, queue }: Pick<NewRun, "namespace" | "queue">, limited: boolean): void {
    this.#last = { namespace, queue, limited };
    this.#limited.set(`${namespace}\n${queue}`, limited);
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
