import { fromErrorRecord } from "../../errors/error-record.ts";
import { HoldfastError } from "../../errors/holdfast-error.ts";
import { runErrorOf } from "../../errors/run-errors.ts";
import type { EventMeta } from "../../model/event.ts";

/** What workflow code receives when another run did not complete, or could not be started or reached. */
export function otherRunError(
  { status, error, compensation }: EventMeta,
  about: { readonly id: string; readonly runId: string; readonly workflow: string; readonly op: string },
): HoldfastError {
  if (status === undefined) {
    if (error) return fromErrorRecord({ ...error, op: about.op, run: about.id });
    return new HoldfastError("run_failed", `Run "${about.id}" could not be reached.`);
  }
  const reason = error?.data?.["reason"];
  const why = typeof reason === "string" ? { reason } : {};
  return runErrorOf(status, { ...about, ...why, compensation, cause: error && fromErrorRecord(error) });
}
