import { HoldfastError } from "../errors/holdfast-error.ts";
import type { ErrorRecord } from "../model/error-record.ts";

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
