/** Open runs have no index by state: the wrong question reads all of them. */
import type { Client, ListFilter } from "holdfast";
import { OPEN_STATUSES } from "holdfast/adapter";
import type { Scope } from "./scope.ts";

/** With fewer open runs than this, walking through all of them is cheap enough to do it for a figure beside a word. */
export const OPEN_WALKED_MAX = 10_000;

/** Few runs are in these, and every store has an index of them. */
const INDEXED: ReadonlySet<string> = new Set(["parked", "compensating"]);
const OPEN: ReadonlySet<string> = new Set(OPEN_STATUSES);

/** Whether a count with this filter looks through open runs for those in a state that has no index, and there are too many of them. */
export async function walksTooFar(scope: Scope, filter: ListFilter): Promise<boolean> {
  const { status, retrying, waitingSince, id, parent, forkedFrom, attributes } = filter;
  if (id !== undefined || parent !== undefined || forkedFrom !== undefined || attributes !== undefined) return false;
  const statuses = typeof status === "string" ? [status] : status;
  const picks = retrying === true || waitingSince !== undefined || (statuses !== undefined && isPart(statuses));
  return picks && (await openRuns(scope)) === OPEN_WALKED_MAX;
}

/** A page asks for several counts at once, and again soon. */
const KEPT_MS = 5_000;
const counted = new WeakMap<Client, { readonly at: number; readonly count: Promise<number> }>();

/** How many runs are open, up to the limit. */
export async function openRuns({ view, store }: Scope): Promise<number> {
  const at = store.clock.now();
  const known = counted.get(view);
  if (known && at - known.at < KEPT_MS) return known.count;
  const count = view.count({ status: OPEN_STATUSES, atMost: OPEN_WALKED_MAX });
  counted.set(view, { at, count });
  count.catch(() => counted.delete(view));
  return count;
}

/** Some of the open states, but not all: then most of what is looked at may be in the others. */
function isPart(statuses: readonly string[]): boolean {
  const open = statuses.filter((one) => OPEN.has(one));
  if (open.length !== statuses.length || open.length === OPEN.size) return false;
  return open.some((one) => !INDEXED.has(one));
}
