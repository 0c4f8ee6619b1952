import type { Figures } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { STORES, type Workload } from "../lab/workload.ts";
import type { Medians } from "../report/medians.ts";
import { pause, quantile } from "./flow.ts";

/** How many milliseconds half of the calls may take. */
const CALLS = [
  ["Start", "start of a run", 5],
  ["Claim", "look for work that finds none", 10],
  ["Heartbeat", "heartbeat of a worker", 1],
  ["Health", "health of 100 workers", 50],
] as const;

export const calls: Workload = {
  name: "calls",
  title: "Single calls on an idle system",
  about:
    "One call at a time, a few milliseconds after the previous one: the start of a run, a look for work that finds none, the heartbeat of a worker, and `hf.health()` with a hundred live workers in the store.",
  sizes: {
    tiny: { times: 5, warm: 2, workers: 3 },
    normal: { times: 200, warm: 50, workers: 100 },
    full: { times: 1_000, warm: 100, workers: 100 },
  },
  measure: (bench) => bench.one({ clientOnly: true }),
  parts: { main },
  shown: CALLS.flatMap(([name, title]) =>
    (["p50", "p99"] as const).map((q) => ({
      figure: `${q}${name}`,
      title: `${q} of a ${title}, ms`,
      digits: 2,
      better: "lower" as const,
    })),
  ),
  goals: STORES.flatMap(([store, title]) =>
    CALLS.map(([name, what, atMost]) => ({
      text: `one call on an idle ${title}: p50 of a ${what}, ms`,
      figure: (m: Medians) => m.value("calls", `holdfast-${store}`, `p50${name}`),
      atMost,
    })),
  ),
};

async function main({ job, size, engine, mark }: Inside): Promise<Figures> {
  const { times = 0, warm = 0, workers = 0 } = size;
  const { connect, silentLogger } = await import("holdfast");
  const { BareLoop, newId } = await import("../limits/bare-loop.ts");
  const loop = await BareLoop.open(job.engine === "holdfast-sqlite" ? "sqlite" : "postgres", job.url);
  const hf = await connect(job.url, { logger: silentLogger });
  const { store, workerId } = loop;
  const [namespace, leaseMs] = ["default", 3_600_000];
  const about = { namespace, leaseMs, queues: ["nothing"], workflows: [], labels: {} };
  for (let i = 1; i < workers; i++) await store.workers.register({ workerId: newId(), name: `worker ${i}`, ...about });
  const once: Readonly<Record<string, (i: number) => Promise<unknown>>> = {
    Start: (i) => engine.start("seq", `one-${i}`, 1),
    // Queues in which nothing is due.
    Claim: () =>
      store.runs.claim({
        ...{ workerId, claimId: newId(), again: false, namespace, queues: ["nothing"] },
        ...{ handlers: [{ workflow: "seq", version: "1" }], limit: 50, solo: false },
      }),
    Heartbeat: () => store.workers.heartbeat({ namespace, workerId, leaseMs, draining: false }),
    Health: () => hf.health(),
  };
  const figures: Figures = {};
  try {
    await mark("begin");
    for (const [name] of CALLS) {
      const took: number[] = [];
      for (let i = -warm; i < times; i++) {
        const began = performance.now();
        await once[name]?.(i);
        if (i >= 0) took.push(performance.now() - began);
        await pause(Math.abs(i) % 4);
      }
      figures[`p50${name}`] = quantile(took, 0.5);
      figures[`p99${name}`] = quantile(took, 0.99);
    }
    return figures;
  } finally {
    await hf.close();
    await loop.close();
  }
}
