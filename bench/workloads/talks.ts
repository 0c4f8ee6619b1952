/** Open runs that are talked to: from the process that executes them, and from another one. */
import type { Bench } from "../lab/bench.ts";
import type { Figures } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { flood, pause, within } from "./flow.ts";
import { latencies } from "./latency.ts";

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
