import type { NewRun } from "../model/run.ts";
import type { TelemetryLabels } from "../ports/telemetry.ts";

/** Of a run that was started. */
export function startLabels({
  workflow,
  version,
  queue,
}: Pick<NewRun, "workflow" | "version" | "queue">): TelemetryLabels {
  return { workflow, version, queue };
}
