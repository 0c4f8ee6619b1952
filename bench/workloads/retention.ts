import type { Figures } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { STORES, type Workload } from "../lab/workload.ts";
import { drive, flood, pause, warm } from "./flow.ts";

const NAMESPACE = "default";

export const retention: Workload = {
  name: "retention",
  title: "Runs of 10 steps while old runs are purged",
  about:
    "Runs of ten steps in a store with many finished runs: alone, and while the leader, which is the same worker, purges the finished ones by the rules of retention: alone, purging, purging, alone. The tables are vacuumed first, as autovacuum would do.",
  sizes: {
    tiny: { filling: 2_000, group: 250, runs: 30, steps: 10, warm: 10 },
    normal: { filling: 100_000, group: 2_000, runs: 10_000, steps: 10, warm: 500 },
    full: { filling: 1_000_000, group: 2_000, runs: 20_000, steps: 10, warm: 1_000, rounds: 2 },
  },
  once: "everybody",
  parts: { main },
  shown: [
    { figure: "kept", title: "share of the steps/s that is left during a purge", digits: 2, better: "higher" },
    { figure: "stepsPerSecondPurging", title: "steps/s during a purge", better: "higher" },
    { figure: "stepsPerSecond", title: "steps/s without one", better: "higher" },
    { figure: "purgedPerSecond", title: "runs purged/s meanwhile", better: "higher" },
  ],
  goals: STORES.flatMap(([store, title]) => [
    {
      text: `a purge of 1,000,000 runs on ${title}: share of the steps/s of runs of 10 steps that is left`,
      figure: (m) => m.value("retention", `holdfast-${store}`, "kept"),
      atLeast: 0.9,
      unit: "times",
    },
    {
      text: `a purge of 1,000,000 runs on ${title}: stages in which nothing was purged`,
      figure: (m) => m.value("retention", `holdfast-${store}`, "idle"),
      atMost: 0,
    },
  ]),
};

async function main(inside: Inside): Promise<Figures> {
  const { filling = 0, group = 1, runs = 0, steps = 1, rounds = 1 } = inside.size;
  const { BareLoop } = await import("../limits/bare-loop.ts");
  const kind = inside.job.engine === "holdfast-sqlite" ? "sqlite" : "postgres";
  const loop = await BareLoop.open(kind, inside.job.url);
  const { store } = loop;
  try {
    await flood(filling / group, 2, () => loop.group(group, 1));
    const { now: filledAt } = await store.readClock();
    // Otherwise the vacuum of all that has been filled in falls into one of the stages.
    if (kind === "postgres") {
      const { adminQuery } = await import("../lab/stores.ts");
      await adminQuery(inside.job.url, "vacuum (analyze)");
    }
    await warm(inside, steps);
    const seconds = { alone: 0, purging: 0 };
    let [purged, idle] = [0, 0];
    const left = (): Promise<number> => store.runs.count({ namespace: NAMESPACE, atMost: null });
    const measure = async (stage: "alone" | "purging", name: string): Promise<void> => {
      seconds[stage] += (await drive(inside, { kind: "seq", name, runs, arg: steps })).seconds;
    };
    const measurePurging = async (name: string): Promise<void> => {
      const { now } = await store.readClock();
      // What has been measured so far is not old enough: so the work of a purge is that of the filling.
      await store.retention.set({ namespace: NAMESPACE, rules: { completed: now - filledAt } });
      const before = await left();
      while ((await left()) >= before) await pause(5);
      const from = await left();
      await measure("purging", name);
      const gone = from + runs - (await left());
      await store.retention.set({ namespace: NAMESPACE, rules: {} });
      purged += gone;
      if (gone <= 0) idle += 1;
    };
    for (let round = 1; round <= rounds; round++) {
      // In this order, because what comes later is faster.
      await measure("alone", `a${round}`);
      await measurePurging(`b${round}`);
      await measurePurging(`c${round}`);
      await measure("alone", `d${round}`);
    }
    const did = 2 * rounds * runs * steps;
    return {
      idle,
      kept: seconds.alone / seconds.purging,
      stepsPerSecond: did / seconds.alone,
      stepsPerSecondPurging: did / seconds.purging,
      purgedPerSecond: purged / seconds.purging,
    };
  } finally {
    await loop.close();
  }
}
