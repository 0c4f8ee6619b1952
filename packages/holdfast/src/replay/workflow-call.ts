import { isHoldfastError } from "../errors/holdfast-error.ts";
import { appended } from "../model/short-list.ts";
import type { Cursor } from "./cursor.ts";
import { failedOps } from "./failed-ops.ts";
import { forgottenError, forgottenOps } from "./forgotten-ops.ts";
import { foreignAwaitError } from "./machine-errors.ts";
import type { Outcome } from "./machine-params.ts";
import type { RunMachine } from "./run-machine.ts";
import { workflowBug } from "./workflow-bug.ts";

/** Calls the workflow function, and decides what its end means for the run. */
export async function callWorkflow(machine: RunMachine, cursor: Cursor, input: unknown): Promise<void> {
  const { params, run } = machine;
  try {
    const value = await params.body(machine.context, input);
    const output = machine.codec.encode(value, `output of workflow "${run.workflow}"`);
    finish(machine, { type: "completed", value, output });
  } catch (error) {
    if (machine.outcome) return;
    if (!machine.inTurn) return settledOutside(machine, error);
    const bug = params.onBug === "fail" || hasBegunToUndo(machine, cursor) ? undefined : workflowBug(run, error);
    if (bug) return machine.violate(bug);
    const forgets = failedOps(error);
    const retried = forgets.length > 0 && !machine.root.canceled && !cursor.compensates();
    if (retried && params.retryRun?.(error, machine.retries + 1)) {
      // Steps under way are not released: what becomes of them is for the next try.
      machine.outcome = { type: "retried", error, forgets };
      return;
    }
    const compensation = await machine.compensations.run();
    finish(machine, { type: "failed", error, compensation });
  }
}

/** The function has ended, or has decided how it ends; whatever it had asked for is dropped. Only the first end counts. */
export function finish(machine: RunMachine, outcome: Outcome): void {
  if (machine.outcome) return;
  if (!machine.inTurn) return settledOutside(machine, undefined);
  const pending = machine.ops.pending();
  machine.outcome = outcome;
  if (outcome.type === "completed") machine.forgotten = forgottenOps(pending);
  if (machine.forgotten.length > 0 && machine.params.failForgotten)
    machine.outcome = { type: "failed", error: forgottenError(machine.run, machine.forgotten), compensation: null };
  for (const op of pending) {
    machine.release(op);
    machine.withdrawn = appended(machine.withdrawn, op);
  }
}

/** It was given up once; to stop in the middle of that would leave it half undone. */
function hasBegunToUndo({ run }: RunMachine, cursor: Cursor): boolean {
  return run.status === "compensating" || cursor.compensates();
}

function settledOutside(machine: RunMachine, error: unknown): void {
  if (machine.divergence || machine.violation) return;
  if (isHoldfastError(error, "outside_turn")) return machine.violate(error);
  machine.violate(foreignAwaitError(machine.run, error));
}
