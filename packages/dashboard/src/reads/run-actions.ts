import type { RunSummary } from "holdfast";
import type { RunAction } from "../api/run-messages.ts";

const OPEN = new Set(["pending", "running", "sleeping", "waiting", "compensating", "parked"]);

type Known = Pick<RunSummary, "status" | "why" | "compensation">;

/** What can be done with a run in its state. */
export function actionsOf({ status, why, compensation }: Known): readonly RunAction[] {
  if (!OPEN.has(status)) return mayBeRetried(status, compensation) ? ["query", "retry", "fork"] : ["query", "fork"];
  const pause: RunAction = why.kind === "paused" || status === "parked" ? "resume" : "pause";
  return ["signal", "update", "query", "cancel", "terminate", pause, "fork"];
}

/** A run whose work was undone has nothing to go on with. */
export function mayBeRetried(status: Known["status"], compensation: Known["compensation"]): boolean {
  return status === "failed" && compensation !== "compensated";
}
