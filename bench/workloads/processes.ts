import type { Bench } from "../lab/bench.ts";
import type { Figures } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { STORES, type Workload } from "../lab/workload.ts";
import type { Medians } from "../report/medians.ts";
import { pause, settle, within } from "./flow.ts";

const COUNTS = [1, 2, 4] as const;
const CHUNK = 500;

export const processes: Workload = {
  name: "processes",
  title: "One, two and four worker processes",
  about:
    "A client in its own process starts runs of ten steps, and the workers claim them, with the same total number of runs in flight. Every step and every run is counted: none is executed twice.",
  sizes: {
    tiny: { runs: 40, steps: 10, live: 20, warm: 0, most: 2 },
    normal: { runs: 4_000, steps: 10, live: 500, warm: 500, most: 4 },
    full: { runs: 20_000, steps: 10, live: 500, warm: 500, most: 4 },
  },
  measure,
  parts: { client, worker },
  shown: [
    ...COUNTS.map((n) => ({
      figure: `stepsPerSecond${n}`,
      title: `steps/s, ${n} worker${n > 1 ? "s" : ""}`,
      better: "higher" as const,
      chart: true,
    })),
    { figure: "share2", title: "two / one", digits: 2, better: "higher" },
    { figure: "share4", title: "four / one", digits: 2, better: "higher" },
  ],
  goals: STORES.flatMap(([store, title]) => [
    {
      text: `two worker processes on ${title}: share of one at the same number of live runs`,
      figure: (m: Medians) => m.value("processes", `holdfast-${store}`, "share2"),
      atLeast: 0.8,
    },
    {
      text: `one, two and four worker processes on ${title}: steps executed twice or skipped`,
      figure: (m: Medians) => m.value("processes", `holdfast-${store}`, "stepsWrong"),
      atMost: 0,
    },
  ]),
};

async function measure(bench: Bench): Promise<Figures> {
  const figures: Figures = {};
  let wrong = 0;
  for (const count of COUNTS.filter((one) => one <= (bench.size["most"] ?? 1))) {
    const { rate, stepsWrong } = await withWorkers(bench, count);
    figures[`stepsPerSecond${count}`] = rate;
    if (count > 1) figures[`share${count}`] = rate / (figures["stepsPerSecond1"] ?? Number.NaN);
    wrong += stepsWrong;
  }
  return { ...figures, stepsWrong: wrong };
}

async function withWorkers(bench: Bench, count: number): Promise<{ rate: number; stepsWrong: number }> {
  const { runs = 0, steps = 0, live = 0, warm = 0 } = bench.size;
  const concurrency = Math.ceil(live / count);
  const workers = Array.from({ length: count }, () => bench.start("worker", { size: { ...bench.size, concurrency } }));
  const starter = bench.start("client", { clientOnly: true, size: { ...bench.size, batch: count } });
  await Promise.all(workers.map((worker) => worker.passed(`ready-${worker.pid}`)));
  starter.tell("start");
  const { seconds = Number.NaN } = await starter.figures;
  for (const worker of workers) worker.tell("stop");
  const did = await Promise.all(workers.map((worker) => worker.figures));
  const total = did.reduce((sum, one) => sum + (one["steps"] ?? 0), 0);
  return { rate: (runs * steps) / seconds, stepsWrong: Math.abs(total - (runs + warm) * steps) };
}

/** Warms up the workers, then starts the runs and waits until the store has the end of each. */
async function client({ engine, size, hear, mark }: Inside): Promise<Figures> {
  const { runs = 0, steps = 1, warm = 0, batch = 0 } = size;
  await hear("start");
  const start = async (name: string, n: number): Promise<void> => {
    for (let i = 0; i < n; i += CHUNK) {
      const ids = Array.from({ length: Math.min(CHUNK, n - i) }, (_, k) => `${name}-${batch}-${i + k}`);
      await engine.startMany?.("seq", ids, () => steps);
    }
  };
  await start("warm", warm);
  await within(settle(engine), "warm-up");
  await mark("begin");
  const began = performance.now();
  await start("run", runs);
  while ((await within(engine.pending(), "runs of several workers")) > 0) await pause(10);
  return { seconds: (performance.now() - began) / 1000 };
}

async function worker({ hooks, mark, hear }: Inside): Promise<Figures> {
  await mark(`ready-${process.pid}`);
  await hear("stop");
  return { steps: hooks.steps };
}
