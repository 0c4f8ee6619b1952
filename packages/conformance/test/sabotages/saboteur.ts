import type { DebtKind, StoreHooks, TaskKey } from "holdfast/adapter";
import { MemoryStore } from "holdfast/testing";

export interface Sabotage {
  /** What the broken store does. */
  readonly it: string;
  /** The suite that is there to notice. */
  readonly noun: string;
  /** Shows only after several rare calls on one run, or in hints alone: random calls seldom come to that, the suite does. */
  readonly rare?: true;
  /** What stands in front of the calls of a store that works. */
  readonly breaks: (it: Saboteur) => StoreHooks;
}

type Row = NonNullable<ReturnType<MemoryStore["state"]["runs"]["get"]>>;

type TaskRow = NonNullable<ReturnType<MemoryStore["state"]["tasks"]["get"]>>;

/** A memory store whose rows its saboteur can reach. */
export class Saboteur extends MemoryStore {
  row(runId: string): Row {
    return this.state.runs.get(runId) as Row;
  }

  rows(): Row[] {
    return [...this.state.runs.values()];
  }

  task({ runId, seq }: TaskKey): TaskRow | undefined {
    return this.state.tasks.get(`${runId}/${seq}`);
  }

  taskRows(): TaskRow[] {
    return [...this.state.tasks.values()];
  }

  /** Brings back a task that the store has deleted. */
  restore(task: TaskRow): void {
    const key = `${task.runId}/${task.seq}`;
    if (this.state.tasks.has(key)) return;
    this.state.tasks.set(key, task);
    this.state.tasksOf.set(task.runId, (this.state.tasksOf.get(task.runId) ?? new Set()).add(key));
  }

  /** Forgets debts of a run. */
  forgive(runId: string, kind?: DebtKind): void {
    const owed = this.state.debtsOf.get(runId) ?? new Set();
    for (const debtNo of [...owed]) {
      if (kind !== undefined && this.state.debts.get(debtNo)?.kind !== kind) continue;
      this.state.debts.delete(debtNo);
      owed.delete(debtNo);
    }
    if (owed.size === 0) this.state.debtsOf.delete(runId);
  }

  /** Has a run owe something once more. */
  charge(runId: string, kind: DebtKind): void {
    this.state.newestDebt += 1;
    const debtNo = this.state.newestDebt;
    const { namespace } = this.row(runId);
    this.state.debts.set(debtNo, { debtNo, kind, namespace, runId, at: 0 });
    this.state.debtsOf.set(runId, (this.state.debtsOf.get(runId) ?? new Set()).add(debtNo));
  }
}
