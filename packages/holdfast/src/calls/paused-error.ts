import { toErrorRecord } from "../errors/error-record.ts";
import { HoldfastError } from "../errors/holdfast-error.ts";
import type { ErrorRecord } from "../model/error-record.ts";
import { PAUSED, type Who, whoOf } from "../model/operator-notes.ts";

/** Why a paused run is parked. `startAt`: when it is to begin, if it has not begun. */
export function pausedError(given: Who, startAt: number | null = null): ErrorRecord {
  const { by, reason } = given;
  const who = by === undefined ? "" : ` by ${by}`;
  const why = reason === undefined ? "" : `: ${reason}`;
  const { stack: _, ...record } = toErrorRecord(new HoldfastError(PAUSED, `paused${who}${why}`));
  // Not by way of the record, which would cut long texts.
  const data = { ...whoOf(given), ...(startAt === null ? {} : { startAt }) };
  return Object.keys(data).length === 0 ? record : { ...record, data };
}

/** When a paused run that has not begun is to begin; null if it has. */
export function startTimeOf(error: ErrorRecord | null): number | null {
  const startAt = error?.code === PAUSED ? error.data?.["startAt"] : undefined;
  return typeof startAt === "number" ? startAt : null;
}
