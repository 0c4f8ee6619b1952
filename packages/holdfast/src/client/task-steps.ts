import type { Task } from "../model/task.ts";
import type { ClientCore } from "./client-core.ts";
import type { StepView } from "./step-view.ts";

/** How many open tasks of a run are looked at. */
const TASKS_MAX = 1_000;

/** The tasks of a run that the store still has; none is read if no op waits for one. */
export async function openTasks(core: ClientCore, runId: string, steps: readonly StepView[]): Promise<readonly Task[]> {
  if (!steps.some(({ kind, status }) => kind === "task" && status === "waiting")) return [];
  const { namespace } = core;
  return core.call((store) => store.tasks.list({ namespace, runId, limit: TASKS_MAX }));
}

/** What the store knows of the tasks that the run waits for, besides what history says. */
export function withTasks(steps: readonly StepView[], tasks: readonly Task[]): StepView[] {
  const byOp = new Map(tasks.map((task) => [task.op, task]));
  return steps.map((step) => {
    const task = step.kind === "task" && step.status === "waiting" ? byOp.get(step.op) : undefined;
    return task ? withTask(step, task) : step;
  });
}

function withTask(step: StepView, task: Task): StepView {
  const { status, attempt, availableAt, failures } = task;
  const failure = failures.at(-1);
  const error =
    failure === undefined
      ? {}
      : {
          error: {
            name: failure.name,
            message: failure.message,
            kind: "Unknown" as const,
            ...codeOf(failure),
            at: new Date(failure.at),
          },
        };
  if (status === "held") return { ...step, ...error, status: "running", attempts: attempt };
  if (status !== "due" || attempt === 1) return { ...step, ...error, attempts: attempt };
  const dueAt = availableAt === null ? {} : { dueAt: new Date(availableAt) };
  return { ...step, ...error, ...dueAt, status: "retrying", attempts: attempt - 1 };
}

function codeOf({ code }: { readonly code?: string }): { readonly code?: string } {
  return code === undefined ? {} : { code };
}
