import { HoldfastError, isHoldfastError } from "../../errors/holdfast-error.ts";
import { isOpFailure, type RecordedError } from "../../errors/run-errors.ts";
import { membersOf, readProperty, readText } from "../../errors/safe-read.ts";
import type { Run } from "../../model/run.ts";
import type { Logger } from "../../ports/logger.ts";
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
const ARGUMENT_CODES: ReadonlySet<string> = new Set([
  "invalid_option",
  "invalid_argument",
  "invalid_name",
  "invalid_duration",
]);

/** What functions of `ctx.sideEffect` threw, as restored from the record. */
const ofSideEffects = new WeakSet<object>();

/** A function of `ctx.sideEffect` is workflow code: what it threw is judged as if the workflow function had thrown it. */
export function thrownInSideEffect(error: RecordedError): RecordedError {
  ofSideEffects.add(error);
  return error;
}

/** What the run is parked with if the error that ended its code is a bug in the code; otherwise undefined. */
export function workflowBug(run: Run, error: unknown): HoldfastError | undefined {
  const bug = bugIn(error);
  if (bug === undefined) return undefined;
  const location = placeIn(readText(bug, "stack") ?? "");
  const text = readText(bug, "message") ?? "no message";
  const what = isArgumentError(bug) ? text : `${readText(bug, "name")}: ${text}`;
  const where = location === undefined ? "" : `${what.endsWith(".") ? " At" : ", at"} ${location}.`;
  const message =
    `${what}${where} ` +
    `The code of workflow "${run.workflow}" threw this itself; nothing that it asked for in this turn was done or recorded. ` +
    'Deploy fixed code: a worker that starts with it takes the run up by itself. (onBug: "fail" fails such runs instead.)';
  return new HoldfastError("workflow_bug", message, {
    data: { ...(location === undefined ? {} : { location }) },
    cause: bug,
  });
}

/**
 * A branch failed with a bug, and its group continues without it: the code never sees the error, so it is logged. Called in
 * every replay; logged once.
 */
export function reportLostBug(machine: Reported, group: string, branch: string, error: unknown): void {
  const bug = machine.turnIsRecorded ? undefined : bugIn(error);
  if (bug === undefined) return;
  const { runId, id, workflow } = machine.run;
  const location = placeIn(readText(bug, "stack") ?? "");
  const text = `${readText(bug, "name")}: ${readText(bug, "message") ?? "no message"}`;
  machine.log.warn(
    { runId, id, workflow, branch, ...(location === undefined ? {} : { location }) },
    `Branch "${branch}" of ${group} has a bug (${text}); the run continues without it.`,
  );
}

interface Reported {
  readonly run: Run;
  readonly log: Logger;
  readonly turnIsRecorded: boolean;
}

/** The bug that an error is or reports. Of several branches that failed, one with a bug is enough. */
export function bugIn(error: unknown, depth = 0): unknown {
  if (isBug(error)) return error;
  if (depth >= DEPTH_MAX) return undefined;
  if (isHoldfastError(error, "race_failed")) return bugIn(error.cause, depth + 1);
  // Of ctx.race, or of a native Promise.any.
  if (readText(error, "name") !== "AggregateError" || isHoldfastError(error)) return undefined;
  for (const member of membersOf(readProperty(error, "errors"))) {
    const bug = bugIn(member, depth + 1);
    if (bug !== undefined) return bug;
  }
  return undefined;
}

/**
 * An error that the language throws for broken code, or that a ctx call throws for bad arguments. An op always rejects with
 * a HoldfastError that names the op, whatever was thrown inside it; an error caused by that one belongs to the op, too.
 */
function isBug(error: unknown): boolean {
  if (isArgumentError(error)) return true;
  if (isHoldfastError(error) && !ofSideEffects.has(error)) return false;
  if (!BUG_NAMES.has(readText(error, "name") ?? "") || readText(error, "stack") === undefined) return false;
  const restored = isHoldfastError(error);
  let cause = readProperty(error, "cause");
  for (let depth = 0; cause && depth < DEPTH_MAX; depth++, cause = readProperty(cause, "cause"))
    // In a restored error every cause is a HoldfastError: only one that names its step is a step's.
    if (isHoldfastError(cause) && (!restored || isOpFailure(cause))) return false;
  return true;
}

function isArgumentError(error: unknown): boolean {
  return isHoldfastError(error) && ARGUMENT_CODES.has(error.code);
}
