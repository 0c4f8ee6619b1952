/** A run that is tried again as a whole: what it is to forget, and what that means for the ops of its next try. */
import { type HistoryEvent, isFailure } from "../../model/event.ts";
import { type Withdrawing, withdrawSilently } from "../context/cancellation.ts";
import type { MachineInside } from "../machine-inside.ts";
import type { Op } from "../op.ts";
import type { OpTable } from "../op-table.ts";

export type WithLocks = Pick<MachineInside, "ops" | "locks">;
export type BeforeRetry = Withdrawing & Pick<MachineInside, "outcome" | "conclude" | "failures" | "locks">;

/** The ops that failed get their attempts back. */
export function applyRetry({ ops, locks }: WithLocks, event: HistoryEvent): void {
  // After its end a run has no tasks, no children and no locks; a person has reopened it.
  if (event.meta?.attempt === undefined) {
    locks.loseThoseBefore(event.seq);
    for (const { task, child } of ops.pending()) {
      task?.lose();
      child?.lose();
    }
  }
  for (const id of event.meta?.forgets ?? []) {
    const op = ops.get(id);
    op?.task?.lose(event.meta?.retryAt);
    if (op?.child) op.child.retryAt = event.meta?.retryAt;
    if (op?.message) {
      op.message.retryAt = event.meta?.retryAt;
      op.gate = event.seq;
    }
    if (!op?.step) continue;
    op.step.forgetAttempts(event.meta?.retryAt);
    op.gate = event.seq;
  }
}

/** A failure is taken back. Of a step that has never begun so is its start. */
export function forgetFailure(ops: OpTable, { op: id, meta }: HistoryEvent): true {
  const op = ops.get(id);
  if (meta?.neverBegan) op?.step?.forgetStart();
  op?.child?.forgetFailure(meta?.end);
  return true;
}

/**
 * Something has happened to a run that is to be tried again.
 *  - What was under way has come to an end. A step that has failed is to be tried again as well: otherwise its failure would end
 *    the next try.
 *  - The run is canceled. The next try begins at once, to be wound up, and waits for nothing that is under way. Failures stay from
 *    here on: they are how steps that are wound up have ended.
 */
export function happenBeforeRetry(machine: BeforeRetry, op: Op | undefined, event: HistoryEvent): true {
  const { outcome } = machine;
  if (outcome?.type !== "retried" || outcome.canceled) return true;
  if (event.type === "cancel_requested") {
    machine.conclude({ ...outcome, canceled: true });
    withdrawSilently(machine);
  } else if (op && isFailure(event) && machine.failures.isTakenBack(op, event))
    machine.conclude({ ...outcome, forgets: [...outcome.forgets, op.id] });
  return true;
}
