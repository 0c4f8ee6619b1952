import {
  type ClaimRunsParams,
  type CommitRunsParams,
  type HeartbeatParams,
  isClosed,
  type ListRunsParams,
  type ListWorkersParams,
  type ReleaseRunsParams,
  type ResumeParams,
  type RunRef,
  type StartRunsParams,
  type SweepParams,
  type TerminateRunsParams,
  type WorkerRef,
} from "holdfast/adapter";
import type { Sabotage } from "./saboteur.ts";

export const WORKERS_AND_VIEWS: readonly Sabotage[] = [
  {
    it: "revives dead workers with a heartbeat",
    noun: "leases",
    breaks: (it) => ({
      "workers.heartbeat": (params: HeartbeatParams) => {
        const worker = it.state.workers.get(params.workerId);
        if (worker) worker.status = "online";
        return it.workers.heartbeat(params);
      },
    }),
  },
  {
    it: "lists workers that have been gone for long",
    noun: "leases",
    rare: true,
    breaks: (it) => ({
      "workers.list": ({ namespace }: ListWorkersParams) => it.workers.list({ namespace }),
    }),
  },
  {
    it: "leaves out workers that have only just gone",
    noun: "leases",
    rare: true,
    breaks: (it) => ({
      "workers.list": async (params: ListWorkersParams) => {
        const rows = await it.workers.list(params);
        return params.goneSince === undefined ? rows : rows.filter(({ status }) => status !== "offline");
      },
    }),
  },
  {
    it: "releases runs without looking at the epoch",
    noun: "leases",
    breaks: (it) => ({
      "runs.releaseIfHeld": (params: ReleaseRunsParams) => {
        const runs = params.runs.map(({ runId }) => ({ runId, epoch: it.row(runId)?.epoch ?? 0 }));
        return it.runs.releaseIfHeld({ ...params, runs });
      },
    }),
  },
  {
    it: "counts a death when a worker signs off",
    noun: "sweeps",
    breaks: (it) => ({
      "workers.stop": async (params: WorkerRef) => {
        const held = it.rows().filter((row) => row.heldBy === params.workerId);
        await it.workers.stop(params);
        for (const row of held) row.deaths += 1;
      },
    }),
  },
  {
    it: "leaves the epoch as it was when it returns a run",
    noun: "sweeps",
    breaks: (it) => ({
      "workers.sweep": async (params: SweepParams) => {
        const before = it.rows().map((row) => [row, row.epoch] as const);
        const result = await it.workers.sweep(params);
        for (const [row, epoch] of before) row.epoch = epoch;
        return result;
      },
    }),
  },
  {
    it: "parks runs for deaths in company",
    noun: "sweeps",
    breaks: (it) => ({
      "workers.sweep": (params: SweepParams) => {
        for (const row of it.rows()) row.alone = row.heldBy !== null;
        return it.workers.sweep(params);
      },
    }),
  },
  {
    it: "times runs out while they are held",
    noun: "sweeps",
    breaks: (it) => ({
      "workers.sweep": async (params: SweepParams) => {
        const result = await it.workers.sweep(params);
        for (const row of it.rows())
          if (row.deadlineAt !== null && row.deadlineAt < result.now && row.heldBy !== null) row.status = "timed_out";
        return result;
      },
    }),
  },
  {
    it: "terminates without taking the epoch on",
    noun: "operators",
    breaks: (it) => ({
      "runs.terminate": async (params: TerminateRunsParams) => {
        const outcomes = await it.runs.terminate(params);
        for (const { outcome, runId } of outcomes)
          if (outcome === "terminated" && runId !== null) it.row(runId).epoch -= 1;
        return outcomes;
      },
    }),
  },
  {
    it: "remembers the deaths of a run that was resumed",
    noun: "operators",
    rare: true,
    breaks: (it) => ({
      "runs.resumeIfParked": async (params: ResumeParams) => {
        const before = it.rows().map((row) => [row, row.deaths] as const);
        const result = await it.runs.resumeIfParked(params);
        for (const [row, deaths] of before) row.deaths = deaths;
        return result;
      },
    }),
  },
  {
    it: "begins a page with the run that ended the last one",
    noun: "listing",
    breaks: (it) => ({
      "runs.list": (params: ListRunsParams) => {
        const { before } = params;
        if (!before) return it.runs.list(params);
        return it.runs.list({ ...params, before: { ...before, runId: `${before.runId}~` } });
      },
    }),
  },
  ...(["waitingFor", "retrying", "waitingSince", "error", "endedAfter", "endedBefore"] as const).map(
    (filter): Sabotage => ({
      it: `does not look at ${filter} in a list`,
      noun: "lists by state",
      breaks: (it) => ({
        "runs.list": ({ [filter]: _ignored, ...params }: ListRunsParams) => it.runs.list(params),
      }),
    }),
  ),
  {
    it: "says that the last event of a run was when it was created",
    noun: "lists by state",
    breaks: (it) => ({
      "runs.list": async (params: ListRunsParams) =>
        (await it.runs.list(params)).map((row) => ({ ...row, lastEventAt: row.createdAt - 1 })),
    }),
  },
  {
    it: "takes attributes for equal that look alike",
    noun: "listing",
    rare: true,
    breaks: (it) => ({
      "runs.list": async ({ attributes = {}, ...params }: ListRunsParams) => {
        const rows = await it.runs.list(params);
        return rows.filter((row) =>
          Object.entries(attributes).every(([name, value]) => String(row.attributes[name]) === String(value)),
        );
      },
    }),
  },
  {
    it: "gives no hints",
    noun: "hints",
    breaks: (it) => {
      // Hints wait in the state until the call is over.
      Object.defineProperty(it.state, "hints", { get: () => [], set: () => {} });
      return {};
    },
  },
  {
    it: "looks whether the holder is behind before it locks the row",
    noun: "concurrency",
    breaks: (it) => ({
      "runs.commit": async (params: CommitRunsParams) => {
        const upToDate = params.commits.filter(({ runId, consumed }) => it.row(runId).delivered <= consumed);
        const result = await it.runs.commit(params);
        for (const { runId, transition } of upToDate) {
          const row = it.row(runId);
          if (transition.type !== "suspend" || row.heldBy === null) continue;
          it.state.held.get(row.heldBy)?.delete(runId);
          Object.assign(row, { heldBy: null, claimId: null, status: transition.status, availableAt: null });
        }
        const outcomes = result.outcomes.map((one, i) => {
          const row = it.row(params.commits[i]?.runId ?? "");
          return { ...one, held: one.held && row.heldBy !== null };
        });
        return { ...result, outcomes };
      },
    }),
  },
  {
    it: "lets two claims that overlap take the same run",
    noun: "concurrency",
    breaks: (it) => {
      let inFlight = 0;
      return {
        "runs.claim": async (params: ClaimRunsParams) => {
          inFlight += 1;
          const due = it.rows().find((row) => row.availableAt !== null && !isClosed(row.status));
          const result = await it.runs.claim(params);
          inFlight -= 1;
          const shared = inFlight > 0 && due && !result.runs.some(({ runId }) => runId === due.runId);
          return shared ? { ...result, runs: [...result.runs, { ...due }] } : result;
        },
      };
    },
  },
  {
    it: "looks for the id before it starts a run, and not again",
    noun: "concurrency",
    breaks: (it) => ({
      "runs.start": async (params: StartRunsParams) => {
        const free = params.starts.every(({ run }) => !it.rows().some((row) => row.id === run.id));
        const starts = params.starts.map((start) => (free ? ({ ...start, ifRunning: "replace" } as const) : start));
        return it.runs.start({ ...params, starts });
      },
    }),
  },
  {
    it: "gives out its own rows instead of copies",
    noun: "reading",
    breaks: (it) => ({
      "runs.read": async (params: { runs: readonly RunRef[] }) => {
        const runs = await it.runs.read(params);
        return runs.map((run) => (run ? it.row(run.runId) : null));
      },
    }),
  },
];
