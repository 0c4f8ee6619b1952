/** A process of a task pool begins here: it loads the module that the worker has named, and serves the tasks that it exports. */
import { poolProcess } from "../../system/pool-process.ts";
import { reportUnusable, serveTasks } from "./serve-tasks.ts";

const told = poolProcess();
if (told) {
  try {
    serveTasks((await import(told.module)) as Readonly<Record<string, unknown>>);
  } catch (error) {
    reportUnusable(error);
  }
}
