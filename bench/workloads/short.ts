import { ratioGoal, type Workload } from "../lab/workload.ts";
import { throughput } from "./flow.ts";

export const short: Workload = {
  name: "short",
  title: "Runs of 1 step",
  about: "Many runs of one step, each started by its own call, 200 calls in flight. For a queue, a job is a run.",
  sizes: {
    tiny: { runs: 30, steps: 1, warm: 10 },
    normal: { runs: 20_000, steps: 1, warm: 1_000 },
    full: { runs: 60_000, steps: 1, warm: 2_000 },
  },
  peerSizes: {
    tiny: { runs: 20, steps: 1, warm: 10 },
    normal: { runs: 2_000, steps: 1, warm: 200 },
    full: { runs: 10_000, steps: 1, warm: 500 },
  },
  parts: { main: (inside) => throughput(inside, { bulk: false }) },
  shown: [
    { figure: "runsPerSecond", title: "runs/s", better: "higher", chart: true },
    { figure: "startsPerSecond", title: "starts/s", better: "higher" },
    { figure: "commitsPerStep", title: "commits per run", digits: 3, better: "lower" },
    { figure: "statementsPerStep", title: "statements per run", digits: 3, better: "lower" },
    { figure: "walBytesPerStep", title: "WAL bytes per run", better: "lower" },
    { figure: "writtenBytesPerStep", title: "bytes written per run", better: "lower" },
    { figure: "allocatedBytesPerStep", title: "heap bytes allocated per run", better: "lower" },
    { figure: "nodeCores", title: "cores of Node", digits: 2, better: "lower" },
    { figure: "serverCores", title: "cores of the server", digits: 2, better: "lower" },
  ],
  goals: [
    ratioGoal({
      text: "runs of 1 step on PostgreSQL: runs/s over the best workflow engine",
      of: ["short", "runsPerSecond"],
      over: "holdfast-postgres",
      under: ["dbos", "openworkflow", "restate"],
      atLeast: 12,
    }),
  ],
};

export const bulk: Workload = {
  name: "bulk",
  title: "Runs of 1 step, started many at a time",
  about: "The same, started 500 at a time through the engine's bulk call.",
  sizes: {
    tiny: { runs: 30, steps: 1, warm: 10, chunk: 10 },
    normal: { runs: 20_000, steps: 1, warm: 1_000, chunk: 500 },
    full: { runs: 60_000, steps: 1, warm: 2_000, chunk: 500 },
  },
  parts: { main: (inside) => throughput(inside, { bulk: true }) },
  shown: short.shown,
  goals: [
    ratioGoal({
      text: "runs of 1 step on PostgreSQL, started in bulk: runs/s over graphile-worker's plain jobs, added in bulk, its batching on",
      of: ["bulk", "runsPerSecond"],
      over: "holdfast-postgres",
      under: ["graphile-worker"],
      atLeast: 0.65,
    }),
  ],
};
