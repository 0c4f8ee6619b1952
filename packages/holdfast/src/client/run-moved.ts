import { HoldfastError } from "../errors/holdfast-error.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import type { Run, RunStatus } from "../model/run.ts";
import type { RunRef, StartOutcome } from "../ports/store.ts";
import type { ClientCore } from "./client-core.ts";
import { lastOfChain } from "./queries.ts";

/** The run lives in another store. */
export function runMoved(id: string, to: string): HoldfastError {
  const message = `Run "${id}" has moved to ${to}. Connect to that store to reach it.`;
  return new HoldfastError("run_moved", message, { data: { id, to } });
}

/** The same from what the closed run says. */
export function movedError(id: string, error: ErrorRecord | null): HoldfastError {
  const to = error?.data?.["to"];
  return runMoved(id, typeof to === "string" ? to : "another store");
}

/** A run that has moved to another store is reached there. */
export function here(run: Run): Run {
  if (run.status === "moved") throw movedError(run.id, run.error);
  return run;
}

/** The answer to a start whose id is taken, unless the run that has it is in another store. */
export async function existing(core: ClientCore, outcome: StartOutcome): Promise<StartOutcome> {
  const { namespace, runId, status } = outcome.run;
  if (status !== "moved") return outcome;
  const [run] = await core.call((store) => store.runs.read({ runs: [{ namespace, runId }] }));
  if (run) here(run);
  return outcome;
}

interface Answer {
  readonly outcome: string;
  readonly status: RunStatus | null;
}

/**
 * The answer of the run itself. One that had left is looked for: if it has come back since, the call is made again; else this throws, and
 * says where it is. What the run had got before it left went with it.
 */
export async function untilHere<A extends Answer>(
  core: ClientCore,
  ref: RunRef,
  call: (run: RunRef) => Promise<A>,
): Promise<A> {
  for (;;) {
    const answer = await call(ref);
    if (answer.status !== "moved" || answer.outcome === "duplicate") return answer;
    const run = await core.queries.read(ref);
    if (run) here(await lastOfChain(core, run));
  }
}
