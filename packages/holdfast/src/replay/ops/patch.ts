import { requireName } from "../../errors/option-checks.ts";
import type { MachineInside } from "../machine-inside.ts";
import type { OpEvents } from "../op.ts";

export const PATCH_EVENTS: OpEvents = { commands: ["patched"], notes: [], ends: [] };

/**
 * `ctx.patched(id)`: without a marker, false in turns that were finished before, whatever the run waited for then, and true
 * in all others. The marker says from which call on, so that a loop half done under old code stays exact.
 */
export class Patches {
  readonly #machine: MachineInside;
  // Created when first needed: most runs have no patches.
  #calls: Map<string, number> | undefined;
  #trueFrom: Map<string, number> | undefined;

  constructor(machine: MachineInside) {
    this.#machine = machine;
  }

  isPatched(id: string): boolean {
    this.#calls ??= new Map();
    this.#trueFrom ??= new Map();
    const call = (this.#calls.get(id) ?? 0) + 1;
    if (call === 1) requireName(id, "id of ctx.patched");
    this.#calls.set(id, call);
    if (this.#trueFrom.has(id)) return true;
    if (this.#machine.turnIsRecorded && !this.#machine.repeating) return false;
    const marker = this.#machine.command({ type: "patched", op: id, ...(call === 1 ? {} : { meta: { from: call } }) });
    if (!marker) return false;
    this.#trueFrom.set(id, call);
    return true;
  }
}
