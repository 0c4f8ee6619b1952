import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { readProperty, readText } from "../../errors/safe-read.ts";
import type { Run } from "../../model/run.ts";
import { placeIn } from "./call-site.ts";

const DEPTH_MAX = 5;

/** By name: a program may have several copies of these classes, one per realm. */
const BUG_NAMES: ReadonlySet<string> = new Set([
  "TypeError",
  "ReferenceError",
  "RangeError",
  "SyntaxError",
  "URIError",
]);

/** What a ctx call throws for bad arguments. */
const ARGUMENT_CODES: ReadonlySet<string> = new Set(["invalid_option", "invalid_name", "invalid_duration"]);

/** What the run is parked with if the error that ended its code is a bug in the code; otherwise undefined. */
export function workflowBug(run: Run, error: unknown): HoldfastError | undefined {
  if (!isBug(error)) return undefined;
  const location = placeIn(readText(error, "stack") ?? "");
  const text = readText(error, "message") ?? "no message";
  const what = isHoldfastError(error) ? text : `${readText(error, "name")}: ${text}`;
  const where = location === undefined ? "" : `${what.endsWith(".") ? " At" : ", at"} ${location}.`;
  const message =
    `${what}${where} ` +
    `The code of workflow "${run.workflow}" threw this itself; nothing that it asked for in this turn was done or recorded. ` +
    'Deploy fixed code: a worker that starts with it takes the run up by itself. (onBug: "fail" fails such runs instead.)';
  return new HoldfastError("workflow_bug", message, {
    data: { ...(location === undefined ? {} : { location }) },
    cause: error,
  });
}

/**
 * An error that the language throws for broken code, or that a ctx call throws for bad arguments. An op always rejects with
 * a HoldfastError that names the op, whatever was thrown inside it; an error caused by that one belongs to the op, too.
 */
function isBug(error: unknown): boolean {
  if (isHoldfastError(error)) return ARGUMENT_CODES.has(error.code);
  if (!BUG_NAMES.has(readText(error, "name") ?? "") || readText(error, "stack") === undefined) return false;
  let cause = readProperty(error, "cause");
  for (let depth = 0; cause && depth < DEPTH_MAX; depth++, cause = readProperty(cause, "cause"))
    if (isHoldfastError(cause)) return false;
  return true;
}
