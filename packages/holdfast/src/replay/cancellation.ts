import { HoldfastError } from "../errors/holdfast-error.ts";
import type { EventDraft } from "../model/event.ts";
import { appended } from "../model/short-list.ts";
import { cancellationError } from "./machine-errors.ts";
import { type Op, rejectOp } from "./op.ts";
import type { RunMachine } from "./run-machine.ts";
import type { Scope } from "./scope.ts";

/** The whole run is canceled, or has reached its deadline. Only the first of such events counts. */
export function cancelRun(machine: RunMachine, event: EventDraft): void {
  if (machine.root.canceled) return;
  machine.cancelCause = event.type === "deadline_reached" ? "deadline" : "cancel";
  const error = cancellationError(machine.run, event);
  cancelScope(machine, machine.root, error);
  machine.abort.abort(error);
}

export function cancelScope(machine: RunMachine, scope: Scope, error: Error): void {
  scope.canceled = error;
  machine.signals.giveBack(scope);
  for (const op of machine.ops.pending()) if (op.scope.isReachedFrom(scope)) withdraw(machine, op, error);
}

/** The code stops waiting for the op; an attempt in flight is aborted by the driver and its outcome dropped. */
export function withdraw(machine: RunMachine, op: Op, error: unknown): void {
  if (op.step && machine.compensations.mustLearn(op)) {
    op.step.closing = true;
    machine.closing = appended(machine.closing, op);
  } else {
    machine.release(op);
    machine.withdrawn = appended(machine.withdrawn, op);
  }
  rejectOp(op, error);
}

/** Why the code of a run that has failed or was canceled may do no more. */
export function givenUp({ root }: RunMachine): Error {
  return root.canceled ?? new HoldfastError("op_canceled", "Canceled: the run has failed.");
}
