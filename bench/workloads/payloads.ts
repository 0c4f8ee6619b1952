import type { Workload } from "../lab/workload.ts";
import { flood, settle, warm, within } from "./flow.ts";

const SMALL = 1024;
const LARGE = 64 * 1024;

export const payloads: Workload = {
  name: "payloads",
  title: "Mixed load with results of 1 KiB and 64 KiB",
  about: "Runs of three steps; the results of every tenth run are 64 KiB each, those of the others 1 KiB.",
  sizes: {
    tiny: { runs: 20, warm: 5 },
    normal: { runs: 3_000, warm: 200 },
    full: { runs: 20_000, warm: 500 },
  },
  parts: {
    main: async (inside) => {
      const { engine, hooks, size, mark } = inside;
      const { runs = 0 } = size;
      const bytes = (i: number): number => (i % 10 === 0 ? LARGE : SMALL);
      await warm(inside, 3);
      await mark("begin");
      const began = performance.now();
      let wrong = 0;
      await flood(runs, 500, async (i) => {
        const run = await engine.start("payload", `load-${i}`, bytes(i));
        if ((await run.result()) !== 3 * bytes(i)) wrong += 1;
      });
      await within(settle(engine), "mixed load");
      const seconds = (performance.now() - began) / 1000;
      await mark("finish");
      const total = 3 * Array.from({ length: runs }, (_, i) => bytes(i)).reduce((sum, one) => sum + one, 0);
      return {
        runs,
        steps: runs * 3,
        wrong,
        runsPerSecond: runs / seconds,
        mebibytesPerSecond: total / 1024 / 1024 / seconds,
        stepsTooMany: hooks.steps - (size["warm"] ?? 0) * 3 - runs * 3,
      };
    },
  },
  shown: [
    { figure: "runsPerSecond", title: "runs/s", better: "higher", chart: true },
    { figure: "mebibytesPerSecond", title: "MiB/s of results", digits: 1, better: "higher" },
    { figure: "walBytesPerStep", title: "WAL bytes per step", better: "lower" },
  ],
  goals: [],
};
