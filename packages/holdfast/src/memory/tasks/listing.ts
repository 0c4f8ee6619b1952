import { isDue } from "../../model/decisions/due-time.ts";
import type { Task, TaskKey } from "../../model/task.ts";
import type { ListTasksParams, ReadTasksParams } from "../../ports/store.ts";
import type { MemoryState } from "../state.ts";
import type { TaskRecord } from "./task-record.ts";
import { taskIn, taskOf } from "./task-state.ts";

export function readTasks(state: MemoryState, params: ReadTasksParams): (Task | null)[] {
  return params.tasks.map((key) => {
    const task = taskIn(state, params.namespace, key);
    return task ? taskOf(state, task) : null;
  });
}

export function listTasks(state: MemoryState, params: ListTasksParams): Task[] {
  const { namespace, name, queue, status, runId, after, limit } = params;
  const found = [...state.tasks.values()].filter(
    (task) =>
      task.namespace === namespace &&
      (name === undefined || task.name === name) &&
      (queue === undefined || task.queue === queue) &&
      (status === undefined || task.status === status) &&
      (runId === undefined || task.runId === runId) &&
      (after === undefined || inOrder(after, task) < 0),
  );
  return found
    .sort(inOrder)
    .slice(0, limit)
    .map((task) => taskOf(state, task));
}

function inOrder(a: TaskKey, b: TaskKey): number {
  if (a.runId !== b.runId) return a.runId < b.runId ? -1 : 1;
  return a.seq - b.seq;
}

export function taskPosition(
  state: MemoryState,
  params: TaskKey & { readonly namespace: string; readonly atMost: number },
  now: number,
): number | null {
  const task = taskIn(state, params.namespace, params);
  if (!task || !isDue(task.availableAt, now)) return null;
  const before = [...state.tasks.values()].filter((other) => isDue(other.availableAt, now) && isBefore(other, task));
  return Math.min(before.length, params.atMost);
}

/** Both are due. */
function isBefore(other: TaskRecord, task: TaskRecord): boolean {
  const { namespace, queue, name, requires } = task;
  if (other.namespace !== namespace || other.queue !== queue || other.name !== name) return false;
  if (other.requires.join("\n") !== requires.join("\n")) return false;
  if (other.priority !== task.priority) return other.priority > task.priority;
  return (other.availableAt as number) < (task.availableAt as number);
}
