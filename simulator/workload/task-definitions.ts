import { task } from "../../packages/holdfast/src/define/task.ts";
import type { AnyTask, TaskDefinition, TaskInfo } from "../../packages/holdfast/src/replay/ops/task-options.ts";
import type { Node, Program } from "./program.ts";
import type { TaskPlan } from "./task.ts";

export interface TaskInput {
  readonly plan: TaskPlan;
}

export type TaskWork = (input: TaskInput, info: TaskInfo) => Promise<string> | string;

const DEFINITIONS = new Map<string, TaskDefinition<TaskInput, string>>();

/** As workflow code knows it: who executes it is somebody else's concern. */
export function definitionOf(name: string): TaskDefinition<TaskInput, string> {
  const known = DEFINITIONS.get(name);
  if (known) return known;
  const made: TaskDefinition<TaskInput, string> = isExternal(name)
    ? task<TaskInput, string>({ name, external: true })
    : task(name, (_input: TaskInput) => "");
  DEFINITIONS.set(name, made);
  return made;
}

/** As a worker executes them. */
export function executedTasks(names: readonly string[], work: TaskWork): readonly AnyTask[] {
  return names.filter((name) => !isExternal(name)).map((name) => task(name, work));
}

/** The names of all tasks in the programs. */
export function taskNames(programs: readonly Program[]): readonly string[] {
  const names = new Set<string>();
  const visit = (value: unknown): void => {
    if (Array.isArray(value)) for (const one of value) visit(one);
    else if (typeof value === "object" && value !== null) {
      const { kind, plan } = value as Node & { readonly plan?: TaskPlan };
      if ((kind === "task" || kind === "approval") && plan) names.add(plan.op);
      else for (const inner of Object.values(value)) visit(inner);
    }
  };
  for (const { body } of programs) visit(body);
  return [...names];
}

function isExternal(name: string): boolean {
  return name.startsWith("e");
}
