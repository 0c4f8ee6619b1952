import type { RunSummary } from "holdfast";
import type { RunAction } from "../api/run-messages.ts";

const OPEN = new Set(["pending", "running", "sleeping", "waiting", "compensating", "parked"]);

/** What can be done with a run in its state. */
export function actionsOf({ status, why }: Pick<RunSummary, "status" | "why">): readonly RunAction[] {
  if (!OPEN.has(status)) return status === "failed" ? ["query", "retry", "fork"] : ["query", "fork"];
  const pause: RunAction = why.kind === "paused" || status === "parked" ? "resume" : "pause";
  return ["signal", "update", "query", "cancel", "terminate", pause, "fork"];
}
