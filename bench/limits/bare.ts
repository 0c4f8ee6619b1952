import type { PaidDebt } from "holdfast/adapter";
import type { EngineDefinition, Figures } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { latencies } from "../workloads/latency.ts";
import { BareChildren } from "./bare-children.ts";
import { BareLoop } from "./bare-loop.ts";
import { BareTasks } from "./bare-tasks.ts";
import { BareUpdates } from "./bare-updates.ts";

/** Runs in one flush: as many as the engine keeps live. */
const GROUP = 500;
/** Parents in progress at once. */
const PARENTS = 100;

/** The limit of a store for the workloads that have one. */
export function bare(store: "postgres" | "sqlite", title: string): EngineDefinition {
  const groups = (inside: Inside): Promise<Figures> => withLoop(store, inside, grouped);
  return {
    name: `bare-${store}`,
    title: `bare loop, ${title}`,
    kind: "limit",
    store,
    settings: `the store's own calls without an engine, ${GROUP} runs in a flush, one flush at a time (and, for comparison, two)`,
    workloads: ["short", "ten", "long", "latency", "tasks", "children", "updates"],
    bare: {
      short: groups,
      ten: groups,
      long: (inside) => withLoop(store, inside, sequential),
      latency: (inside) => withLoop(store, inside, oneByOne),
      tasks: (inside) => withLoop(store, inside, tasks),
      children: (inside) => withLoop(store, inside, children),
      updates: (inside) => withLoop(store, inside, updates),
    },
  };
}

async function withLoop(
  store: "postgres" | "sqlite",
  inside: Inside,
  work: (loop: BareLoop, inside: Inside) => Promise<Figures>,
): Promise<Figures> {
  const loop = await BareLoop.open(store, inside.job.url);
  try {
    return await work(loop, inside);
  } finally {
    await loop.close();
  }
}

async function grouped(loop: BareLoop, { size, mark }: Inside): Promise<Figures> {
  const { runs = 0, steps = 0 } = size;
  const group = Math.min(GROUP, runs);
  await loop.group(group, steps);
  await mark("begin");
  const rate = async (flushes: number): Promise<number> => {
    let left = runs;
    const began = performance.now();
    const runLoop = async (): Promise<void> => {
      while (left > 0) {
        left -= group / flushes;
        await loop.group(group / flushes, steps);
      }
    };
    await Promise.all(Array.from({ length: flushes }, runLoop));
    return runs / ((performance.now() - began) / 1000);
  };
  const one = await rate(1);
  await mark("finish");
  const two = await rate(2);
  return {
    runs,
    steps: runs * steps,
    runsPerSecond: one,
    stepsPerSecond: one * steps,
    stepsPerSecondTwoFlushes: two * steps,
  };
}

async function sequential(loop: BareLoop, { size, mark }: Inside): Promise<Figures> {
  const { steps = 0 } = size;
  await loop.group(1, 50);
  await mark("begin");
  const began = performance.now();
  await loop.group(1, steps);
  const seconds = (performance.now() - began) / 1000;
  await mark("finish");
  return { steps, seconds, msPerStep: (seconds * 1000) / steps };
}

async function oneByOne(loop: BareLoop, { size, mark }: Inside): Promise<Figures> {
  const { steps = 0 } = size;
  await loop.group(1, steps);
  await mark("begin");
  return latencies(size, () => loop.group(1, steps));
}

/** In one process and in two: all runs of a group at once, then one task at a time. */
async function tasks(loop: BareLoop, { size, mark }: Inside): Promise<Figures> {
  const { runs = 0, tasks: each = 0 } = size;
  const bare = new BareTasks(loop);
  const group = Math.min(GROUP, runs);
  const figures: Figures = {};
  const stage = async (name: string, work: (size: number, tasks: number) => Promise<void>): Promise<void> => {
    await work(group, each);
    await mark(`begin${name}`);
    const began = performance.now();
    for (let left = runs; left > 0; left -= group) await work(Math.min(group, left), each);
    figures[`tasks${name}`] = runs * each;
    figures[`tasksPerSecond${name}`] = (runs * each) / ((performance.now() - began) / 1000);
    await mark(`finish${name}`);
    const { p50 = Number.NaN, p95 = Number.NaN } = await latencies({ ...size, steps: 1 }, () => work(1, 1));
    figures[`p50${name}`] = p50;
    figures[`p95${name}`] = p95;
  };
  await stage("", (n, m) => bare.besideRuns(n, m));
  await stage("Two", (n, m) => bare.elsewhere(n, m));
  return { ...figures, steps: runs * each };
}

/** All of one parent; then those of many parents, of which a hundred are in progress; then one at a time. */
async function children(loop: BareLoop, { size, mark }: Inside): Promise<Figures> {
  const { children: many = 0, wide = 0, parents = 0, ten = 0 } = size;
  const bare = new BareChildren(loop);
  const group = Math.min(PARENTS, parents);
  const rate = async (stage: string, all: number, each: number, once: number): Promise<number> => {
    await bare.pay(await bare.families(once, each));
    await mark(`begin${stage}`);
    const began = performance.now();
    for (let left = all; left > 0; left -= once) await bare.pay(await bare.families(Math.min(once, left), each));
    const perSecond = (all * each) / ((performance.now() - began) / 1000);
    await mark(`finish${stage}`);
    return perSecond;
  };
  const childrenPerSecond = await rate("", wide, many, 1);
  const childrenPerSecondTen = await rate("Ten", parents, ten, group);
  const owed: PaidDebt[] = [];
  // Nobody waits for payments.
  const one = async (): Promise<void> => void owed.push(...(await bare.families(1, 1)));
  const { p50 = Number.NaN, p95 = Number.NaN } = await latencies({ ...size, steps: 1 }, one);
  await bare.pay(owed);
  const counts = { children: wide * many, childrenTen: parents * ten, steps: wide * many };
  return { ...counts, childrenPerSecond, childrenPerSecondTen, p50, p95 };
}

/** As many updates in a call as the workload has in flight; then one at a time. */
async function updates(loop: BareLoop, { size, mark }: Inside): Promise<Figures> {
  const { runs = 0, rounds = 1, calling = 200 } = size;
  const bare = new BareUpdates(loop);
  await bare.open(runs);
  const round = async (): Promise<void> => {
    for (let i = 0; i < runs; i += calling) await bare.update(i, Math.min(calling, runs - i));
  };
  await round();
  await mark("begin");
  const began = performance.now();
  for (let i = 0; i < rounds; i++) await round();
  const perSecond = (rounds * runs) / ((performance.now() - began) / 1000);
  await mark("finish");
  const { p50 = Number.NaN, p95 = Number.NaN } = await latencies({ ...size, steps: 1 }, (i) => bare.update(i, 1));
  return { said: rounds * runs, steps: rounds * runs, perSecond, p50, p95 };
}
