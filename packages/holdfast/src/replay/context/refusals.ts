import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { Run } from "../../model/run.ts";

/** So many times in one turn a canceled run is told that it is canceled. */
const REFUSALS_PER_TURN_MAX = 1_000;

/** Counts what is asked for in vain. Code that does not take no for an answer would never leave its turn. */
export class Refusals {
  #count = 0;

  newTurn(): void {
    this.#count = 0;
  }

  /** Whether the code may be told once more. */
  another(): boolean {
    this.#count += 1;
    return this.#count <= REFUSALS_PER_TURN_MAX;
  }
}

export function cancelIgnoredError(run: Run, cause: Error): HoldfastError {
  const message = `Workflow "${run.workflow}" goes on asking for ops after it was canceled. Let the cancellation pass, or clean up in ctx.uncancelable.`;
  return new HoldfastError("cancel_ignored", message, { cause });
}
