import type { LiveRun } from "../../model/live-run.ts";
import type { Machine } from "../../replay/machine.ts";
import type { StepBoard } from "../steps/step-board.ts";

/**
 * What a held run is doing, for callers who ask. An attempt starts only when everything its code had seen is durable, so it
 * is safe to report. `busy`: something is in flight to the code or to the store.
 */
export function liveView(
  machine: Machine,
  steps: Pick<StepBoard, "underWay">,
  durableSeq: number,
  busy: boolean,
): LiveRun | undefined {
  if (!machine.started || machine.replaying || machine.divergence) return undefined;
  const ops = machine.pendingOps();
  const settled = !busy && !machine.inTurn && !machine.outcome && machine.fresh.length === 0;
  return {
    running: steps.underWay(),
    attemptsMax: new Map(ops.flatMap(({ id, step }) => (step ? [[id, step.options.retry.attempts]] : []))),
    pending: settled ? new Set(ops.filter(({ module }) => module.wakes).map(({ id }) => id)) : null,
    durableSeq,
  };
}
