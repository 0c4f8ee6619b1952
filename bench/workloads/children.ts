import { costsOf } from "../lab/counters.ts";
import type { Figures } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { costsShown, latencyGoal, ratioGoal, type Workload } from "../lab/workload.ts";
import { drive, pause, settle, warm, within } from "./flow.ts";
import { latencies } from "./latency.ts";

const PEERS = ["dbos", "openworkflow", "restate"];
const OURS = "holdfast-postgres";

export const children: Workload = {
  name: "children",
  title: "Children",
  about:
    "1,000 children of one parent, all at once, five parents one after the other; then many parents with ten children each. A child returns 17 bytes, and its parent awaits all of them. Latency is that of a run with one child on an idle system. The bare figure is the store calls that children need, one after the other. Peers: DBOS starts workflows inside a workflow and awaits them, OpenWorkflow has child workflows, Restate calls a service, which leaves less behind than a workflow of its own.",
  sizes: {
    tiny: { children: 20, wide: 2, parents: 5, ten: 3, warm: 3, times: 3, idleMs: 20 },
    normal: { children: 1_000, wide: 5, parents: 1_000, ten: 10, warm: 100, times: 100, idleMs: 500 },
    full: { children: 1_000, wide: 20, parents: 5_000, ten: 10, warm: 500, times: 300, idleMs: 500 },
  },
  peerSizes: {
    tiny: { children: 10, wide: 1, parents: 3, ten: 3, warm: 2, times: 3, idleMs: 20 },
    normal: { children: 1_000, wide: 1, parents: 100, ten: 10, warm: 20, times: 20, idleMs: 500 },
    full: { children: 1_000, wide: 3, parents: 300, ten: 10, warm: 50, times: 50, idleMs: 500 },
  },
  parts: { main },
  counted: (snapshots, figures) => ({
    ...costsOf(snapshots, "Child", "", figures["children"]),
    ...costsOf(snapshots, "Child", "Ten", figures["childrenTen"]),
  }),
  shown: [
    { figure: "childrenPerSecond", title: "children/s", better: "higher", chart: true },
    { figure: "childrenPerSecondTen", title: "children/s, ten a parent", better: "higher", chart: true },
    { figure: "p50", title: "latency, p50, ms", digits: 2, better: "lower" },
    { figure: "p95", title: "latency, p95, ms", digits: 2, better: "lower" },
    { figure: "allocatedBytesPerStep", title: "heap bytes allocated per child", better: "lower" },
    ...costsShown("Child", "child"),
    ...costsShown("Child", "child", "Ten", "ten a parent"),
  ],
  goals: [
    ...[
      ["childrenPerSecond", "1,000 children of one parent"],
      ["childrenPerSecondTen", "parents with ten children"],
    ].map(([figure = "", what]) =>
      ratioGoal({
        text: `${what} on PostgreSQL: children/s over the best peer`,
        of: ["children", figure],
        over: OURS,
        under: PEERS,
        atLeast: 8,
      }),
    ),
    latencyGoal({
      text: "idle latency of a run with one child on PostgreSQL: p50 of the best peer over ours",
      of: ["children", "p50"],
      ours: OURS,
      peers: PEERS,
    }),
  ],
};

async function main(inside: Inside): Promise<Figures> {
  const { engine, hooks, size, mark } = inside;
  const { children: many = 0, wide = 0, parents = 0, ten = 0, warm: warming = 0, times = 0 } = size;
  await warm(inside, ten, "family");
  await within(family(inside, "warm-wide", many), "a parent to warm up");
  await mark("begin");
  const began = performance.now();
  for (let i = 0; i < wide; i++) await within(family(inside, `wide-${i}`, many), "children of one parent");
  await within(settle(engine), "children");
  const seconds = (performance.now() - began) / 1000;
  await mark("finish");
  await mark("beginTen");
  const driven = await drive(inside, { kind: "family", name: "ten", runs: parents, arg: ten });
  await mark("finishTen");
  await pause(size["idleMs"] ?? 500);
  const { p50 = Number.NaN, p95 = Number.NaN } = await latencies({ ...size, steps: 1 }, (i) =>
    family(inside, `one-${i}`, 1),
  );
  const expected = (warming + parents) * ten + (1 + wide) * many + times;
  return {
    children: wide * many,
    childrenTen: parents * ten,
    // By this name the bench counts what the process allocates.
    steps: wide * many,
    childrenPerSecond: (wide * many) / seconds,
    childrenPerSecondTen: (parents * ten) / driven.seconds,
    p50,
    p95,
    stepsWrong: hooks.steps - expected,
  };
}

async function family({ engine }: Inside, id: string, n: number): Promise<void> {
  await (await engine.start("family", id, n)).result();
}
