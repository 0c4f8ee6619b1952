import { HoldfastError } from "../errors/holdfast-error.ts";

/** The error for a start under a run id that a run of another namespace has. It reveals nothing about that run. */
export function takenRunId(runId: string): HoldfastError {
  const message = `The run id ${runId} is taken. Start the run under a new run id.`;
  return new HoldfastError("store_refused", message, { data: { runId } });
}
