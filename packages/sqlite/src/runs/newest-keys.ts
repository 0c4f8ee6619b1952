import type { StartRun } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { LIMITED } from "../queues/backlog.ts";

/** Of the ids that have a run, and a last row that says whether a queue has limits. */
const NEWEST_KEYS = `
  select j.value, (select max(run_key) from holdfast_run_starts where namespace_key = ? and id = j.value) as newest
  from json_each(?) j where newest is not null
  union all select null, ${LIMITED}`;
/** Others may be written into the list in another way than as a parameter. */
const PLAIN = /^[\x20-\x7e]*$/;

export interface NewestKeys {
  /** By id. */
  readonly keys: ReadonlyMap<string, number>;
  /** Whether the queue of the first start has limits. */
  readonly limited: boolean;
}

/**
 * The newest runs of these ids: one statement for all starts of a call, nearly all of which find nothing. Undefined if they
 * must be looked for one by one: they are of several namespaces, some are of one id, or an id is odd.
 */
export function newestKeys(call: Call, starts: readonly StartRun[]): NewestKeys | undefined {
  const first = starts[0]?.run;
  if (first === undefined || starts.length === 1) return undefined;
  const { namespace, queue } = first;
  const ids = new Set<string>();
  for (const { run } of starts) {
    if (run.namespace !== namespace || !PLAIN.test(run.id)) return undefined;
    ids.add(run.id);
  }
  if (ids.size < starts.length) return undefined;
  // The key of no name, while the namespace has none.
  const namespaceKey = call.catalog.findNameKey(namespace) ?? 0;
  const rows = call.sql.allColumns(NEWEST_KEYS, namespaceKey, JSON.stringify([...ids]), namespace, queue);
  const limited = rows.pop()?.[1] === 1;
  return { keys: rows.length === 0 ? NONE : new Map(rows as [string, number][]), limited };
}

const NONE: ReadonlyMap<string, number> = new Map();
