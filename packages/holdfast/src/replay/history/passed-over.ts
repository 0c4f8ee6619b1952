import { eventCategory, eventRole, type HistoryEvent, isLenient, isMessage } from "../../model/event.ts";
import { isClosing } from "../op.ts";
import type { Cursor } from "./cursor.ts";
import { type BeforeRetry, forgetFailure, happenBeforeRetry } from "./retries.ts";

/** Passes over a recorded event that this code need not account for; false when it must. Notes what the event leaves behind. */
export function passOver(event: HistoryEvent, machine: BeforeRetry, cursor: Cursor): boolean {
  const { ops, outcome } = machine;
  // Nothing of it has reached the code.
  if (event.type === "update_rejected") return true;
  if (cursor.isForgotten(event)) return forgetFailure(ops, event);
  if (cursor.isTaken(event)) return true;
  if (event.type === "op_canceled") return passCanceled(event, ops, cursor);
  // Messages, and steps that were under way when the run was to be tried again: their records are for the next try.
  const underWay = outcome?.type === "retried" ? ops.get(event.op) : undefined;
  if (underWay || (outcome?.type === "retried" && isMessage(event))) return happenBeforeRetry(machine, underWay, event);
  const looseSince = cursor.looseSince(event);
  if (isAboutLock(event) && machine.locks.take(event, looseSince !== undefined)) return true;
  // What was recorded for this try may also have ended it: the rest was recorded without it.
  if (outcome && looseSince !== undefined) return true;
  if (cursor.setAside(event)) return true;
  if (outcome) return isMessage(event) || isAboutRun(event) || ops.isRetired(event.op);
  if (eventRole(event.type) === "command")
    return isLenient(event.type) || looseSince !== undefined || ops.isRetired(event.op);
  if (looseSince === undefined || isMessage(event) || isAboutRun(event)) return false;
  return (ops.get(event.op)?.askedSeq ?? looseSince) >= looseSince;
}

/**
 * The code has stopped waiting for that task; if it has not, it must be told. Unless a failure was the reason that was taken
 * back: then the task is to be scheduled again.
 */
function passCanceled(event: HistoryEvent, ops: BeforeRetry["ops"], cursor: Cursor): boolean {
  const op = ops.get(event.op);
  if (!op) return true;
  // One that is being closed is given up only for the next try.
  if (cursor.looseSince(event) === undefined) return isClosing(op);
  op.task?.lose();
  op.child?.lose(event.meta?.withdrawn);
  return true;
}

function isAboutLock({ type, meta }: HistoryEvent): boolean {
  return eventCategory(type) === "lock" || (type === "op_rescheduled" && meta?.limit !== undefined);
}

/** The run was tried again, or forked. */
function isAboutRun({ type }: HistoryEvent): boolean {
  return type === "run_retried" || type === "run_forked";
}
