import { HoldfastError } from "../../errors/holdfast-error.ts";
import type { Run } from "../../model/run.ts";
import type { Logger } from "../../ports/logger.ts";

const HERE = ownFolders(import.meta.url, "replay/code/call-site");
/** With the folders of the adapters that are loaded. */
const own = new Set(HERE);

/**
 * Where the package of a module is. Both sources and build, because a stack shows the sources if source maps are on.
 * Undefined in a bundle, which mixes that code with the user's; a bundle that is not a module does not even have a URL.
 */
export function ownFolders(url: string | undefined, module: string): readonly string[] | undefined {
  const [, packageUrl, file] = /^(file:.*\/)(?:src|dist)\/(.*)\.[jt]s/.exec(url ?? "") ?? [];
  if (packageUrl === undefined || file !== module) return undefined;
  return ["src/", "dist/"].map((folder) => new URL(folder, packageUrl).pathname);
}

/**
 * For a module of an adapter that workflow code calls: places in messages are then those of the caller, not of the adapter.
 * `module` is the path of the module in `src`, without its extension.
 */
export function passOver(url: string | undefined, module: string): void {
  for (const folder of ownFolders(url, module) ?? []) own.add(folder);
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
  if (HERE === undefined) return undefined;
  for (const line of stack.split("\n").slice(1)) {
    if ((isOwn(line) && !line.includes(".test.")) || line.includes("node:internal")) continue;
    const place = /\(?((?:file:\/\/)?\/[^()]+:\d+:\d+)\)?$/.exec(line.trim())?.[1];
    if (place) return place.replace(/^file:\/\//, "");
  }
  return undefined;
}

function isOwn(line: string): boolean {
  for (const folder of own) if (line.includes(folder)) return true;
  return false;
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
  /** Set while the caller of a query, who gets the error, is still to be answered. */
  readonly queried: string | undefined;
  violate(error: HoldfastError): void;
}

/** A ctx call at the wrong time. Logged at once: the run may sleep for days before a worker claims it again and parks it. */
export function reportOutside(machine: Misused, error: HoldfastError): void {
  const { runId, id, workflow } = machine.run;
  const { call, location } = error.data;
  if (!machine.violation && machine.queried === undefined)
    machine.log.warn({ runId, id, workflow, call, location }, error.message);
  machine.violate(error);
}
