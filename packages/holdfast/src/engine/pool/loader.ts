/** A process of a task pool begins here: it loads the module that the worker has named, and serves the tasks that it exports. */
import { poolProcess } from "../../system/pool-process.ts";
import { openService, reportUnusable, serveTasks } from "./serve-tasks.ts";

const told = poolProcess();
if (told) {
  // First: a module that never finishes must not outlive the worker.
  openService();
  try {
    serveTasks((await import(told.module)) as Readonly<Record<string, unknown>>);
  } catch (error) {
    reportUnusable(error);
  }
}
