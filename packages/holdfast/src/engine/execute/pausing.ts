/**
 * A run that a person wants to pause, while a worker holds it. Whether it is pausing is part of the machine: it follows from
 * history, so a worker that takes the run over goes on with it.
 *
 * Invariants
 *  O3. From `pause_requested` on, no attempt begins, no timer fires, and nothing is asked of other runs. What runs here is recorded
 *      when it ends; messages and edits of a fork are delivered as ever. Then the run is parked, unless messages are unread.
 *  O4. A run that ends while it is pausing has ended. One that continues as new hands the request on.
 */
import { pausedError } from "../../calls/paused-error.ts";
import type { EventDraft, EventMeta } from "../../model/event.ts";
import { messageFrom, resumeNote, whoOf } from "../../model/operator-notes.ts";
import type { CarriedMessage, Transition } from "../../ports/store.ts";
import type { Machine } from "../../replay/machine.ts";

/** The run is parked: nothing of it runs here any more. */
export function pauseTransition(pausing: EventMeta): Transition {
  return { type: "park", error: pausedError(whoOf(pausing)), paused: true, unlessBehind: true };
}

/** Records what a person wants, unless it is so already, and what others have noted about the run. */
export function takeOrder(machine: Machine, draft: EventDraft, now: number): void {
  const changes = draft.type === "pause_requested" ? !machine.pausing : machine.pausing;
  const wanted = draft.type === "run_noted" || changes;
  if (wanted) machine.noteRun({ type: draft.type, op: null, ...(draft.meta ? { meta: draft.meta } : {}) }, now);
}

/** A run that is pausing goes on if it is canceled: it must be wound up. */
export function endPause(machine: Machine, cancel: EventDraft, now: number): void {
  if (machine.pausing) machine.noteRun(resumeNote(cancel.meta ?? {}), now);
}

/** What a run that is pausing hands on to its successor. */
export function handedOn({ pausing, run }: Machine): readonly CarriedMessage[] {
  if (!pausing) return [];
  // No caller can make such an id.
  return [{ kind: "pause", messageId: `\tpause\t${run.runId}`, ...messageFrom(whoOf(pausing)) }];
}
