import type { Bench } from "../lab/bench.ts";
import type { Figures } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { STORES, type Workload } from "../lab/workload.ts";
import { pause, settle, within } from "./flow.ts";

export const recover: Workload = {
  name: "recover",
  title: "kill -9, and recovery",
  about:
    "A run of sequential steps kills its own process in one of them; another process is started at once. Time counts from when the dead worker's lease expires, or from when the second process is ready if there is no lease.",
  sizes: {
    tiny: { steps: 30, killIn: 20, leaseMs: 1_000 },
    normal: { steps: 2_000, killIn: 1_500, leaseMs: 5_000 },
    full: { steps: 2_000, killIn: 1_500, leaseMs: 5_000 },
  },
  peerSizes: {
    tiny: { steps: 30, killIn: 20 },
    normal: { steps: 600, killIn: 500 },
    full: { steps: 900, killIn: 700 },
  },
  once: "peers",
  measure,
  parts: { doomed, heir },
  shown: [
    { figure: "afterLeaseMs", title: "lease expiry to the next new step, ms", digits: 0, better: "lower" },
    { figure: "afterKillMs", title: "kill to the next new step, ms", digits: 0, better: "lower", chart: true },
    { figure: "ranAgain", title: "completed steps run again", better: "lower" },
  ],
  goals: STORES.flatMap(([store, title]) => [
    {
      text: `kill -9 on ${title}: next new step after the lease expired`,
      figure: (m) => m.value("recover", `holdfast-${store}`, "afterLeaseMs"),
      atMost: 1_000,
      unit: "ms",
    },
    {
      text: `kill -9 on ${title}: completed steps run again`,
      figure: (m) => m.value("recover", `holdfast-${store}`, "ranAgain"),
      atMost: 0,
    },
  ]),
};

async function measure(bench: Bench): Promise<Figures> {
  const first = bench.start("doomed");
  const signal = await first.exited;
  if (signal !== "SIGKILL") await first.figures;
  const killedAt = Date.now();
  const figures = await bench.start("heir", { again: true }).figures;
  return { ...figures, afterKillMs: (figures["nextStepAt"] ?? Number.NaN) - killedAt, nextStepAt: 0 };
}

/** Never returns. */
async function doomed({ engine, hooks, size }: Inside): Promise<Figures> {
  hooks.killIn(size["killIn"] ?? 1);
  await engine.start("seq", "doomed", size["steps"] ?? 1);
  await pause(60_000);
  throw new Error("the process was not killed");
}

async function heir({ engine, hooks, size }: Inside): Promise<Figures> {
  const { steps = 0, killIn = 0 } = size;
  const readyAt = Date.now();
  const leaseEndAt = readyAt + ((await engine.leaseLeftMs?.()) ?? 0);
  // An engine without a lease may have continued the run while it was being opened.
  const ended = hooks.untilFinished(1 - hooks.finishedAt.size);
  await within(
    ended.then(() => settle(engine)),
    "recovery",
  );
  const nextStepAt = hooks.firstStepAt.get(killIn) ?? Number.NaN;
  const again = [...hooks.firstStepAt.keys()].filter((i) => i < killIn).length;
  return {
    nextStepAt,
    afterLeaseMs: Math.max(0, nextStepAt - leaseEndAt),
    ranAgain: again,
    stepsTooMany: hooks.steps - again - (steps - killIn + 1),
  };
}
