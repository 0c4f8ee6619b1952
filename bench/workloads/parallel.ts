import { ratioGoal, type Workload } from "../lab/workload.ts";
import { settle, warm, within } from "./flow.ts";

export const parallel: Workload = {
  name: "parallel",
  title: "One run with 1,000 parallel steps",
  about:
    "Measured from the start of the run until its end is in the store. OpenWorkflow allows fewer steps and gets 900.",
  sizes: {
    tiny: { width: 20, warm: 10, before: 1 },
    normal: { width: 1_000, warm: 100, before: 3 },
    full: { width: 1_000, warm: 100, before: 3 },
  },
  parts: {
    main: async (inside) => {
      const { engine, hooks, size, mark } = inside;
      const { width = 0, before = 0 } = size;
      await warm(inside, 1);
      const fan = async (id: string): Promise<number> => {
        const began = performance.now();
        const ended = hooks.untilFinished(1);
        await engine.start("fan", id, width);
        await within(
          ended.then(() => settle(engine)),
          "parallel steps",
        );
        return (performance.now() - began) / 1000;
      };
      for (let i = 0; i < before; i++) await fan(`before-${i}`);
      await mark("begin");
      const stepsBefore = hooks.steps;
      const seconds = await fan("fan");
      const steps = hooks.steps - stepsBefore;
      return {
        runs: 1,
        steps,
        stepsTooMany: steps - width,
        milliseconds: seconds * 1000,
        stepsPerSecond: steps / seconds,
      };
    },
  },
  shown: [
    { figure: "stepsPerSecond", title: "steps/s", better: "higher", chart: true },
    { figure: "milliseconds", title: "ms", digits: 1, better: "lower" },
    { figure: "commitsPerStep", title: "commits per step", digits: 3, better: "lower" },
    { figure: "walBytesPerStep", title: "WAL bytes per step", better: "lower" },
  ],
  goals: [
    ratioGoal({
      text: "1,000 parallel steps in one run on PostgreSQL: steps/s over the best peer",
      of: ["parallel", "stepsPerSecond"],
      over: "holdfast-postgres",
      under: ["dbos", "openworkflow", "restate"],
      atLeast: 8,
    }),
    ratioGoal({
      text: "1,000 parallel steps in one run on SQLite: steps/s over OpenWorkflow's SQLite",
      of: ["parallel", "stepsPerSecond"],
      over: "holdfast-sqlite",
      under: ["openworkflow-sqlite"],
      atLeast: 8,
    }),
  ],
};
