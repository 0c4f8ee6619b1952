/** What callers pass to clients and handles, checked before anything is sent. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type AnyWorkflow, requireWorkflow } from "../define/definitions.ts";
import { requireId } from "../errors/option-checks.ts";
import { invalidValue, validateWith } from "../errors/standard-schema.ts";
import type { RunRef } from "../ports/store.ts";

/** A run by its own id, of whatever id its user gave it. */
export interface ByRunId {
  readonly runId: string;
}

/** Whether a run is named by its run id, and not by the id of its user. What throws when it is read is neither. */
export function isByRunId(named: unknown): named is ByRunId {
  try {
    return typeof named === "object" && named !== null && typeof (named as Partial<ByRunId>).runId === "string";
  } catch {
    return false;
  }
}

/** What `why` and `watch` are called with. */
export function refOf(namespace: string, named: string | ByRunId): RunRef {
  const id = isByRunId(named) ? named.runId : named;
  requireId(id, "run id");
  return isByRunId(named) ? { namespace, runId: id } : { namespace, id };
}

/** The id and the workflow, from `get(id)` or `get(workflow, id)`. */
export function wantedRun(
  idOrWorkflow: string | AnyWorkflow,
  id: string | undefined,
): [string, AnyWorkflow | undefined] {
  if (typeof idOrWorkflow === "object" && idOrWorkflow !== null)
    requireWorkflow(idOrWorkflow, "get: the first argument");
  const definition = typeof idOrWorkflow === "object" && idOrWorkflow !== null ? idOrWorkflow : undefined;
  const wanted = definition ? id : idOrWorkflow;
  requireId(wanted, "run id");
  return [wanted as string, definition];
}

/** What the handle of a started run knows of its workflow; nothing if the start named it. */
export function offering(workflow: AnyWorkflow | string): AnyWorkflow | undefined {
  return typeof workflow === "string" ? undefined : workflow;
}

/** Refuses a bad payload before anything is written, with the path of every fault. */
export async function checkedPayload(name: string, schema: StandardSchemaV1, payload: unknown): Promise<unknown> {
  const result = await validateWith(schema, payload);
  if (result.ok) return result.value;
  throw invalidValue("invalid_signal", `payload of signal "${name}"`, result.issues);
}

/** The input of a run whose workflow may be known, by its definition. */
export async function checkedInputOf(workflow: unknown, input: unknown): Promise<unknown> {
  const definition = workflow as AnyWorkflow | undefined;
  return definition?.inputSchema ? checkInput(definition, input) : input;
}

/** Refuses bad input before anything is written, with the path of every fault. */
export async function checkInput(definition: AnyWorkflow, input: unknown): Promise<unknown> {
  const result = await validateWith(definition.inputSchema as NonNullable<AnyWorkflow["inputSchema"]>, input);
  if (result.ok) return result.value;
  throw invalidValue("invalid_input", `input of workflow "${definition.name}"`, result.issues);
}
