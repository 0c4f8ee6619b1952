import { STORES, type Workload } from "../lab/workload.ts";
import { flood, pause, quantile, warm, within } from "./flow.ts";

export const schedules: Workload = {
  name: "schedules",
  title: "Schedules",
  about:
    "Schedules that are all due at the same moment: how late each run is created, and how late its code begins. Then the statements per minute of a worker that leads, with many schedules that are due on another day.",
  sizes: {
    tiny: { due: 20, later: 20, warm: 3, aheadMs: 1_500, seconds: 0.2 },
    normal: { due: 1_000, later: 10_000, warm: 100, aheadMs: 6_000, seconds: 20 },
    full: { due: 1_000, later: 10_000, warm: 100, aheadMs: 6_000, seconds: 60 },
  },
  once: "everybody",
  parts: {
    main: async (inside) => {
      const { engine, hooks, size, mark } = inside;
      const { due = 0, later = 0, aheadMs = 0, seconds = 0 } = size;
      await warm(inside, 1);
      const at = Date.now() + aheadMs;
      const all = hooks.untilFinished(due);
      await flood(due, 50, async (i) => engine.schedule?.(`due-${i}`, at));
      if (Date.now() >= at) throw new Error("the schedules were due before all of them existed");
      await within(all, `${due} schedules`);
      const late = (await engine.lateness?.()) ?? [];
      await flood(later, 50, async (i) => engine.schedule?.(`later-${i}`, at + 86_400_000));
      await pause(Math.min(3_000, aheadMs));
      await mark("begin");
      await pause(seconds * 1000);
      await mark("finish");
      const [fired, began] = [late.map((one) => one.firedMs), late.map((one) => one.beganMs)];
      return {
        missing: due - late.length,
        firedP50: quantile(fired, 0.5),
        firedP99: quantile(fired, 0.99),
        beganP50: quantile(began, 0.5),
        beganP99: quantile(began, 0.99),
      };
    },
  },
  counted: (snapshots) => {
    const [a, b] = [snapshots.get("begin"), snapshots.get("finish")];
    const [before, after] = [a?.postgres?.statements, b?.postgres?.statements];
    if (!a || !b || before === undefined || after === undefined) return {};
    return { statementsPerMinute: ((after - before) * 60_000) / (b.at - a.at) };
  },
  shown: [
    { figure: "firedP99", title: "created late, p99, ms", digits: 0, better: "lower" },
    { figure: "firedP50", title: "created late, p50, ms", digits: 0, better: "lower" },
    { figure: "beganP99", title: "begun late, p99, ms", digits: 0, better: "lower" },
    { figure: "statementsPerMinute", title: "statements per minute, idle", better: "lower" },
  ],
  goals: STORES.map(([store, title]) => ({
    text: `1,000 schedules due at once on ${title}: how late runs are created, p99`,
    figure: (m) => m.value("schedules", `holdfast-${store}`, "firedP99"),
    atMost: 250,
    unit: "ms",
  })),
};
