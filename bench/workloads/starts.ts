import type { Workload } from "../lab/workload.ts";
import { flood } from "./flow.ts";

export const starts: Workload = {
  name: "starts",
  title: "Starting runs, with no worker at work",
  about:
    "A client alone: one call for each run, 200 in flight; then 500 runs per call. The peers' starts/s are listed with the runs of 1 step.",
  sizes: {
    tiny: { runs: 40, warm: 10, chunk: 10 },
    normal: { runs: 20_000, warm: 1_000, chunk: 500 },
    full: { runs: 100_000, warm: 1_000, chunk: 500 },
  },
  measure: (bench) => bench.one({ clientOnly: true }),
  parts: {
    main: async ({ engine, size, mark }) => {
      const { runs = 0, warm = 0, chunk = 1 } = size;
      await flood(warm, 200, (i) => engine.start("seq", `warm-${i}`, 1));
      await mark("begin");
      let began = performance.now();
      await flood(runs, 200, (i) => engine.start("seq", `one-${i}`, 1));
      const single = runs / ((performance.now() - began) / 1000);
      await mark("finish");
      began = performance.now();
      for (let i = 0; i < runs; i += chunk) {
        const ids = Array.from({ length: Math.min(chunk, runs - i) }, (_, k) => `many-${i + k}`);
        await engine.startMany?.("seq", ids, () => 1);
      }
      const many = runs / ((performance.now() - began) / 1000);
      const missing = warm + 2 * runs - (await engine.pending());
      return { runs, startsPerSecond: single, startsPerSecondMany: many, missing };
    },
  },
  shown: [
    { figure: "startsPerSecond", title: "starts/s, one by one", better: "higher", chart: true },
    { figure: "startsPerSecondMany", title: "starts/s, 500 per call", better: "higher" },
    { figure: "walBytesPerStep", title: "WAL bytes per start", better: "lower" },
    { figure: "commitsPerStep", title: "commits per start", digits: 3, better: "lower" },
  ],
  goals: [],
};
