import { invalidValue, validateWith } from "../../errors/standard-schema.ts";
import type { AnyTask } from "../../replay/ops/task-options.ts";
import { LATER } from "./task-attempt.ts";

/** What the schema of a task makes of its result; throws, or rejects, if it is not valid. */
export function checkedOutput({ outputSchema, name }: AnyTask, value: unknown): unknown {
  if (!outputSchema || value === LATER) return value;
  const judge = (outcome: Awaited<ReturnType<typeof validateWith>>): unknown => {
    if (outcome.ok) return outcome.value;
    throw invalidValue("invalid_output", `result of task "${name}"`, outcome.issues);
  };
  const outcome = validateWith(outputSchema, value);
  return outcome instanceof Promise ? outcome.then(judge) : judge(outcome);
}
