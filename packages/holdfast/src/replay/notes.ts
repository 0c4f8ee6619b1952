import type { HistoryEvent } from "../model/event.ts";
import type { Cursor } from "./cursor.ts";
import type { Op } from "./op.ts";
import type { OpTable } from "./op-table.ts";

/** Takes down what the engine has written about an op; says what is wrong when the code did not ask for it. */
export function applyNote(ops: OpTable, event: HistoryEvent): string | undefined {
  if (event.type === "run_retried") return applyRetry(ops, event);
  const op = ops.get(event.op);
  if (!op || (op.kind !== "step" && op.kind !== "retired")) {
    return `${event.type} of "${event.op}" was recorded, but the code did not ask for that step.`;
  }
  if (!op.step) return undefined;
  const attempt = event.meta?.attempt ?? 1;
  if (event.type === "step_started") op.step.noteStarted(attempt);
  else op.step.noteFailed(attempt, event.meta?.retryAt);
  // A later attempt may start only when this is durable: attempt counts survive crashes.
  op.gate = event.seq;
  return undefined;
}

/** The ops that failed get their attempts back. */
function applyRetry(ops: OpTable, event: HistoryEvent): undefined {
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

/** What may happen only once and has begun in an earlier try of the run counts as cut off: nobody waits for that try any more. */
export function noteBegun({ id, step }: Op, cursor: Cursor): void {
  if (step?.options.onCrash === "fail" && cursor.hasBegun(id)) step.countAsCutOff();
}
