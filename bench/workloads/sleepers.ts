import type { Bench } from "../lab/bench.ts";
import type { Figures } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { STORES, type Workload } from "../lab/workload.ts";
import type { Medians } from "../report/medians.ts";
import { flood, pause, quantile, settle, warm, within } from "./flow.ts";

const MIB = 1024 * 1024;
const CHUNK = 500;

export const sleepers: Workload = {
  name: "sleepers",
  title: "10,000 sleeping runs whose wake-ups are spread over a minute",
  about:
    "Ours: the worker runs in one process, whose memory is measured, and the client in another. The warmed-up worker's memory is compared with its memory when all runs sleep, both after a forced collection, and with its peak. Peers: 500 sleepers over five seconds, client and worker in one process.",
  sizes: {
    tiny: { runs: 30, warm: 20, leadMs: 300, spreadMs: 300 },
    normal: { runs: 10_000, warm: 1_000, leadMs: 6_000, spreadMs: 60_000 },
    full: { runs: 10_000, warm: 1_000, leadMs: 6_000, spreadMs: 60_000 },
  },
  peerSizes: {
    tiny: { runs: 10, warm: 5, leadMs: 1_000, spreadMs: 300 },
    normal: { runs: 500, warm: 100, leadMs: 5_000, spreadMs: 5_000 },
    full: { runs: 1_000, warm: 100, leadMs: 10_000, spreadMs: 10_000 },
  },
  once: "everybody",
  measure: (bench) => (bench.definition.kind === "own" ? twoProcesses(bench) : bench.one()),
  parts: { main: oneProcess, worker, client },
  shown: [
    { figure: "lateP50", title: "late, p50, ms", digits: 0, better: "lower" },
    { figure: "lateP99", title: "late, p99, ms", digits: 0, better: "lower", chart: true },
    { figure: "lateMax", title: "late, max, ms", digits: 0, better: "lower" },
    { figure: "rssGrowthMiB", title: "growth of resident memory, asleep, MiB", digits: 1, better: "lower" },
    { figure: "rssPeakGrowthMiB", title: "the same at its peak, MiB", digits: 1, better: "lower" },
    { figure: "heapGrowthMiB", title: "growth of the heap, asleep, MiB", digits: 1, better: "lower" },
  ],
  goals: STORES.flatMap(([store, title]) => [
    {
      text: `10,000 sleepers on ${title}: growth of the worker's resident memory while all are asleep`,
      figure: (m: Medians) => m.value("sleepers", `holdfast-${store}`, "rssGrowthMiB"),
      atMost: 30,
      unit: "MiB",
    },
    {
      text: `10,000 sleepers on ${title}: growth of the worker's resident memory at its peak, wake-ups and garbage included`,
      figure: (m: Medians) => m.value("sleepers", `holdfast-${store}`, "rssPeakGrowthMiB"),
      atMost: 40,
      unit: "MiB",
    },
    {
      text: `10,000 sleepers on ${title}: lateness, p99`,
      figure: (m: Medians) => m.value("sleepers", `holdfast-${store}`, "lateP99"),
      atMost: 100,
      unit: "ms",
    },
  ]),
};

async function twoProcesses(bench: Bench): Promise<Figures> {
  const sleeping = bench.start("worker");
  await sleeping.passed("ready");
  await bench.start("client", { clientOnly: true }).figures;
  sleeping.tell("started");
  return sleeping.figures;
}

/** Naps until fixed times, so that nothing depends on when a run was started. */
async function worker(inside: Inside): Promise<Figures> {
  const { engine, hooks, size, mark, hear } = inside;
  const { runs = 0, warm: naps = 0 } = size;
  const warmed = hooks.untilFinished(naps);
  for (let i = 0; i < naps; i += CHUNK) {
    const ids = Array.from({ length: Math.min(CHUNK, naps - i) }, (_, k) => `warm-${i + k}`);
    await engine.startMany?.("nap", ids, () => Date.now() + 500);
  }
  await within(
    warmed.then(() => settle(engine)),
    "warm-up",
  );
  const before = memoryNow();
  const asleep = hooks.untilAsleep(runs);
  const woken = hooks.untilFinished(runs);
  await mark("ready");
  await hear("started");
  await within(asleep, "sleepers that sleep");
  await pause(200);
  const during = memoryNow();
  const peak = peakOf(woken);
  await within(woken, "sleepers that wake", 180_000);
  return {
    runs,
    ...lateness(hooks.finishedAt, (id) => Number(id.slice(id.lastIndexOf("@") + 1))),
    rssGrowthMiB: (during.rss - before.rss) / MIB,
    heapGrowthMiB: (during.heap - before.heap) / MIB,
    rssPeakGrowthMiB: ((await peak) - before.rss) / MIB,
  };
}

/** A run's id contains its due time. */
async function client({ engine, size }: Inside): Promise<Figures> {
  const { runs = 0, leadMs = 0, spreadMs = 0 } = size;
  const firstAt = Date.now() + leadMs;
  const due = Array.from({ length: runs }, (_, i) => firstAt + Math.floor((i * spreadMs) / runs));
  const ids = due.map((at, i) => `${i}@${at}`);
  for (let i = 0; i < runs; i += CHUNK)
    await engine.startMany?.("nap", ids.slice(i, i + CHUNK), (k) => due[i + k] as number);
  return { runs };
}

async function oneProcess(inside: Inside): Promise<Figures> {
  const { engine, hooks, size, mark } = inside;
  const { runs = 0, leadMs = 0, spreadMs = 0 } = size;
  await warm(inside, 1);
  const before = memoryNow();
  await mark("begin");
  const sleepMs = (i: number): number => leadMs + Math.floor((i * spreadMs) / runs);
  const asleep = hooks.untilAsleep(runs);
  const woken = hooks.untilFinished(runs);
  await flood(runs, 200, (i) => engine.start("sleep", `sleep-${i}`, sleepMs(i)));
  await within(asleep, "sleepers that sleep");
  const during = memoryNow();
  await within(
    woken.then(() => settle(engine)),
    "sleepers that wake",
  );
  const dueAt = (id: string): number => (hooks.asleepAt.get(id) ?? 0) + sleepMs(Number(id.slice("sleep-".length)));
  return {
    runs,
    ...lateness(hooks.finishedAt, dueAt),
    rssGrowthMiB: (during.rss - before.rss) / MIB,
    heapGrowthMiB: (during.heap - before.heap) / MIB,
  };
}

function lateness(finishedAt: ReadonlyMap<string, number>, dueAt: (id: string) => number): Figures {
  const late = [...finishedAt].filter(([id]) => !id.startsWith("warm")).map(([id, at]) => at - dueAt(id));
  return { lateP50: quantile(late, 0.5), lateP99: quantile(late, 0.99), lateMax: quantile(late, 1) };
}

function memoryNow(): { rss: number; heap: number } {
  for (let i = 0; i < 3; i++) globalThis.gc?.();
  const { rss, heapUsed, external } = process.memoryUsage();
  return { rss, heap: heapUsed + external };
}

async function peakOf(until: Promise<void>): Promise<number> {
  let done = false;
  void until.then(() => {
    done = true;
  });
  let peak = 0;
  while (!done) {
    peak = Math.max(peak, process.memoryUsage.rss());
    await pause(100);
  }
  return peak;
}
