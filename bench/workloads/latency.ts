import type { Figures, Size } from "../lab/engine.ts";
import { latencyGoal, ratioGoal, STORES, type Workload } from "../lab/workload.ts";
import { pause, quantile, warm } from "./flow.ts";

const ENGINES = ["dbos", "openworkflow", "openworkflow-sqlite", "restate"] as const;

export const latency: Workload = {
  name: "latency",
  title: "Latency of a run of 3 steps on an idle system",
  about:
    "One run at a time, 5 to 50 ms after the previous one, measured from the call of start to its result. The bare figure is the start and the three commits that such a run needs, one after the other.",
  sizes: {
    tiny: { times: 5, steps: 3, warm: 5, idleMs: 50 },
    normal: { times: 150, steps: 3, warm: 100 },
    full: { times: 500, steps: 3, warm: 200 },
  },
  parts: {
    main: async (inside) => {
      const { engine, size, mark } = inside;
      await warm(inside, size["steps"] ?? 3);
      await pause(size["idleMs"] ?? 500);
      await mark("begin");
      return latencies(size, async (i) => (await engine.start("seq", `one-${i}`, size["steps"] ?? 3)).result());
    },
  },
  shown: [
    { figure: "p50", title: "p50, ms", digits: 2, better: "lower", chart: true },
    { figure: "p95", title: "p95, ms", digits: 2, better: "lower" },
    { figure: "p99", title: "p99, ms", digits: 2, better: "lower" },
    { figure: "statementsPerStep", title: "statements per step", digits: 2, better: "lower" },
  ],
  goals: [
    ...["p50", "p99"].map((figure) =>
      latencyGoal({
        text: `idle 3-step latency on PostgreSQL: ${figure} of the best peer over ours`,
        of: ["latency", figure],
        ours: "holdfast-postgres",
        peers: ENGINES,
      }),
    ),
    ...STORES.map(([store, title]) =>
      ratioGoal({
        text: `idle 3-step latency on ${title}: p50 over that of the bare commits it needs`,
        of: ["latency", "p50"],
        over: `holdfast-${store}`,
        under: [`bare-${store}`],
        atMost: 1.5,
      }),
    ),
  ],
};

export async function latencies(size: Size, once: (i: number) => Promise<unknown>): Promise<Figures> {
  const { times = 0, steps = 3 } = size;
  const took: number[] = [];
  for (let i = 0; i < times; i++) {
    const began = performance.now();
    await once(i);
    took.push(performance.now() - began);
    // Out of step with any polling.
    await pause(5 + ((i * 7919) % 46));
  }
  const q = (at: number): number => quantile(took, at);
  return { times, runs: times, steps: times * steps, p50: q(0.5), p95: q(0.95), p99: q(0.99) };
}
