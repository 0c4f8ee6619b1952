import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { Run } from "../../model/run.ts";

/** How many times in one turn a canceled run receives the cancellation. */
const REFUSALS_PER_TURN_MAX = 1_000;

/** Counts refused requests. Code that keeps asking would never end its turn. */
export class Refusals {
  #count = 0;

  newTurn(): void {
    this.#count = 0;
  }

  /** Whether the code may be refused once more. */
  another(): boolean {
    this.#count += 1;
    return this.#count <= REFUSALS_PER_TURN_MAX;
  }
}

export function cancelIgnoredError(run: Run, cause: Error): HoldfastError {
  const message = `Workflow "${run.workflow}" keeps asking for ops after it was canceled. Rethrow the cancellation, or clean up in ctx.uncancelable.`;
  return new HoldfastError("cancel_ignored", message, { cause });
}
