import { HoldfastError } from "../errors/holdfast-error.ts";
import { RunCanceledError, RunTimedOutError } from "../errors/run-errors.ts";
import type { EventDraft } from "../model/event.ts";
import type { Run } from "../model/run.ts";
import type { Logger } from "../ports/logger.ts";

export function runEndedError(call: string, run: Run): HoldfastError {
  const message = `${call} was called after run ${run.runId} had ended.`;
  return new HoldfastError("run_ended", message, { data: { call } });
}

export function insideSideEffectError(call: string, within: string): HoldfastError {
  const message = `${call} was called inside ${within}, whose function is not called again on replay. Call it before, and use its value inside.`;
  return new HoldfastError("inside_step", message, { data: { call } });
}

export function foreignAwaitError(run: Run, cause: unknown): HoldfastError {
  const message = `The function of workflow "${run.workflow}" waited for something that is not a ctx operation. Put that work into ctx.step.`;
  return new HoldfastError("foreign_await", message, { cause });
}

export function cancelIgnoredError(run: Run, cause: Error): HoldfastError {
  const message = `Workflow "${run.workflow}" goes on asking for ops after it was canceled. Let the cancellation pass, or clean up in ctx.uncancelable.`;
  return new HoldfastError("cancel_ignored", message, { cause });
}

/** What the code of a run is told that is canceled or has passed its deadline. */
export function cancellationError(run: Run, event: EventDraft): HoldfastError {
  const { id, runId, workflow } = run;
  const about = { id, runId, workflow, reason: event.meta?.reason };
  return event.type === "deadline_reached" ? new RunTimedOutError(about) : new RunCanceledError(about);
}

interface Misused {
  readonly run: Run;
  readonly log: Logger;
  readonly violation: HoldfastError | undefined;
  violate(error: HoldfastError): void;
}

/** A ctx call at the wrong time. Written down at once: the run may sleep for days before its worker has it again and parks it. */
export function reportOutside(machine: Misused, error: HoldfastError): void {
  const { runId, id, workflow } = machine.run;
  const { call, location } = error.data;
  if (!machine.violation) machine.log.warn({ runId, id, workflow, call, location }, error.message);
  machine.violate(error);
}
