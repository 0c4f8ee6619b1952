import type { Bench } from "../lab/bench.ts";
import { costsOf } from "../lab/counters.ts";
import type { Figures, Size } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { costsShown, ratioGoal, STORES, type Workload } from "../lab/workload.ts";
import type { Medians } from "../report/medians.ts";
import { drive, pause, warm } from "./flow.ts";
import { latencies } from "./latency.ts";

/** Peers that dispatch work elsewhere and wait for its result. */
const PEERS = ["dbos", "restate", "pg-boss"];
/** At this share of the rate of steps, two processes do 8,000 tasks/s where one does 37,000 steps/s. */
const SHARE_TWO = 8 / 37;

export const tasks: Workload = {
  name: "tasks",
  title: "Runs of 10 tasks",
  about:
    "Tasks, one after the other in each run, that do what the steps do: with the workflows and the tasks in one process, and with a second process that executes the tasks. Steps/s are those of runs of ten steps in the same process, just before. Latency is that of a run of one task on an idle system; the bare figure is the store calls that it needs, one after the other. Peers: DBOS enqueues a workflow and awaits it, Restate calls a service, pg-boss sends a job and its caller, which is not durable, waits for it; all in one process.",
  sizes: {
    tiny: { runs: 10, tasks: 5, warm: 4, times: 3, idleMs: 20 },
    normal: { runs: 3_000, tasks: 10, warm: 300, times: 100, idleMs: 500 },
    full: { runs: 10_000, tasks: 10, warm: 1_000, times: 300, idleMs: 500 },
  },
  peerSizes: {
    tiny: { runs: 5, tasks: 5, warm: 3, times: 3, idleMs: 20 },
    normal: { runs: 300, tasks: 10, warm: 50, times: 20, idleMs: 500 },
    full: { runs: 500, tasks: 10, warm: 50, times: 50, idleMs: 500 },
  },
  measure: async (bench) => (bench.definition.kind === "own" ? ours(bench) : bench.one()),
  parts: { main, beside, runs: (inside) => apart(inside, "Two"), tasks: taskWorker },
  counted: (snapshots, figures) => ({
    ...costsOf(snapshots, "Task", "", figures["tasks"]),
    ...costsOf(snapshots, "Task", "Two", figures["tasksTwo"]),
  }),
  shown: [
    { figure: "tasksPerSecond", title: "tasks/s", better: "higher", chart: true },
    { figure: "tasksPerSecondTwo", title: "tasks/s, two processes", better: "higher", chart: true },
    { figure: "stepsPerSecond", title: "steps/s", better: "higher" },
    { figure: "share", title: "tasks / steps", digits: 2, better: "higher" },
    { figure: "shareTwo", title: "tasks / steps, two processes", digits: 2, better: "higher" },
    { figure: "p50", title: "latency, p50, ms", digits: 2, better: "lower" },
    { figure: "p50Two", title: "latency, p50, ms, two processes", digits: 2, better: "lower" },
    { figure: "allocatedBytesPerStep", title: "heap bytes allocated per task", better: "lower" },
    ...costsShown("Task", "task"),
    ...costsShown("Task", "task", "Two", "two processes"),
  ],
  goals: [
    ratioGoal({
      text: "runs of 10 tasks on PostgreSQL: tasks/s over the best peer",
      of: ["tasks", "tasksPerSecond"],
      over: "holdfast-postgres",
      under: PEERS,
      atLeast: 10,
    }),
    ...STORES.flatMap(([store, title]) => [
      valueGoal(`runs of 10 tasks on ${title}: tasks/s over steps/s`, store, "share", { atLeast: 0.4 }),
      valueGoal(`runs of 10 tasks on ${title}, two processes: tasks/s over steps/s`, store, "shareTwo", {
        atLeast: Number(SHARE_TWO.toFixed(3)),
      }),
    ]),
    valueGoal("runs of 10 tasks on PostgreSQL: commits per task", "postgres", "commitsPerTask", { atMost: 0.05 }),
    valueGoal("runs of 10 tasks on PostgreSQL, two processes: commits per task", "postgres", "commitsPerTaskTwo", {
      atMost: 0.05,
    }),
    ...STORES.flatMap(([store, title]) =>
      [
        ["p50", ""],
        ["p50Two", ", two processes"],
      ].map(([figure = "", how = ""]) =>
        ratioGoal({
          text: `idle latency of a task on ${title}${how}: p50 over that of the bare commits it needs`,
          of: ["tasks", figure],
          over: `holdfast-${store}`,
          under: [`bare-${store}`],
          atMost: 1.5,
        }),
      ),
    ),
  ],
};

