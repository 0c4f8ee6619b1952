import type { Task } from "../model/task.ts";

/** Wraps the execution of tasks: mocks in tests. Absent by default. */
export interface TaskInterceptor {
  /** Must call `run` or answer in its place; what it returns or throws is the task's result. `info` is what the function gets. */
  around(task: Task, input: unknown, info: unknown, run: () => unknown): unknown;
}
