import { ratioGoal, type Workload } from "../lab/workload.ts";
import { flood, pause, settle, warm, within } from "./flow.ts";

export const signals: Workload = {
  name: "signals",
  title: "1,000 waiting runs, all signaled",
  about: "Measured from the first signal, with 200 in flight, until the end of every run is in the store.",
  sizes: {
    tiny: { runs: 20, warm: 5, restMs: 100 },
    normal: { runs: 1_000, warm: 200, restMs: 2_000 },
    full: { runs: 1_000, warm: 200, restMs: 2_000 },
  },
  parts: {
    main: async (inside) => {
      const { engine, hooks, size, mark } = inside;
      const { runs = 0, restMs = 0, starting = 200 } = size;
      await warm(inside, 1);
      const waiting = hooks.untilWaiting(runs);
      await flood(runs, starting, (i) => engine.start("wait", `wait-${i}`, 0));
      await within(waiting, "runs that wait");
      // The wait itself must be recorded, and the worker must be idle.
      await pause(restMs);
      await mark("begin");
      const all = hooks.untilFinished(runs);
      const began = performance.now();
      await flood(runs, starting, async (i) => engine.signal?.(`wait-${i}`));
      await within(
        all.then(() => settle(engine)),
        "signaled runs",
      );
      const seconds = (performance.now() - began) / 1000;
      return { runs, seconds, runsPerSecond: runs / seconds };
    },
  },
  shown: [
    { figure: "runsPerSecond", title: "runs/s", better: "higher", chart: true },
    { figure: "commitsPerStep", title: "commits per run", digits: 3, better: "lower" },
    { figure: "statementsPerStep", title: "statements per run", digits: 3, better: "lower" },
  ],
  goals: [
    ratioGoal({
      text: "1,000 signaled runs on PostgreSQL: runs/s over the best peer",
      of: ["signals", "runsPerSecond"],
      over: "holdfast-postgres",
      under: ["dbos", "openworkflow", "restate"],
      atLeast: 10,
    }),
  ],
};
