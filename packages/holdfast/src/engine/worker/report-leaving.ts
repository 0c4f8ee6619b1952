import type { PortsBundle } from "../../calls/ports-bundle.ts";
import type { RunEnds } from "../../calls/run-ends.ts";
import type { StoreTime } from "../../calls/store-time.ts";
import type { Run } from "../../model/run.ts";
import { describeForgotten, forgottenIds } from "../../replay/code/forgotten-ops.ts";
import { writeEnd } from "../../report/failure-lines.ts";
import type { RepeatedLines } from "../../report/repeated-lines.ts";
import type { HeldRun, Leaving } from "../execute/held-run.ts";
import type { RateCounter } from "./rate-counter.ts";

export interface Listeners {
  readonly ports: PortsBundle;
  readonly ends: RunEnds;
  readonly storeTime: StoreTime;
  readonly lines: RepeatedLines;
  readonly rates: RateCounter;
}

/** Reports that a run has left this worker: to callers that wait for its end, the log and telemetry. */
export function reportLeaving(executor: HeldRun, leaving: Leaving, to: Listeners): void {
  const { runId, run } = executor;
  const { ports, ends, lines } = to;
  const { workflow } = run;
  const { telemetry } = ports;
  if (leaving.how === "lost") telemetry?.count("runs_lost", 1, { workflow });
  if (leaving.how !== "closed") return;
  const { transition } = leaving;
  writeEnd(lines, run, transition);
  if (transition.type === "end") {
    const { status, output, error, compensation } = transition;
    ends.publish({ runId, status, output, error, compensation, continuedAs: null });
    countEnd(run, status, to);
    to.rates.ended(workflow, status);
    const { forgotten } = executor.machine;
    if (forgotten.length > 0 && status === "completed")
      ports.log.warn({ runId, id: run.id, workflow, ops: forgottenIds(forgotten) }, describeForgotten(run, forgotten));
  } else if (transition.type === "continue") {
    const continuedAs = transition.next.runId;
    ends.publish({ runId, status: "continued", output: null, error: null, compensation: null, continuedAs });
    countEnd(run, "continued", to);
  } else if (transition.type === "park") {
    ends.publishParked({ runId, status: "parked", error: transition.error });
    telemetry?.count("runs_parked", 1, { workflow, code: transition.error.code ?? "" });
  }
}

function countEnd({ workflow, version, createdAt }: Run, status: string, { ports, storeTime }: Listeners): void {
  ports.telemetry?.count("runs_ended", 1, { workflow, version, status });
  ports.telemetry?.duration("run", Math.max(0, storeTime.now() - createdAt), { workflow, status });
}
