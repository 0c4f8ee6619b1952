import type { StoreHooks, TaskKey } from "holdfast/adapter";
import { MemoryStore } from "holdfast/testing";

export interface Sabotage {
  /** What the broken store does. */
  readonly it: string;
  /** The suite that is there to notice. */
  readonly noun: string;
  /** Shows only after several rare calls on one run: random calls hardly ever come to that, the suite does. */
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
}
