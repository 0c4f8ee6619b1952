import {
  type ClaimRunsParams,
  type CommitRunsParams,
  type HeartbeatParams,
  isClosed,
  type ListRunsParams,
  type ReleaseRunsParams,
  type RunRef,
  type StartRunsParams,
  type SweepParams,
  type TerminateRunsParams,
} from "holdfast/adapter";
import { MemoryStore } from "holdfast/testing";
import { type Sabotage, Saboteur } from "./saboteur.ts";

export const WORKERS_AND_VIEWS: readonly Sabotage[] = [
  {
    it: "revives dead workers with a heartbeat",
    noun: "leases",
    Store: class extends Saboteur {
      override heartbeatWorker(params: HeartbeatParams) {
        const worker = this.state.workers.get(params.workerId);
        if (worker) worker.status = "online";
        return super.heartbeatWorker(params);
      }
    },
  },
  {
    it: "releases runs without looking at the epoch",
    noun: "leases",
    Store: class extends Saboteur {
      override releaseRunsIfHeld(params: ReleaseRunsParams) {
        const runs = params.runs.map(({ runId }) => ({ runId, epoch: this.row(runId)?.epoch ?? 0 }));
        return super.releaseRunsIfHeld({ ...params, runs });
      }
    },
  },
  {
    it: "counts a death when a worker signs off",
    noun: "sweeps",
    Store: class extends Saboteur {
      override async stopWorker(params: { workerId: string }) {
        const held = this.rows().filter((row) => row.heldBy === params.workerId);
        await super.stopWorker(params);
        for (const row of held) row.deaths += 1;
      }
    },
  },
  {
    it: "leaves the epoch as it was when it returns a run",
    noun: "sweeps",
    Store: class extends Saboteur {
      override async sweepWorkers(params: SweepParams) {
        const before = this.rows().map((row) => [row, row.epoch] as const);
        const result = await super.sweepWorkers(params);
        for (const [row, epoch] of before) row.epoch = epoch;
        return result;
      }
    },
  },
  {
    it: "parks runs for deaths in company",
    noun: "sweeps",
    Store: class extends Saboteur {
      override sweepWorkers(params: SweepParams) {
        for (const row of this.rows()) row.alone = row.heldBy !== null;
        return super.sweepWorkers(params);
      }
    },
  },
  {
    it: "times runs out while they are held",
    noun: "sweeps",
    Store: class extends Saboteur {
      override async sweepWorkers(params: SweepParams) {
        const result = await super.sweepWorkers(params);
        for (const row of this.rows())
          if (row.deadlineAt !== null && row.deadlineAt < result.now && row.heldBy !== null) row.status = "timed_out";
        return result;
      }
    },
  },
  {
    it: "terminates without taking the epoch on",
    noun: "operators",
    Store: class extends Saboteur {
      override async terminateRuns(params: TerminateRunsParams) {
        const outcomes = await super.terminateRuns(params);
        for (const { outcome, runId } of outcomes)
          if (outcome === "terminated" && runId !== null) this.row(runId).epoch -= 1;
        return outcomes;
      }
    },
  },
  {
    it: "remembers the deaths of a run that was resumed",
    noun: "operators",
    Store: class extends Saboteur {
      override async resumeRunIfParked(params: RunRef) {
        const before = this.rows().map((row) => [row, row.deaths] as const);
        const result = await super.resumeRunIfParked(params);
        for (const [row, deaths] of before) row.deaths = deaths;
        return result;
      }
    },
  },
  {
    it: "begins a page with the run that ended the last one",
    noun: "listing",
    Store: class extends Saboteur {
      override listRuns(params: ListRunsParams) {
        const { before } = params;
        if (!before) return super.listRuns(params);
        return super.listRuns({ ...params, before: { ...before, runId: `${before.runId}~` } });
      }
    },
  },
  {
    it: "takes attributes for equal that look alike",
    noun: "listing",
    Store: class extends Saboteur {
      override async listRuns({ attributes = {}, ...params }: ListRunsParams) {
        const rows = await super.listRuns(params);
        return rows.filter((row) =>
          Object.entries(attributes).every(([name, value]) => String(row.attributes[name]) === String(value)),
        );
      }
    },
  },
  {
    it: "gives no hints",
    noun: "hints",
    Store: class extends MemoryStore {
      constructor(options: ConstructorParameters<typeof MemoryStore>[0]) {
        super({ ...options, notifier: { publish: () => {}, subscribe: () => () => {} } });
      }
    },
  },
  {
    it: "looks whether the holder is behind before it locks the row",
    noun: "concurrency",
    Store: class extends Saboteur {
      override async commitRuns(params: CommitRunsParams) {
        const upToDate = params.commits.filter(({ runId, consumed }) => this.row(runId).delivered <= consumed);
        const result = await super.commitRuns(params);
        for (const { runId, transition } of upToDate) {
          const row = this.row(runId);
          if (transition.type !== "suspend" || row.heldBy === null) continue;
          this.state.held.get(row.heldBy)?.delete(runId);
          Object.assign(row, { heldBy: null, claimId: null, status: transition.status, availableAt: null });
        }
        const outcomes = result.outcomes.map((one, i) => {
          const row = this.row(params.commits[i]?.runId ?? "");
          return { ...one, held: one.held && row.heldBy !== null };
        });
        return { ...result, outcomes };
      }
    },
  },
  {
    it: "lets two claims that overlap take the same run",
    noun: "concurrency",
    Store: class extends Saboteur {
      #inFlight = 0;

      override async claimRuns(params: ClaimRunsParams) {
        this.#inFlight += 1;
        const due = this.rows().find((row) => row.availableAt !== null && !isClosed(row.status));
        const result = await super.claimRuns(params);
        this.#inFlight -= 1;
        const shared = this.#inFlight > 0 && due && !result.runs.some(({ runId }) => runId === due.runId);
        return shared ? { ...result, runs: [...result.runs, { ...due }] } : result;
      }
    },
  },
  {
    it: "looks for the id before it starts a run, and not again",
    noun: "concurrency",
    Store: class extends Saboteur {
      override async startRuns(params: StartRunsParams) {
        const free = params.starts.every(({ run }) => !this.rows().some((row) => row.id === run.id));
        const starts = params.starts.map((start) => (free ? ({ ...start, ifRunning: "replace" } as const) : start));
        return super.startRuns({ ...params, starts });
      }
    },
  },
  {
    it: "gives out its own rows instead of copies",
    noun: "reading",
    Store: class extends Saboteur {
      override async readRuns(params: { runs: readonly RunRef[] }) {
        const runs = await super.readRuns(params);
        return runs.map((run) => (run ? this.row(run.runId) : null));
      }
    },
  },
];
