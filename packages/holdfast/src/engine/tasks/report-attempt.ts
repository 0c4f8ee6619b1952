import { classifyError } from "../../errors/classify.ts";
import type { TaskResult } from "../../ports/store.ts";
import type { Telemetry } from "../../ports/telemetry.ts";
import type { Pace } from "../worker/pace.ts";
import type { TaskAttempt, TaskEnd } from "./task-attempt.ts";

/** What the pace of the worker and telemetry are told of an attempt that has ended. One that was discarded is not counted. */
export function reportAttempt(
  { pace, telemetry }: { readonly pace: Pace; readonly telemetry: Telemetry | undefined },
  { task: { name: task }, attempt, ms }: TaskAttempt,
  { type }: TaskResult,
  end: TaskEnd,
): void {
  const outcome = type === "completed" || type === "external" ? "completed" : "failed";
  pace.ended(ms, outcome === "completed");
  if (!telemetry) return;
  telemetry.count("task_attempts", 1, { task, outcome });
  telemetry.duration("task_attempt", ms, { task, outcome });
  if (attempt > 1) telemetry.count("task_retries", 1, { task });
  if (outcome === "completed") return;
  const kind = "error" in end ? classifyError(end.error).kind : "Unknown";
  telemetry.count("task_failures", 1, { task, kind });
}
