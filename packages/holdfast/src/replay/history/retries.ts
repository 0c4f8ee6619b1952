/** A run that is tried again as a whole: what it is to forget, and what that means for the ops of its next try. */
import { type HistoryEvent, isFailure } from "../../model/event.ts";
import type { MachineInside } from "../machine-inside.ts";
import type { Op } from "../op.ts";
import type { OpTable } from "../op-table.ts";

/** The ops that failed get their attempts back. */
export function applyRetry(ops: OpTable, event: HistoryEvent): void {
  // After its end a run has no tasks; a person has reopened it.
  if (event.meta?.attempt === undefined) for (const { task } of ops.pending()) task?.lose();
  for (const id of event.meta?.forgets ?? []) {
    const op = ops.get(id);
    op?.task?.lose();
    if (!op?.step) continue;
    op.step.forgetAttempts(event.meta?.retryAt);
    op.gate = event.seq;
  }
}

/** A failure is taken back. Of a step that has never begun so is its start. */
export function forgetFailure(ops: OpTable, { op: id, meta }: HistoryEvent): true {
  const step = ops.get(id)?.step;
  if (meta?.neverBegan) step?.forgetStart();
  return true;
}

/**
 * What was under way when the run was to be tried again has come to an end. A step that has failed is to be tried again as well:
 * otherwise its failure would end the next try.
 */
export function endForRetry(
  machine: Pick<MachineInside, "outcome" | "conclude" | "failures">,
  op: Op,
  event: HistoryEvent,
): true {
  const { outcome } = machine;
  const retried = outcome?.type === "retried" && isFailure(event);
  if (retried && machine.failures.isTakenBack(op, event))
    machine.conclude({ ...outcome, forgets: [...outcome.forgets, op.id] });
  return true;
}
