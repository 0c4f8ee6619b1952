import type { ErrorRecord } from "../error-record.ts";
import type { MessageKind } from "../message.ts";

/** A run as far as a message is concerned. */
export interface MessageReceiver {
  readonly closed: boolean;
  readonly parked: boolean;
  /** It is not the run that the message was written for, or something has happened to that one since. */
  readonly moved: boolean;
  readonly delivered: number;
  readonly consumed: number;
}

/**
 * What happens to a message for a run that exists. The order matters: a duplicate is one, whatever has happened to the run.
 */
export function judgeDelivery(
  run: MessageReceiver,
  kind: MessageKind,
  isKnown: () => boolean,
  inboxMax: number,
): "duplicate" | "closed" | "parked" | "moved" | "full" | "delivered" {
  if (isKnown()) return "duplicate";
  if (run.closed) return "closed";
  // Nobody would read it: whoever pauses or resumes a parked run changes its row.
  if (run.parked && (kind === "pause" || kind === "resume" || kind === "note")) return "parked";
  // Its sender may have been answered long ago, and others have changed the run since.
  if (run.moved) return "moved";
  // A run that is too busy to read can still be canceled, and get what it has asked for.
  if ((kind === "signal" || kind === "update") && run.delivered - run.consumed >= inboxMax) return "full";
  return "delivered";
}

/** See `MessageReceiver.moved`. Messages that name no epoch are for whatever the run has become. */
export function isMoved(
  run: { readonly runId: string; readonly epoch: number },
  { to, epoch }: { readonly to?: object; readonly epoch?: number },
): boolean {
  if (epoch === undefined || to === undefined) return false;
  return run.epoch !== epoch || !("runId" in to) || to.runId !== run.runId;
}

/**
 * Whether a message makes a run due that is not held. Signals and updates do not start a run before its time; a cancel does
 * not wait for it.
 */
export function wakes(
  run: { readonly parked: boolean; readonly startedAt: number | null },
  kind: MessageKind,
): boolean {
  return !run.parked && (run.startedAt !== null || kind === "cancel");
}

/** Whether a message takes its run for the worker that sends it: as that worker has suspended it, and free for any claim. */
export function mayTake(
  run: {
    readonly runId: string;
    readonly epoch: number;
    readonly held: boolean;
    readonly parked: boolean;
    readonly suspect: boolean;
    /** It waits for a place in its queue. */
    readonly inLine: boolean;
  },
  hold: { readonly runId: string; readonly epoch: number } | undefined,
): boolean {
  const free = !run.held && !run.parked && !run.suspect && !run.inLine;
  return hold !== undefined && free && run.epoch === hold.epoch && run.runId === hold.runId;
}

/** When the run is then due: now, unless it has been due for longer. */
export function wakeTime(availableAt: number | null, now: number): number {
  return Math.min(availableAt ?? now, now);
}

/**
 * Whether a message of a closed run has had no effect, and never will: the run has left it unread, or refused it because it was
 * ending. `error`: the answer, of an update that was refused.
 */
export function wasInVain(
  { number, consumed }: { readonly number: number; readonly consumed: number },
  error: Pick<ErrorRecord, "code"> | null | undefined,
): boolean {
  return number > consumed || error?.code === "run_closed";
}

/** Where an update stands, in the inbox of the run that got it last. */
export type UpdateStage = "unread" | "accepted" | "answered";

/** A holder decides about an update in the commit that consumes it: one that is consumed without an answer was accepted. */
export function updateStage(number: number, consumed: number, answered: boolean): UpdateStage {
  if (answered) return "answered";
  return number <= consumed ? "accepted" : "unread";
}
