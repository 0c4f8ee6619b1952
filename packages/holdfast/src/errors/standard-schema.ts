import type { StandardSchemaV1 } from "@standard-schema/spec";
import { formatPath } from "../model/value-path.ts";
import { HoldfastError } from "./holdfast-error.ts";

export interface SchemaIssue {
  /** Where in the value, like `items[3].price`; empty for the value as a whole. */
  readonly path: string;
  readonly message: string;
}

export type SchemaOutcome =
  | { readonly ok: true; readonly value: unknown }
  | { readonly ok: false; readonly issues: readonly SchemaIssue[] };

/**
 * Checks a value against a schema from any library that follows Standard Schema. The result may differ from the value:
 * schemas fill in defaults and convert. Returns a promise only if the schema is asynchronous.
 */
export function validateWith(schema: StandardSchemaV1, value: unknown): SchemaOutcome | Promise<SchemaOutcome> {
  const result = schema["~standard"].validate(value);
  return isPromise(result) ? result.then(outcomeOf) : outcomeOf(result);
}

/** The error for the caller who passed the value: every fault with its path. */
export function invalidValue(
  code: "invalid_input" | "invalid_output" | "invalid_signal",
  what: string,
  issues: readonly SchemaIssue[],
): HoldfastError {
  const faults = issues.map(
    (issue) => `  - ${issue.path === "" ? "(the value itself)" : issue.path}: ${issue.message}`,
  );
  return new HoldfastError(code, `The ${what} is not valid:\n${faults.join("\n")}`, { data: { issues } });
}

function outcomeOf(result: StandardSchemaV1.Result<unknown>): SchemaOutcome {
  if (result.issues === undefined) return { ok: true, value: result.value };
  return { ok: false, issues: Array.from(result.issues, (issue) => ({ path: pathOf(issue), message: issue.message })) };
}

function pathOf(issue: StandardSchemaV1.Issue): string {
  // Array.from, not map: arktype's path is a subclass of Array whose `map` puts the length into the copy.
  return formatPath(Array.from(issue.path ?? [], (segment) => (typeof segment === "object" ? segment.key : segment)));
}

/** Tested by `then`: a promise from another realm or library is not an instance of our Promise. */
function isPromise<T>(value: T | Promise<T>): value is Promise<T> {
  return typeof (value as { then?: unknown } | null)?.then === "function";
}
