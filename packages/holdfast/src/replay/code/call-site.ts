import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { Run } from "../../model/run.ts";
import type { Logger } from "../../ports/logger.ts";

const OWN_FOLDERS = ownFolders(import.meta.url);

/**
 * Where Holdfast's own code is. Both sources and build, because a stack shows the sources if source maps are on. Undefined
 * in a bundle, which mixes that code with the user's; a bundle that is not a module does not even have a URL.
 */
export function ownFolders(url: string | undefined): readonly string[] | undefined {
  const packageUrl = /^(file:.*\/)(?:src|dist)\/replay\/code\/call-site\.[jt]s/.exec(url ?? "")?.[1];
  return packageUrl === undefined ? undefined : ["src/", "dist/"].map((folder) => new URL(folder, packageUrl).pathname);
}

/**
 * The first line of the stack that is not Holdfast's own: where the user's code made the call. Slow; for error paths only.
 */
export function callSite(): string | undefined {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 30;
  const stack = new Error().stack ?? "";
  Error.stackTraceLimit = limit;
  return placeIn(stack);
}

/** The same for a recorded stack. */
export function placeIn(stack: string): string | undefined {
  if (OWN_FOLDERS === undefined) return undefined;
  for (const line of stack.split("\n").slice(1)) {
    const own = OWN_FOLDERS.some((folder) => line.includes(folder));
    if ((own && !line.includes(".test.")) || line.includes("node:internal")) continue;
    const place = /\(?((?:file:\/\/)?\/[^()]+:\d+:\d+)\)?$/.exec(line.trim())?.[1];
    if (place) return place.replace(/^file:\/\//, "");
  }
  return undefined;
}

/** Name of the function in which steps run; it shows in asynchronous stacks and so reveals a ctx call inside a step. */
const STEP_FRAME = "holdfastStepFrame";

/** The error for a ctx call outside a turn. */
export function outsideTurnError(call: string): HoldfastError {
  if (calledInsideStep()) {
    const message = `${call} was called inside a step. Steps do the work; call ctx from the workflow function only.`;
    return new HoldfastError("inside_step", message, { data: { call } });
  }
  const message =
    `${call} was called after the workflow had waited for something that is not a ctx operation (a bare await of fetch, ` +
    "a timer, an event). Put that work into ctx.step, so that it is recorded and can be replayed.";
  return new HoldfastError("outside_turn", message, { data: { call, location: callSite() } });
}

export function runEndedError(call: string, run: Run): HoldfastError {
  const message = `${call} was called after run ${run.runId} had ended.`;
  return new HoldfastError("run_ended", message, { data: { call } });
}

function calledInsideStep(): boolean {
  const limit = Error.stackTraceLimit;
  Error.stackTraceLimit = 50;
  const stack = new Error().stack ?? "";
  Error.stackTraceLimit = limit;
  return stack.includes(STEP_FRAME);
}

interface Misused {
  readonly run: Run;
  readonly log: Logger;
  readonly violation: HoldfastError | undefined;
  violate(error: HoldfastError): void;
}

/** A ctx call at the wrong time. Logged at once: the run may sleep for days before a worker claims it again and parks it. */
export function reportOutside(machine: Misused, error: HoldfastError): void {
  const { runId, id, workflow } = machine.run;
  const { call, location } = error.data;
  if (!machine.violation) machine.log.warn({ runId, id, workflow, call, location }, error.message);
  machine.violate(error);
}
