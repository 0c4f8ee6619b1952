import { isHoldfastError } from "../errors/holdfast-error.ts";
import { membersOf, readProperty } from "../errors/safe-read.ts";
import type { HistoryEvent } from "../model/event.ts";
import type { RetriedOutcome } from "./machine.ts";
import type { Op } from "./op.ts";

const DEPTH_MAX = 5;

/**
 * The steps whose failure an error speaks of: its own, those of its causes, and those of its members. Not those that a crash
 * has cut off and that must not be repeated.
 */
export function failedOps(error: unknown, depth = 0): string[] {
  if (typeof error !== "object" || error === null || depth > DEPTH_MAX) return [];
  const op = isHoldfastError(error, "step_failed") ? readProperty(error, "op") : undefined;
  const own = typeof op === "string" && readProperty(error, "recordedCode") !== "step_crashed" ? [op] : [];
  const causes = failedOps(readProperty(error, "cause"), depth + 1);
  const members = membersOf(readProperty(error, "errors")).flatMap((member) => failedOps(member, depth + 1));
  return [...new Set([...own, ...causes, ...members])];
}

/** A step that was aborted because of the failure for which the run is tried again is to be tried again as well. */
export function alsoForgetting(
  outcome: RetriedOutcome,
  { id, step }: Op,
  { type, meta }: HistoryEvent,
): RetriedOutcome {
  if (type !== "step_failed" || !step?.closing || meta?.unknown) return outcome;
  return { ...outcome, forgets: [...outcome.forgets, id] };
}
