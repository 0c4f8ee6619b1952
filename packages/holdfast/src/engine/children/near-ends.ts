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
  /** Returns whether it waits for that child. */
  ended(debt: EndDebt): boolean;
  left(childRunId: string): void;
}

/** The runs of one worker that have children, by run id: those are told of ends on the same worker. */
export class NearChildren {
  readonly #holds: (runId: string) => boolean;
  readonly #parents = new Map<string, NearParent>();

  constructor(holds: (runId: string) => boolean) {
    this.#holds = holds;
  }

  /** Whether the worker holds this run. */
  holds(runId: string): boolean {
    return this.#holds(runId);
  }

  enter(runId: string, parent: NearParent): void {
    this.#parents.set(runId, parent);
  }

  leave(runId: string): void {
    this.#parents.delete(runId);
  }

  /** Whether it is known that this run has children. */
  knows(runId: string): boolean {
    return this.#parents.has(runId);
  }

  /** The end is durable. Returns whether the parent is here and waits for it: then it has the debt paid. */
  ended(debt: EndDebt): boolean {
    const parent = debt.parent && this.#parents.get(debt.parent.runId);
    return parent?.ended(debt) ?? false;
  }

  /** The worker no longer holds the child, for any reason. */
  left({ runId, run }: HeldRun): void {
    if (run.lineage) this.#parents.get(run.lineage.parent.runId)?.left(runId);
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

  /** The parent has recorded these, and will record the others. `waits`: whether an op still waits for its child. */
  written(events: readonly HistoryEvent[], others: readonly HistoryEvent[], waits: (op: string) => boolean): void {
    if (this.#debts.size === 0) return;
    for (const event of events) {
      const op = endedOp(event);
      const debt = op === undefined ? undefined : this.#debts.get(op);
      if (!debt) continue;
      this.#debts.delete(op as string);
      this.#pay({ ...debt, parent: null });
    }
    if (this.#debts.size === 0) return;
    const recorded = new Set(others.map(endedOp));
    for (const [op, debt] of this.#debts)
      if (!waits(op) && !recorded.has(op)) {
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

/** The op whose child has ended by this event. */
function endedOp({ type, op }: HistoryEvent): string | undefined {
  return op !== null && type.startsWith("child_") && type !== "child_started" ? op : undefined;
}
