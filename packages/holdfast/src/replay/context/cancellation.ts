import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { RunCanceledError, RunTimedOutError } from "../../errors/run-errors.ts";
import { readProperty } from "../../errors/safe-read.ts";
import type { EventDraft } from "../../model/event.ts";
import type { Run } from "../../model/run.ts";
import type { MachineInside } from "../machine-inside.ts";
import { type Op, rejectOp } from "../op.ts";
import type { Scope } from "./scope.ts";

const DEPTH_MAX = 5;

export type Withdrawing = Pick<MachineInside, "root" | "ops" | "compensations" | "release">;

/** Cancels a part of the run, or all of it. */
export function cancelScope(machine: MachineInside, scope: Scope, error: Error): void {
  scope.cancel(error);
  machine.signals.giveBack(scope);
  for (const op of machine.ops.pending()) if (op.scope.isReachedFrom(scope)) withdraw(machine, op, error);
}

/** The code stops waiting for the op; the driver aborts an attempt in flight, and its outcome is dropped. */
export function withdraw(machine: MachineInside, op: Op, error: unknown): void {
  letGo(machine, op);
  rejectOp(op, error);
}

function letGo(machine: Withdrawing, op: Op): void {
  if (machine.compensations.mustLearn(op)) return machine.ops.close(op);
  machine.release(op);
  machine.ops.withdraw(op);
}

/** The code has ended, and the run attempt that waits for what is in progress will be canceled. */
export function withdrawSilently(machine: Withdrawing): void {
  for (const op of machine.ops.pending()) if (op.scope.isReachedFrom(machine.root)) letGo(machine, op);
}

/** Why the code of a failed or canceled run may ask for nothing more. */
export function givenUp({ root }: MachineInside): Error {
  return root.canceled ?? new HoldfastError("op_canceled", "Canceled: the run has failed.");
}

/**
 * What a run ends with whose code threw. If it ends as canceled or timed out, that is the cancellation, with its code and
 * reason, and `cause` is whatever else the code threw.
 */
export function endError({ root, run }: MachineInside, thrown: unknown): unknown {
  const { canceled } = root;
  const timedOut = isHoldfastError(canceled, "run_timed_out");
  if (!isHoldfastError(canceled) || thrown === canceled || !(timedOut || isCancellation(thrown))) return thrown;
  const { id, runId, workflow } = run;
  const reason = canceled.data["reason"] as string | undefined;
  const about = { id, runId, workflow, reason, cause: thrown };
  const error = timedOut ? new RunTimedOutError(about) : new RunCanceledError(about);
  root.cancel(error);
  return error;
}

/** The cancellation of a run, or an error that was thrown because of it. */
export function isCancellation(error: unknown): boolean {
  for (let current = error, depth = 0; current && depth < DEPTH_MAX; current = readProperty(current, "cause"), depth++)
    if (isHoldfastError(current, "run_canceled")) return true;
  return false;
}

/** The error that the code of a run receives when it is canceled or has passed its deadline. */
export function cancellationError(run: Run, event: EventDraft): HoldfastError {
  const { id, runId, workflow } = run;
  const about = { id, runId, workflow, reason: event.meta?.reason };
  return event.type === "deadline_reached" ? new RunTimedOutError(about) : new RunCanceledError(about);
}
