/**
 * The limit: the store calls that the engine makes for runs of n sequential steps, without an engine around them. No
 * workflow code, no replay, no timers, no results to deliver: the difference is the cost of the engine.
 */
import { randomBytes } from "node:crypto";
import { silentLogger } from "holdfast";
import {
  type HistoryEvent,
  type NewRun,
  type OpenStore,
  type Run,
  type RunCommit,
  type RunRow,
  type Store,
  systemPorts,
  type Transition,
  uuidV7,
} from "holdfast/adapter";

export const RESULT = new TextEncoder().encode('{"i":1,"ok":true}');
const INPUT = new TextEncoder().encode('{"id":"w-1000","arg":10}');
const OUTPUT = new TextEncoder().encode("10");
export const HOLD: Transition = { type: "hold", status: "running" };
const APPEND: Transition = { type: "append" };
export const END: Transition = {
  type: "end",
  status: "completed",
  output: OUTPUT,
  error: null,
  compensation: null,
  unlessBehind: true,
};

export class BareLoop {
  readonly store: Store;
  readonly workerId = newId();

  private constructor(store: Store) {
    this.store = store;
  }

  static async open(store: "postgres" | "sqlite", url: string): Promise<BareLoop> {
    const { openStore } = (await import(`@holdfast/${store}`)) as { openStore: OpenStore };
    const loop = new BareLoop((await openStore(url, { ...systemPorts, log: silentLogger })).store);
    const worker = { namespace: "default", name: "bare", queues: ["default"], workflows: [], labels: {} };
    await loop.store.workers.register({ ...worker, workerId: loop.workerId, leaseMs: 3_600_000 });
    return loop;
  }

  /** Starts a group of runs, held, and ends them with the last of their steps; one flush per step for all of them. */
  async group(size: number, steps: number, onStep?: (step: number) => Promise<void> | void): Promise<void> {
    const runs = await this.start(size, true);
    for (let step = 1; step <= steps; step++) {
      const commits = runs.map((run) => commitOf(run, this.workerId, step, step === steps));
      const { outcomes } = await this.store.runs.commit({ commits });
      if (outcomes.some((outcome) => outcome.outcome !== "written")) throw new Error("the bare loop lost a run");
      await onStep?.(step);
    }
  }

  async start(size: number, hold: boolean): Promise<RunRow[]> {
    const starts = Array.from(
      { length: size },
      () => ({ run: newRun(newId()), hold, ifRunning: "return", ifClosed: "return", pick: null }) as const,
    );
    const replaceError = { name: "Error", message: "", kind: "Unknown" } as const;
    const holdBy = hold ? { workerId: this.workerId, claimId: newId() } : null;
    const { outcomes } = await this.store.runs.start({ starts, holdBy, replaceError });
    return outcomes.map((outcome) => outcome.run as RunRow);
  }

  /** How many due runs were claimed. */
  async claim(limit: number): Promise<number> {
    return (await this.claimRuns(limit)).length;
  }

  async claimRuns(limit: number): Promise<readonly Run[]> {
    const handlers = [{ workflow: "seq", version: "1" }];
    const { runs } = await this.store.runs.claim({
      workerId: this.workerId,
      claimId: newId(),
      again: false,
      namespace: "default",
      queues: ["default"],
      handlers,
      limit,
      solo: false,
    });
    return runs;
  }

  async close(): Promise<void> {
    await this.store.workers.stop({ namespace: "default", workerId: this.workerId });
    await this.store.close();
  }
}

export function newId(): string {
  return uuidV7(Date.now(), randomBytes(16));
}

export function newRun(runId: string): NewRun {
  const place = { namespace: "default", workflow: "seq", version: "1", queue: "default", priority: 0 };
  return { ...place, runId, id: runId, input: INPUT, seed: runId, attributes: {} };
}

function commitOf({ namespace, runId, epoch }: RunRow, workerId: string, step: number, last: boolean): RunCommit {
  const event: HistoryEvent = { seq: step, type: "step_completed", op: `s${step}`, at: Date.now(), payload: RESULT };
  const nothing = { consumed: 0, attributes: null, clearDeadline: false } as const;
  // As the engine does: the first changes the row, the others only append until the end.
  const transition = last ? END : step === 1 ? HOLD : APPEND;
  const commit = Math.min(step - 1, 1);
  return { namespace, runId, workerId, epoch, commit, events: [event], eventCount: step, ...nothing, transition };
}
