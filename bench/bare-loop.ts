/**
 * The limit: a loop that makes the same calls of the same store that the engine makes for runs of n sequential steps, with no
 * engine around it. No workflow code, no replay, no timers, no results to deliver: whatever the engine costs is the difference.
 */
import type { HistoryEvent, NewRun, Run, RunCommit, Store, Transition } from "holdfast/adapter";

export interface BareLoopParams {
  readonly store: Store;
  readonly runs: number;
  readonly steps: number;
  /** Runs in one flush. */
  readonly group: number;
  readonly newId: () => string;
}

const RESULT = new TextEncoder().encode('{"i":1,"ok":true}');
const INPUT = new TextEncoder().encode('{"n":10}');
const OUTPUT = new TextEncoder().encode("10");
const HOLD: Transition = { type: "hold", status: "running" };
const END: Transition = {
  type: "end",
  status: "completed",
  output: OUTPUT,
  error: null,
  compensation: null,
  unlessBehind: true,
};

/** Steps per second. */
export async function bareLoop(params: BareLoopParams): Promise<number> {
  const { store, newId } = params;
  const workerId = newId();
  const worker = { workerId, namespace: "default", name: "bare", queues: ["default"], workflows: [], labels: {} };
  await store.registerWorker({ ...worker, leaseMs: 3_600_000 });
  const began = performance.now();
  for (let done = 0; done < params.runs; done += params.group) await oneGroup(params, workerId);
  const seconds = (performance.now() - began) / 1000;
  await store.stopWorker({ workerId });
  return (params.runs * params.steps) / seconds;
}

async function oneGroup({ store, group, steps, newId }: BareLoopParams, workerId: string): Promise<void> {
  const starts = Array.from(
    { length: group },
    () => ({ run: newRun(newId()), hold: true, ifRunning: "return", ifClosed: "return", pick: null }) as const,
  );
  const replaceError = { name: "Error", message: "", kind: "Unknown" } as const;
  const started = await store.startRuns({ starts, holdBy: { workerId, claimId: newId() }, replaceError });
  const runs = started.outcomes.map((outcome) => outcome.run);
  for (let step = 1; step <= steps; step++) {
    const commits = runs.map((run) => commitOf(run, step, step === steps ? END : HOLD));
    const { outcomes } = await store.commitRuns({ workerId, commits });
    if (outcomes.some((outcome) => outcome.outcome !== "written")) throw new Error("the bare loop lost a run");
  }
}

function newRun(runId: string): NewRun {
  const place = { namespace: "default", workflow: "seq", version: "1", queue: "default", priority: 0 };
  return { ...place, runId, id: runId, input: INPUT, seed: runId, attributes: {} };
}

function commitOf(run: Pick<Run, "runId" | "epoch">, step: number, transition: Transition): RunCommit {
  const event: HistoryEvent = {
    seq: step,
    type: "step_completed",
    op: `s${step}`,
    at: 1_800_000_000_000,
    payload: RESULT,
  };
  return {
    runId: run.runId,
    epoch: run.epoch,
    commit: step - 1,
    events: [event],
    consumed: 0,
    attributes: null,
    transition,
  };
}
