import type { NewRun } from "../model/run.ts";
import { seedOf } from "../model/run-seed.ts";
import type { StartAbout, Telemetry } from "../ports/telemetry.ts";

type Started = Pick<NewRun, "namespace" | "workflow" | "version" | "queue" | "id" | "runId">;

/** The seed of a run that is about to be started: with the trace that telemetry has for it, or else the one that was given. */
export function tracedSeed(
  telemetry: Telemetry | undefined,
  { namespace, workflow, version, queue, id, runId }: Started,
  how: Pick<StartAbout, "by" | "trace">,
): string {
  if (!telemetry?.trace) return how.by === "call" && how.trace !== undefined ? seedOf(runId, how.trace) : runId;
  return seedOf(runId, telemetry.trace({ namespace, workflow, version, queue, id, runId, ...how }));
}
