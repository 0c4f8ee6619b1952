/** A run that is tried again as a whole: what it is to forget, and what that means for the ops of its next try. */
import { isHoldfastError } from "../../errors/holdfast-error.ts";
import { membersOf, readProperty } from "../../errors/safe-read.ts";
import type { HistoryEvent } from "../../model/event.ts";
import type { RetriedOutcome } from "../machine.ts";
import type { MachineInside } from "../machine-inside.ts";
import type { Op } from "../op.ts";
import type { OpTable } from "../op-table.ts";

const DEPTH_MAX = 5;

/**
 * The steps whose failure an error speaks of: its own, those of its causes, and those of its members. Not those that a crash
 * has cut off and that must not be repeated.
 */
export function failedOps(error: unknown, depth = 0): string[] {
  if (typeof error !== "object" || error === null || depth > DEPTH_MAX) return [];
  const op = isHoldfastError(error, "step_failed") ? readProperty(error, "op") : undefined;
  const own = typeof op === "string" && readProperty(error, "recordedCode") !== "step_crashed" ? [op] : [];
  const causes = failedOps(readProperty(error, "cause"), depth + 1);
  const members = membersOf(readProperty(error, "errors")).flatMap((member) => failedOps(member, depth + 1));
  return [...new Set([...own, ...causes, ...members])];
}

/** The ops that failed get their attempts back. */
export function applyRetry(ops: OpTable, event: HistoryEvent): void {
  for (const id of event.meta?.forgets ?? []) {
    const op = ops.get(id);
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

/** What was under way when the run was to be tried again has come to an end. */
export function endForRetry(machine: Pick<MachineInside, "outcome" | "conclude">, op: Op, event: HistoryEvent): true {
  const { outcome } = machine;
  if (outcome?.type === "retried") machine.conclude(alsoForgetting(outcome, op, event));
  return true;
}

/** A step that was aborted because of the failure for which the run is tried again is to be tried again as well. */
function alsoForgetting(outcome: RetriedOutcome, { id, step }: Op, { type, meta }: HistoryEvent): RetriedOutcome {
  if (type !== "step_failed" || !step?.closing || meta?.unknown) return outcome;
  return { ...outcome, forgets: [...outcome.forgets, id] };
}
