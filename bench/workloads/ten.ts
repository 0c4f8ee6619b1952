import { ratioGoal, STORES, type Workload } from "../lab/workload.ts";
import { throughput } from "./flow.ts";

export const ten: Workload = {
  name: "ten",
  title: "Runs of 10 steps",
  about: "Many runs of ten steps, one after the other in each run. Steps do nothing and return 17 bytes.",
  sizes: {
    tiny: { runs: 30, steps: 10, warm: 10 },
    normal: { runs: 5_000, steps: 10, warm: 500 },
    full: { runs: 20_000, steps: 10, warm: 1_000 },
  },
  peerSizes: {
    tiny: { runs: 20, steps: 10, warm: 10 },
    normal: { runs: 400, steps: 10, warm: 100 },
    full: { runs: 2_000, steps: 10, warm: 200 },
  },
  parts: { main: (inside) => throughput(inside, { bulk: false }) },
  shown: [
    { figure: "stepsPerSecond", title: "steps/s", better: "higher", chart: true },
    { figure: "stepsPerSecondTwoFlushes", title: "steps/s, two flushes in flight", better: "higher" },
    { figure: "commitsPerStep", title: "commits per step", digits: 3, better: "lower" },
    { figure: "statementsPerStep", title: "statements per step", digits: 3, better: "lower" },
    { figure: "walBytesPerStep", title: "WAL bytes per step", better: "lower" },
    { figure: "writtenBytesPerStep", title: "bytes written per step", better: "lower" },
    { figure: "allocatedBytesPerStep", title: "heap bytes allocated per step", better: "lower" },
    { figure: "nodeCores", title: "cores of Node", digits: 2, better: "lower" },
    { figure: "serverCores", title: "cores of the server", digits: 2, better: "lower" },
  ],
  goals: [
    ...[
      ["dbos", "DBOS", 45],
      ["openworkflow", "OpenWorkflow", 25],
      ["restate", "Restate", 12],
    ].map(([peer, title, atLeast]) =>
      ratioGoal({
        text: `runs of 10 steps on PostgreSQL: steps/s over ${title}`,
        of: ["ten", "stepsPerSecond"],
        over: "holdfast-postgres",
        under: [String(peer)],
        atLeast: Number(atLeast),
      }),
    ),
    ratioGoal({
      text: "runs of 10 steps on SQLite: steps/s over OpenWorkflow's SQLite",
      of: ["ten", "stepsPerSecond"],
      over: "holdfast-sqlite",
      under: ["openworkflow-sqlite"],
      atLeast: 15,
    }),
    ...STORES.map(([store, title]) =>
      ratioGoal({
        text: `runs of 10 steps on ${title}: share of the bare loop`,
        of: ["ten", "stepsPerSecond"],
        over: `holdfast-${store}`,
        under: [`bare-${store}`],
        atLeast: 0.65,
      }),
    ),
  ],
};
