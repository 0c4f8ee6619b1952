import type { RunMachine } from "./run-machine.ts";

/**
 * `ctx.patched(id)`: false where history was written by code without the patch, true from the first call that runs for the
 * first time. The marker says from which call on, so that a loop half done under old code stays exact.
 */
export class Patches {
  readonly #machine: RunMachine;
  /** Steps whose outcomes were in the inbox when the run was claimed, and are still to be moved into history. */
  outcomesAhead: Set<string> | undefined;
  // Made when first needed: most runs have no patches.
  #calls: Map<string, number> | undefined;
  #trueFrom: Map<string, number> | undefined;

  constructor(machine: RunMachine) {
    this.#machine = machine;
  }

  isPatched(id: string): boolean {
    this.#calls ??= new Map();
    this.#trueFrom ??= new Map();
    const call = (this.#calls.get(id) ?? 0) + 1;
    this.#calls.set(id, call);
    if (this.#trueFrom.has(id)) return true;
    if (!this.#machine.replaying && this.#isInFrontOfOutcome()) return false;
    const marker = this.#machine.command({ type: "patched", op: id, ...(call === 1 ? {} : { meta: { from: call } }) });
    if (!marker) return false;
    this.#trueFrom.set(id, call);
    return true;
  }

  /** As good as recorded, by whatever code asked for it; unless nobody waits for it any more, because then it is not recorded. */
  #isInFrontOfOutcome(): boolean {
    const { ops } = this.#machine;
    for (const op of this.outcomesAhead ?? []) if (ops.get(op) || !ops.wasAsked(op)) return true;
    return false;
  }
}
