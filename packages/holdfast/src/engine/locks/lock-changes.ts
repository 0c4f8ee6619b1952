import type { HistoryEvent } from "../../model/event.ts";
import { LOCK_PREFIX } from "../../model/ids.ts";
import type { NewLock } from "../../model/lock.ts";
import { appended, NONE } from "../../model/short-list.ts";
import type { RunCommit } from "../../ports/store.ts";

/** What a commit does about locks. */
export type LockChanges = Required<Pick<RunCommit, "locks" | "unlocks">>;

export const NO_CHANGES: LockChanges = { locks: NONE, unlocks: NONE };

/**
 * Which requests a commit with these events makes and gives back (W1). One that is made and given back in the same commit never
 * exists. `strays`: what else is to be given back.
 */
export function lockChanges(events: readonly HistoryEvent[], strays: readonly number[], ends: boolean): LockChanges {
  // With the end of the run all of them go.
  if (ends) return NO_CHANGES;
  let locks: readonly NewLock[] = NONE;
  let unlocks = strays;
  const firstSeq = events[0]?.seq ?? 0;
  for (const { type, op, seq, meta } of events) {
    if (isRequest(type) && meta?.limit !== undefined)
      locks = appended(locks, { seq, op: op as string, name: lockName(op as string), limit: meta.limit });
    if (type !== "lock_released" || meta?.request === undefined) continue;
    const { request } = meta;
    if (request < firstSeq) unlocks = appended(unlocks, request);
    else locks = locks.filter((lock) => lock.seq !== request);
  }
  return { locks, unlocks };
}

function isRequest(type: HistoryEvent["type"]): boolean {
  return type === "lock_requested" || type === "op_rescheduled";
}

function lockName(op: string): string {
  return op.slice(LOCK_PREFIX.length).replace(/#\d+$/, "");
}
