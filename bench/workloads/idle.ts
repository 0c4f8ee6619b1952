import type { Snapshots } from "../lab/counters.ts";
import type { Figures } from "../lab/engine.ts";
import type { Workload } from "../lab/workload.ts";
import { pause, warm } from "./flow.ts";

export const idle: Workload = {
  name: "idle",
  title: "An idle system",
  about:
    "Statements per minute of one worker with nothing to do; for ours also with 10,000 sleeping runs in the store.",
  sizes: {
    tiny: { seconds: 0.2, warm: 3, restMs: 50, sleeping: 20 },
    normal: { seconds: 30, warm: 20, restMs: 3_000, sleeping: 10_000 },
    full: { seconds: 60, warm: 20, restMs: 6_000, sleeping: 100_000 },
  },
  peerSizes: {
    tiny: { seconds: 0.2, warm: 3, restMs: 50, sleeping: 0 },
    normal: { seconds: 15, warm: 20, restMs: 3_000, sleeping: 0 },
    full: { seconds: 60, warm: 20, restMs: 6_000, sleeping: 0 },
  },
  once: "everybody",
  parts: {
    main: async (inside) => {
      const { engine, size, mark } = inside;
      const { seconds = 0, restMs = 0, sleeping = 0 } = size;
      await warm(inside, 1);
      await pause(restMs);
      await mark("begin");
      await pause(seconds * 1000);
      await mark("finish");
      if (sleeping === 0) return { seconds };
      const ids = Array.from({ length: sleeping }, (_, i) => `sleep-${i}`);
      const all = inside.hooks.untilAsleep(sleeping);
      for (let i = 0; i < sleeping; i += 500)
        await engine.startMany?.("sleep", ids.slice(i, i + 500), () => 86_400_000);
      await all;
      await pause(restMs);
      await mark("sleeping");
      await pause(seconds * 1000);
      await mark("slept");
      return { seconds, missing: sleeping - (await engine.pending()) };
    },
  },
  counted: (snapshots) => ({
    ...perMinute(snapshots, "begin", "finish", "statementsPerMinute", "coresIdle"),
    ...perMinute(snapshots, "sleeping", "slept", "statementsPerMinuteSleeping", "coresSleeping"),
  }),
  shown: [
    { figure: "statementsPerMinute", title: "statements per minute", better: "lower", chart: true },
    { figure: "statementsPerMinuteSleeping", title: "the same with sleeping runs", better: "lower" },
    { figure: "coresIdle", title: "cores of the worker", digits: 4, better: "lower" },
  ],
  goals: [
    {
      text: "idle: statements per minute of one worker on PostgreSQL",
      figure: (m) => m.value("idle", "holdfast-postgres", "statementsPerMinute"),
      atMost: 30,
    },
    {
      text: "idle: the same with sleeping runs in the store",
      figure: (m) => m.value("idle", "holdfast-postgres", "statementsPerMinuteSleeping"),
      atMost: 30,
    },
  ],
};

function perMinute(snapshots: Snapshots, from: string, to: string, calls: string, cores: string): Figures {
  const [a, b] = [snapshots.get(from), snapshots.get(to)];
  if (!a || !b) return {};
  const seconds = (b.at - a.at) / 1000;
  const figures: Figures = { [cores]: (b.benchCpu - a.benchCpu) / seconds };
  const [before, after] = [a.postgres?.statements, b.postgres?.statements];
  if (before !== undefined && after !== undefined) figures[calls] = ((after - before) * 60) / seconds;
  return figures;
}
