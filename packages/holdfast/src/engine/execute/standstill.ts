/**
 * A run whose code is inside of a lock that the run does not hold, because it was retried or forked, stands still until the lock is
 * regained: no event reaches the code, so nothing of it goes on, neither what it computes, nor a handler, nor its end. What
 * the lock is needed for first comes all the same: grants, and the deadline. A run that is being wound up or paused does not wait.
 */
import { eventRole } from "../../model/event.ts";
import type { Machine } from "../../replay/machine.ts";
import type { QueuedDraft } from "./message-draft.ts";

type Standing = Pick<Machine, "regaining" | "pausing" | "outcome" | "cancelCause">;

export function standsStill(machine: Standing): boolean {
  return machine.regaining && !machine.pausing && !machine.outcome && machine.cancelCause === undefined;
}

export interface Parted {
  /** What is delivered now. */
  readonly passing: QueuedDraft[];
  /** What waits, in order. */
  readonly withheld: readonly QueuedDraft[];
}

/** No request was made by that event. */
const SPENT = -1;

/**
 * What of the queue is delivered to a run that stands still. Messages are consumed in order: behind one that waits they all do, but
 * the news of a grant passes, and the message itself is spent. A cancel and a pause are for the run whatever it waits for, and what
 * came before them comes before them.
 */
export function partDrafts(drafts: QueuedDraft[]): Parted {
  if (drafts.some(({ type }) => type === "cancel_requested" || type === "pause_requested"))
    return { passing: drafts, withheld: [] };
  const passing: QueuedDraft[] = [];
  const withheld: QueuedDraft[] = [];
  for (const draft of drafts) {
    const { number, ...news } = draft;
    if (!mayPass(draft)) withheld.push(draft);
    else if (number === undefined || withheld.length === 0) passing.push(draft);
    else if (draft.lockSeq === SPENT) withheld.push(draft);
    else {
      passing.push(news);
      withheld.push({ ...draft, lockSeq: SPENT });
    }
  }
  return { passing, withheld };
}

function mayPass({ type, lockSeq, number }: QueuedDraft): boolean {
  if (lockSeq !== undefined || type === "deadline_reached") return true;
  return number === undefined && eventRole(type) === "note";
}
