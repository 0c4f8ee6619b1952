import type { Op } from "./op.ts";

/**
 * Ops by their id, in the order in which they were asked for. Most runs wait for one thing at a time, and a map that goes
 * from empty to one entry and back allocates a new table each time: a single op is kept beside it.
 */
export class PendingOps {
  /** How many of them could still wake the code. */
  waiting = 0;
  /** How many of those wait for something from outside, not for a time. */
  forOthers = 0;
  #only: Op | undefined;
  #many: Map<string, Op> | undefined;

  add(op: Op): void {
    this.#count(op, 1);
    if (this.#many === undefined && this.#only === undefined) {
      this.#only = op;
      return;
    }
    this.#many ??= new Map();
    if (this.#only) this.#many.set(this.#only.id, this.#only);
    this.#only = undefined;
    this.#many.set(op.id, op);
  }

  get(id: string): Op | undefined {
    return this.#only?.id === id ? this.#only : this.#many?.get(id);
  }

  delete(op: Op): void {
    if (this.get(op.id) !== op) return;
    this.#count(op, -1);
    if (this.#only === op) {
      this.#only = undefined;
      return;
    }
    this.#many?.delete(op.id);
    if (this.#many?.size === 0) this.#many = undefined;
  }

  #count({ module }: Op, change: 1 | -1): void {
    if (!module.wakes) return;
    this.waiting += change;
    if (module.rest === "waiting") this.forOthers += change;
  }

  /** The first that could wake the code. A run may have thousands, and is suspended again and again. */
  first(max: number): Op[] {
    const first: Op[] = [];
    for (const op of this.#only ? [this.#only] : (this.#many?.values() ?? [])) {
      if (first.length === max) break;
      if (op.module.wakes) first.push(op);
    }
    return first;
  }

  /** A copy. */
  all(): Op[] {
    if (this.#only) return [this.#only];
    return this.#many ? [...this.#many.values()] : [];
  }
}
