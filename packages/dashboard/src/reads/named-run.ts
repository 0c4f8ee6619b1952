/** A run by what a path calls it: its id, or its run id. */
import type { RunDescription, RunHandle } from "holdfast";
import { isHoldfastError } from "holdfast/adapter";
import { isRunId } from "./listed-rows.ts";
import type { Ask, Scope } from "./scope.ts";

export interface NamedRun {
  /** Of the client that looks. */
  readonly handle: RunHandle;
  readonly run: RunDescription;
}

export async function namedRun({ scope, parts }: Ask): Promise<NamedRun> {
  return findRun(scope, parts["run"] as string);
}

/** What looks like a run id is one, unless there is none: then it may be an id that somebody gave. */
export async function findRun({ view }: Scope, name: string): Promise<NamedRun> {
  if (isRunId(name)) {
    try {
      const handle = view.get({ runId: name });
      return { handle, run: await handle.describe() };
    } catch (error) {
      if (!isHoldfastError(error, "run_not_found")) throw error;
    }
  }
  const run = await view.get(name).describe();
  return { handle: view.get({ runId: run.runId }), run };
}
