/** What callers pass to clients and handles, checked before anything is sent. */
import type { StandardSchemaV1 } from "@standard-schema/spec";
import { type AnyWorkflow, requireWorkflow } from "../define/definitions.ts";
import { invalidOption, requireId } from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import { invalidValue, validateWith } from "../errors/standard-schema.ts";
import { REASON_LENGTH_MAX, valueFault } from "../model/names.ts";

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

/** Free text that every store can keep. */
export function requireReason(reason: unknown, call: string): void {
  if (reason === undefined) return;
  if (typeof reason !== "string") throw invalidOption(call, "the reason", `is ${shownValue(reason)}, not a string`);
  const tooLong = reason.length > REASON_LENGTH_MAX;
  const fault = tooLong ? `is ${reason.length} characters long; the limit is ${REASON_LENGTH_MAX}` : valueFault(reason);
  if (fault !== undefined) throw invalidOption(call, "the reason", fault);
}

/** Refuses a bad payload before anything is written, with the path of every fault. */
export async function checkedPayload(name: string, schema: StandardSchemaV1, payload: unknown): Promise<unknown> {
  const result = await validateWith(schema, payload);
  if (result.ok) return result.value;
  throw invalidValue("invalid_signal", `payload of signal "${name}"`, result.issues);
}
