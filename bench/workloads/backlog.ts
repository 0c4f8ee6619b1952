import type { Bench } from "../lab/bench.ts";
import type { Snapshots } from "../lab/counters.ts";
import type { Figures } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { STORES, type Workload } from "../lab/workload.ts";
import type { Place } from "../limits/bare-tasks.ts";
import type { Medians } from "../report/medians.ts";
import { flood, quantile } from "./flow.ts";
import { apart, taskWorker, twoProcesses } from "./tasks.ts";

const CLAIMS = 20;
const CLAIMED = 50;
/** Calls that prepare plans, which also reads pages, are not counted. */
const UNCOUNTED = 5;

/** What the measured worker cannot do: by its queue, by its name, and by what it requires. */
const OTHERS: readonly Place[] = [
  { name: "work", queue: "elsewhere", requires: [] },
  { name: "other", queue: "default", requires: [] },
  { name: "work", queue: "default", requires: ["gpu"] },
  { name: "bare", queue: "default", requires: ["gpu=a100"] },
];

export const backlog: Workload = {
  name: "backlog",
  title: "1,000,000 due tasks that the worker cannot do",
  about:
    "The same claims of 50 due tasks, through the store's own calls, and the same runs of ten tasks in two processes, in a store that is nearly empty and in one with a million due tasks of another queue, of another name, or with labels that the worker does not have. Pages (buffers) that PostgreSQL read come from pg_stat_statements; milliseconds are medians. The tables are vacuumed first, as autovacuum would do.",
  sizes: {
    tiny: { backlog: 200, each: 50, runs: 6, tasks: 3, warm: 3, times: 2, idleMs: 20 },
    normal: { backlog: 1_000_000, each: 5_000, runs: 1_000, tasks: 10, warm: 200, times: 50, idleMs: 500 },
    full: { backlog: 1_000_000, each: 5_000, runs: 5_000, tasks: 10, warm: 500, times: 200, idleMs: 500 },
  },
  once: "everybody",
  measure,
  parts: {
    fill,
    runs: (inside) => apart(inside, inside.size["full"] ? "Full" : "Empty"),
    tasks: taskWorker,
  },
  counted: (snapshots) => buffers(snapshots),
  shown: [
    { figure: "msClaimEmpty", title: "ms per claim of 50, empty", digits: 2, better: "lower" },
    { figure: "msClaimFull", title: "ms per claim of 50, full", digits: 2, better: "lower" },
    { figure: "buffersEmpty", title: "buffers per claimed task, empty", digits: 1, better: "lower" },
    { figure: "buffersFull", title: "buffers per claimed task, full", digits: 1, better: "lower" },
    { figure: "tasksPerSecondEmpty", title: "tasks/s, empty", better: "higher" },
    { figure: "tasksPerSecondFull", title: "tasks/s, full", better: "higher", chart: true },
    { figure: "p50Empty", title: "latency, p50, ms, empty", digits: 2, better: "lower" },
    { figure: "p50Full", title: "latency, p50, ms, full", digits: 2, better: "lower" },
    { figure: "fillPerSecond", title: "tasks/s while filling", better: "higher" },
  ],
  goals: [
    {
      text: "1,000,000 due tasks for others on PostgreSQL: buffers per claimed task over those in an empty store",
      figure: (m: Medians) => m.value("backlog", "holdfast-postgres", "buffersRatio"),
      atMost: 1.2,
      unit: "times",
    },
    ...STORES.flatMap(([store, title]) => [
      {
        text: `1,000,000 due tasks for others on ${title}: tasks/s over those in an empty store`,
        figure: (m: Medians) => m.value("backlog", `holdfast-${store}`, "rateRatio"),
        atLeast: 0.8,
        unit: "times",
      },
      {
        text: `1,000,000 due tasks for others on ${title}: due tasks that a claim did not find`,
        figure: (m: Medians) => m.value("backlog", `holdfast-${store}`, "missing"),
        atMost: 0,
      },
    ]),
  ],
};

async function measure(bench: Bench): Promise<Figures> {
  const empty = await twoProcesses(bench);
  const filled = await bench.start("fill", { clientOnly: true }).figures;
  const full = await twoProcesses(bench, { full: 1 });
  const rateRatio = (full["tasksPerSecondFull"] ?? Number.NaN) / (empty["tasksPerSecondEmpty"] ?? Number.NaN);
  const stepsWrong = (empty["stepsWrong"] ?? 0) + (full["stepsWrong"] ?? 0);
  const { allocatedBytes, nodeCpuSeconds, ...claims } = filled;
  return { ...empty, ...claims, ...full, rateRatio, stepsWrong };
}

/** Claims in the nearly empty store, then fills it, then the same claims again. */
async function fill(inside: Inside): Promise<Figures> {
  const { backlog: count = 0, each = 1 } = inside.size;
  const { BareLoop } = await import("../limits/bare-loop.ts");
  const { BareTasks } = await import("../limits/bare-tasks.ts");
  const store = inside.job.engine === "holdfast-sqlite" ? "sqlite" : "postgres";
  const loop = await BareLoop.open(store, inside.job.url);
  const bare = new BareTasks(loop);
  try {
    const empty = await claims(inside, bare, "Empty");
    const began = performance.now();
    await flood(count / each, 2, () => bare.add(each, (i) => OTHERS[i % OTHERS.length] as Place));
    const fillPerSecond = count / ((performance.now() - began) / 1000);
    if (store === "postgres") {
      const { adminQuery } = await import("../lab/stores.ts");
      await adminQuery(inside.job.url, "vacuum (analyze)");
    }
    const full = await claims(inside, bare, "Full");
    const missing = (empty["missing"] ?? 0) + (full["missing"] ?? 0);
    return { ...empty, ...full, missing, fillPerSecond };
  } finally {
    await loop.close();
  }
}

type Bare = InstanceType<typeof import("../limits/bare-tasks.ts")["BareTasks"]>;

async function claims({ mark }: Inside, bare: Bare, name: string): Promise<Figures> {
  const { HERE } = await import("../limits/bare-tasks.ts");
  const took: number[] = [];
  let missing = 0;
  for (let i = 0; i < UNCOUNTED + CLAIMS; i++) await bare.add(CLAIMED, () => HERE);
  for (let i = 0; i < UNCOUNTED + CLAIMS; i++) {
    if (i === UNCOUNTED) await mark(`claim${name}From`);
    const began = performance.now();
    missing += CLAIMED - (await bare.claim(CLAIMED)).length;
    if (i >= UNCOUNTED) took.push(performance.now() - began);
  }
  await mark(`claim${name}To`);
  return { [`msClaim${name}`]: quantile(took, 0.5), missing };
}

function buffers(snapshots: Snapshots): Figures {
  const per = (name: string): number =>
    ((snapshots.get(`claim${name}To`)?.postgres?.buffers ?? Number.NaN) -
      (snapshots.get(`claim${name}From`)?.postgres?.buffers ?? Number.NaN)) /
    (CLAIMS * CLAIMED);
  const [empty, full] = [per("Empty"), per("Full")];
  return Number.isNaN(empty + full) ? {} : { buffersEmpty: empty, buffersFull: full, buffersRatio: full / empty };
}
