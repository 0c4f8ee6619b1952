import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import type { Run } from "../../model/run.ts";
import { NONE } from "../../model/short-list.ts";
import { endError } from "../context/cancellation.ts";
import type { Context } from "../context/context.ts";
import type { Cursor } from "../history/cursor.ts";
import type { MachineParams, Outcome } from "../machine.ts";
import type { MachineInside } from "../machine-inside.ts";
import type { RunCode } from "../run-code.ts";
import { forgottenError, forgottenOps } from "./forgotten-ops.ts";
import { isUnreadable } from "./unreadable.ts";
import { workflowBug } from "./workflow-bug.ts";

/** The parts of the run machine that concern the function. */
interface Called extends MachineInside {
  readonly params: MachineParams;
  readonly code: RunCode;
  readonly context: Context;
}

/**
 * Calls the workflow function, and decides what its end means for the run. Not an async function: what belongs to its call would be
 * in memory as long as the run.
 */
export function callWorkflow(machine: Called, cursor: Cursor, input: unknown): void {
  const failed = (error: unknown): void => void decideFailure(machine, cursor, error);
  let returned: unknown;
  try {
    returned = machine.code.body(machine.context, input);
  } catch (error) {
    return failed(error);
  }
  Promise.resolve(returned).then((value) => {
    try {
      const output = machine.codec.encode(value, `output of workflow "${machine.run.workflow}"`);
      finish(machine, { type: "completed", value, output });
    } catch (error) {
      failed(error);
    }
  }, failed);
}

async function decideFailure(machine: Called, cursor: Cursor, error: unknown): Promise<void> {
  const { code, run } = machine;
  if (machine.outcome || isUnreadable(machine.violation)) return;
  if (!machine.inTurn) return settledOutside(machine, error);
  const bug = code.onBug === "fail" || hasBegunToUndo(machine, cursor) ? undefined : workflowBug(run, error);
  if (bug) return machine.violate(bug);
  const { failures } = machine;
  const retried = failures.explain(error) && !machine.root.canceled && !cursor.compensates();
  if (retried && code.retryRun?.(error, machine.retries + 1)) {
    // Steps in progress are not released: their results belong to the next run attempt.
    machine.conclude({ type: "retried", error, forgets: failures.forgets(error, machine.askedSeq) });
    return;
  }
  const compensation = await machine.compensations.run();
  const retry = failures.retryByHand(error, machine.askedSeq);
  finish(machine, { type: "failed", error: endError(machine, error), compensation, retry });
}

/** The function has ended, or its end is decided; everything it had asked for is dropped. Only the first end counts. */
export function finish(machine: Called, outcome: Outcome): void {
  if (machine.outcome || isUnreadable(machine.violation)) return;
  if (!machine.inTurn) return settledOutside(machine, undefined);
  const pending = machine.ops.pending();
  const forgotten = outcome.type === "completed" ? forgottenOps(pending) : NONE;
  if (forgotten.length > 0 && machine.params.failForgotten)
    machine.conclude({ type: "failed", error: forgottenError(machine.run, forgotten), compensation: null }, forgotten);
  else machine.conclude(outcome, forgotten);
  for (const op of pending) {
    machine.release(op);
    machine.ops.withdraw(op);
  }
}

/** The run is already being wound up; stopping in the middle would leave it half undone. */
function hasBegunToUndo({ run }: Called, cursor: Cursor): boolean {
  return run.status === "compensating" || cursor.compensates();
}

function settledOutside(machine: Called, error: unknown): void {
  if (machine.divergence || machine.violation) return;
  if (isHoldfastError(error, "outside_turn")) return machine.violate(error);
  machine.violate(foreignAwaitError(machine.run, error));
}

export function foreignAwaitError(run: Run, cause: unknown): HoldfastError {
  const message = `The function of workflow "${run.workflow}" waited for something that is not a ctx operation. Put that work into ctx.step.`;
  return new HoldfastError("foreign_await", message, { cause });
}
