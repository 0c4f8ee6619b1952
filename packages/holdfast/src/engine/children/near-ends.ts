/**
 * The ends of children that the worker of their parent has executed itself. The parent is told at once, without a message: the
 * child owes its end until the parent has recorded it, and if it does not, it is told like any other.
 */
import type { Debt } from "../../model/debt.ts";
import type { HistoryEvent } from "../../model/event.ts";
import type { HeldRun } from "../execute/held-run.ts";

export type EndDebt = Extract<Debt, { kind: "result" }>;

/** A parent that waits for children on the same worker. */
export interface NearParent {
  ended(debt: EndDebt): void;
  left(childRunId: string): void;
}

/** The children that this worker holds, and whose parents it holds as well, by run id. */
export class NearChildren {
  readonly #holds: (runId: string) => boolean;
  readonly #parents = new Map<string, NearParent>();

  constructor(holds: (runId: string) => boolean) {
    this.#holds = holds;
  }

  /** Whether the child is here: then the parent is told what becomes of it. */
  expect(childRunId: string, parent: NearParent): boolean {
    if (!this.#holds(childRunId)) return false;
    this.#parents.set(childRunId, parent);
    return true;
  }

  forget(childRunId: string): void {
    this.#parents.delete(childRunId);
  }

  /** The end is durable. Returns whether the parent is here, and has the debt paid. */
  ended(debt: EndDebt): boolean {
    const parent = this.#parents.get(debt.runId);
    parent?.ended(debt);
    return parent !== undefined;
  }

  /** The worker no longer holds the child, for any reason. */
  left({ runId }: HeldRun): void {
    const parent = this.#parents.get(runId);
    if (!parent) return;
    this.#parents.delete(runId);
    parent.left(runId);
  }
}

/** What the children of one run owe it. */
export class ToldEnds {
  readonly #debts = new Map<string, EndDebt>();
  readonly #pay: (debt: EndDebt) => void;

  constructor(pay: (debt: EndDebt) => void) {
    this.#pay = pay;
  }

  add(op: string, debt: EndDebt): void {
    this.#debts.set(op, debt);
  }

  /** The parent has recorded these. `waits`: whether an op still waits for its child. */
  written(events: readonly HistoryEvent[], waits: (op: string) => boolean): void {
    if (this.#debts.size === 0) return;
    for (const { type, op } of events) {
      const debt = op !== null && type.startsWith("child_") ? this.#debts.get(op) : undefined;
      if (!debt || type === "child_started") continue;
      this.#debts.delete(op as string);
      this.#pay({ ...debt, parent: null });
    }
    for (const [op, debt] of this.#debts)
      if (!waits(op)) {
        this.#debts.delete(op);
        this.#pay(debt);
      }
  }

  /** The parent will not record them now: they are sent. */
  payAll(): void {
    for (const debt of this.#debts.values()) this.#pay(debt);
    this.#debts.clear();
  }
}
