import type { Leaving } from "./executor-host.ts";
import type { PortsBundle } from "./ports-bundle.ts";
import type { RunEnds } from "./run-ends.ts";
import type { RunExecutor } from "./run-executor.ts";

/** Tells whoever wants to know that a run has left this worker: callers that wait for its end, the log, telemetry. */
export function reportLeaving(executor: RunExecutor, leaving: Leaving, ports: PortsBundle, ends: RunEnds): void {
  const { runId, run } = executor;
  const { workflow } = run;
  const { telemetry } = ports;
  if (leaving.how === "lost") telemetry?.count("runs_lost", 1, { workflow });
  if (leaving.how !== "closed") return;
  const { transition } = leaving;
  if (transition.type === "end") {
    const { status, output, error } = transition;
    ends.publish({ runId, status, output, error, continuedAs: null });
    telemetry?.count("runs_ended", 1, { workflow, status });
  } else if (transition.type === "continue") {
    ends.publish({ runId, status: "continued", output: null, error: null, continuedAs: transition.next.runId });
    telemetry?.count("runs_ended", 1, { workflow, status: "continued" });
  } else if (transition.type === "park") {
    const { code, message } = transition.error;
    ends.publishParked({ runId, status: "parked", error: transition.error });
    ports.log.error({ runId, id: run.id, workflow, code }, `run parked: ${message}`);
    telemetry?.count("runs_parked", 1, { workflow, code: code ?? "" });
  }
}
