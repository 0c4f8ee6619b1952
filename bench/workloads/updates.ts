import { costsOf } from "../lab/counters.ts";
import { costsShown, latencyGoal, ratioGoal, STORES, type Workload } from "../lab/workload.ts";
import { oneAndTwo, open, type Say, serve, talk } from "./talks.ts";

const PEERS = ["dbos", "restate"];
const OURS = "holdfast-postgres";
const AWAY = "from another process";

const say: Say = async ({ engine }, id, n) => (await engine.update?.(id, 1)) === n;

export const updates: Workload = {
  name: "updates",
  title: "Updates to 1,000 open runs",
  about:
    "Runs that wait, each after three steps. Each is updated ten times, 200 updates in flight, from the call until its answer; then one update at a time on an idle system. First from the process of the worker, then from another one. The handler adds to a number and returns it. The bare figure is the store calls that one update needs, one after the other. Peers have no updates: DBOS sends a message, and the workflow, which receives in a loop, sets an event that the caller gets; Restate calls a handler of a virtual object that keeps the number, without any workflow.",
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
  measure: (bench) => (bench.definition.kind === "limit" ? bench.one() : oneAndTwo(bench)),
  parts: {
    main: async (inside) => {
      await open(inside, "here");
      const figures = await talk(inside, "here", "", say);
      // By this name the bench counts what the process allocates.
      return { ...figures, steps: figures["said"] ?? 0 };
    },
    serve: (inside) => serve(inside, "away"),
    talk: (inside) => talk(inside, "away", "Two", say),
  },
  counted: (snapshots, figures) => ({
    ...costsOf(snapshots, "Update", "", figures["said"]),
    ...costsOf(snapshots, "Update", "Two", figures["saidTwo"]),
  }),
  shown: [
    { figure: "perSecond", title: "updates/s", better: "higher", chart: true },
    { figure: "perSecondTwo", title: `updates/s, ${AWAY}`, better: "higher", chart: true },
    { figure: "p50", title: "latency, p50, ms", digits: 2, better: "lower" },
    { figure: "p95", title: "latency, p95, ms", digits: 2, better: "lower" },
    { figure: "p50Two", title: `latency, p50, ms, ${AWAY}`, digits: 2, better: "lower" },
    { figure: "p95Two", title: `latency, p95, ms, ${AWAY}`, digits: 2, better: "lower" },
    { figure: "allocatedBytesPerStep", title: "heap bytes allocated per update", better: "lower" },
    ...costsShown("Update", "update"),
    ...costsShown("Update", "update", "Two", AWAY),
  ],
  goals: [
    ...[
      ["perSecond", ""],
      ["perSecondTwo", `, ${AWAY}`],
    ].map(([figure = "", how]) =>
      ratioGoal({
        text: `updates to 1,000 runs on PostgreSQL${how}: updates/s over the best peer`,
        of: ["updates", figure],
        over: OURS,
        under: PEERS,
        atLeast: 8,
      }),
    ),
    ...[
      ["p50", ""],
      ["p50Two", `, ${AWAY}`],
    ].map(([figure = "", how]) =>
      latencyGoal({
        text: `idle latency of an update on PostgreSQL${how}: p50 of the best peer over ours`,
        of: ["updates", figure],
        ours: OURS,
        peers: PEERS,
      }),
    ),
    ...STORES.map(([store, title]) =>
      ratioGoal({
        text: `idle latency of an update on ${title}: p50 over that of the bare calls it needs`,
        of: ["updates", "p50"],
        over: `holdfast-${store}`,
        under: [`bare-${store}`],
        atMost: 1.5,
      }),
    ),
  ],
};