function valueGoal(text: string, store: string, figure: string, bound: { atLeast?: number; atMost?: number }) {
  return { text, figure: (m: Medians) => m.value("tasks", `holdfast-${store}`, figure), ...bound };
}

async function ours(bench: Bench): Promise<Figures> {
  const one = await bench.start("beside").figures;
  const two = await twoProcesses(bench);
  const stepsPerSecond = one["stepsPerSecond"] ?? Number.NaN;
  const share = (one["tasksPerSecond"] ?? Number.NaN) / stepsPerSecond;
  const shareTwo = (two["tasksPerSecondTwo"] ?? Number.NaN) / stepsPerSecond;
  return { ...one, ...two, share, shareTwo, stepsWrong: (one["stepsWrong"] ?? 0) + (two["stepsWrong"] ?? 0) };
}

/** One process starts and executes the runs, another one executes their tasks. */
export async function twoProcesses(bench: Bench, more: Size = {}): Promise<Figures> {
  const { warm: warming = 0, runs = 0, tasks: each = 0, times = 0 } = bench.size;
  const size = { ...bench.size, ...more };
  const worker = bench.start("tasks", { serves: "tasks", size });
  await worker.passed("ready");
  const { allocatedBytes, nodeCpuSeconds, ...figures } = await bench.start("runs", { serves: "runs", size }).figures;
  worker.tell("stop");
  const did = (await worker.figures)["did"] ?? 0;
  return { ...figures, stepsWrong: Math.abs(did - (warming + runs) * each - times) };
}

export async function taskWorker({ hooks, mark, hear }: Inside): Promise<Figures> {
  await mark("ready");
  await hear("stop");
  return { did: hooks.steps };
}

/** Steps and tasks in the same process, so that their rates can be compared. */
async function beside(inside: Inside): Promise<Figures> {
  const { runs = 0, tasks: each = 0 } = inside.size;
  await warm(inside, each);
  const { seconds } = await drive(inside, { kind: "seq", name: "steps", runs, arg: each });
  return { ...(await main(inside)), stepsPerSecond: (runs * each) / seconds };
}

async function main(inside: Inside): Promise<Figures> {
  const before = inside.hooks.steps;
  const figures = await apart(inside, "");
  const { warm: warming = 0, runs = 0, tasks: each = 0, times = 0 } = inside.size;
  const expected = (warming + runs) * each + times;
  // By these names the bench counts what one process allocates.
  return { ...figures, steps: runs * each, stepsWrong: Math.abs(inside.hooks.steps - before - expected) };
}

/** The runs; whether this process executes their tasks too is not said here. */
export async function apart(inside: Inside, stage: string): Promise<Figures> {
  const { engine, size, mark } = inside;
  const { runs = 0, tasks: each = 0 } = size;
  await warm(inside, each, "tasks", stage);
  await mark(`begin${stage}`);
  const { seconds } = await drive(inside, { kind: "tasks", name: `tasks${stage}`, runs, arg: each });
  await mark(`finish${stage}`);
  await pause(size["idleMs"] ?? 500);
  const once = async (i: number) => (await engine.start("tasks", `task${stage}-${i}`, 1)).result();
  const { p50 = Number.NaN, p95 = Number.NaN } = await latencies({ ...size, steps: 1 }, once);
  return {
    [`tasks${stage}`]: runs * each,
    [`tasksPerSecond${stage}`]: (runs * each) / seconds,
    [`p50${stage}`]: p50,
    [`p95${stage}`]: p95,
  };
}
