import type { StandardSchemaV1 } from "@standard-schema/spec";
import { HoldfastError } from "./holdfast-error.ts";
import { invalidValue, validateWith } from "./standard-schema.ts";

/** What the schema makes of the value, for callers that cannot wait for it: workflow code. */
export function checkedNow(
  schema: StandardSchemaV1 | undefined,
  value: unknown,
  code: "invalid_input" | "invalid_signal",
  what: string,
): unknown {
  if (schema === undefined) return value;
  const result = validateWith(schema, value);
  if (result instanceof Promise)
    throw new HoldfastError(
      code,
      `The schema of the ${what} is asynchronous. Workflow code cannot wait for it: use a synchronous schema.`,
    );
  if (result.ok) return result.value;
  throw invalidValue(code, what, result.issues);
}
