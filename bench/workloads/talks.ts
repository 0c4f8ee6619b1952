/** Open runs that are talked to: from the process that executes them, and from another one. */
import type { Bench } from "../lab/bench.ts";
import { costsOf } from "../lab/counters.ts";
import type { Figures } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { costsShown, type Workload } from "../lab/workload.ts";
import { flood, pause, within } from "./flow.ts";
import { latencies } from "./latency.ts";

export const AWAY = "from another process";

/** What is said to the i-th of the open runs, for the n-th time. Resolves with whether the answer was right. */
export type Say = (inside: Inside, id: string, n: number) => Promise<boolean>;

/** One process that does everything; then a second one that talks to the runs of a first. */
export async function oneAndTwo(bench: Bench): Promise<Figures> {
  const { wrong = 0, ...one } = await bench.start("main").figures;
  const worker = bench.start("serve");
  await worker.passed("serving");
  const client = bench.start("talk", { clientOnly: true });
  const { wrong: wrongTwo = 0, allocatedBytes, nodeCpuSeconds, ...two } = await client.figures;
  worker.tell("stop");
  await worker.figures;
  return { ...one, ...two, wrong: wrong + wrongTwo };
}

export async function open({ engine, hooks, size }: Inside, name: string): Promise<void> {
  const { runs = 0, steps = 0, restMs = 0, starting = 200 } = size;
  const waiting = hooks.untilWaiting(runs);
  await flood(runs, starting, (i) => engine.start("talk", `${name}-${i}`, steps));
  await within(waiting, "runs that can be talked to");
  // That they wait must be recorded, and the worker must be idle.
  await pause(restMs);
}

export async function serve(inside: Inside, name: string): Promise<Figures> {
  await open(inside, name);
  await inside.mark("serving");
  await inside.hear("stop");
  return {};
}

/** All open runs in turn, `rounds` times, with 200 calls in flight; then one call at a time on an idle system. */
export async function talk(inside: Inside, name: string, stage: string, say: Say): Promise<Figures> {
  const { size, mark } = inside;
  const { runs = 0, rounds = 1, calling = 200, warm = 1 } = size;
  let wrong = 0;
  let saying = 0;
  const said = async (i: number): Promise<void> => {
    if (!(await say(inside, `${name}-${i % runs}`, Math.floor(i / runs) + 1))) wrong += 1;
  };
  const many = async (n: number): Promise<void> => {
    const from = saying;
    saying += n;
    await within(
      flood(n, calling, (i) => said(from + i)),
      "answers",
    );
  };
  await many(warm * runs);
  await mark(`begin${stage}`);
  const began = performance.now();
  await many(rounds * runs);
  const seconds = (performance.now() - began) / 1000;
  await mark(`finish${stage}`);
  await pause(size["idleMs"] ?? 500);
  const from = saying;
  const { p50 = Number.NaN, p95 = Number.NaN } = await latencies({ ...size, steps: 1 }, (i) => said(from + i));
  return {
    [`said${stage}`]: rounds * runs,
    [`perSecond${stage}`]: (rounds * runs) / seconds,
    [`p50${stage}`]: p50,
    [`p95${stage}`]: p95,
    wrong,
  };
}

/** Runs that are only asked: everything but what it is called, and what it should reach. */
export function asking(say: Say, word: string, plural: string): Omit<Workload, "name" | "title" | "about" | "goals"> {
  const noun = word.charAt(0).toUpperCase() + word.slice(1);
  return {
    sizes: {
      tiny: { runs: 10, steps: 3, rounds: 2, times: 3, restMs: 50, idleMs: 20 },
      normal: { runs: 1_000, steps: 3, rounds: 10, times: 100, restMs: 1_000, idleMs: 500 },
      full: { runs: 1_000, steps: 3, rounds: 50, times: 300, restMs: 1_000, idleMs: 500 },
    },
    peerSizes: {
      tiny: { runs: 5, steps: 3, rounds: 2, times: 3, restMs: 50, idleMs: 20 },
      normal: { runs: 1_000, steps: 3, rounds: 1, times: 50, restMs: 1_000, idleMs: 500 },
      full: { runs: 1_000, steps: 3, rounds: 3, times: 100, restMs: 1_000, idleMs: 500 },
    },
    measure: oneAndTwo,
    parts: {
      main: async (inside) => {
        await open(inside, "here");
        const figures = await talk(inside, "here", "", say);
        return { ...figures, steps: figures["said"] ?? 0 };
      },
      serve: (inside) => serve(inside, "away"),
      talk: (inside) => talk(inside, "away", "Two", say),
    },
    counted: (snapshots, figures) => ({
      ...costsOf(snapshots, noun, "", figures["said"]),
      ...costsOf(snapshots, noun, "Two", figures["saidTwo"]),
    }),
    shown: [
      { figure: "perSecond", title: `${plural}/s`, better: "higher", chart: true },
      { figure: "perSecondTwo", title: `${plural}/s, ${AWAY}`, better: "higher", chart: true },
      { figure: "p50", title: "latency, p50, ms", digits: 2, better: "lower" },
      { figure: "p95", title: "latency, p95, ms", digits: 2, better: "lower" },
      { figure: "p50Two", title: `latency, p50, ms, ${AWAY}`, digits: 2, better: "lower" },
      { figure: "p95Two", title: `latency, p95, ms, ${AWAY}`, digits: 2, better: "lower" },
      { figure: "allocatedBytesPerStep", title: `heap bytes allocated per ${word}`, better: "lower" },
      ...costsShown(noun, word),
      ...costsShown(noun, word, "Two", AWAY),
    ],
  };
}
