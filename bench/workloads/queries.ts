import { costsOf } from "../lab/counters.ts";
import { costsShown, latencyGoal, ratioGoal, type Workload } from "../lab/workload.ts";
import { oneAndTwo, open, type Say, serve, talk } from "./talks.ts";

const PEERS = ["dbos", "restate"];
const OURS = "holdfast-postgres";
const AWAY = "from another process";

const say: Say = async ({ engine }, id) => (await engine.query?.(id)) === 0;

export const queries: Workload = {
  name: "queries",
  title: "Queries of 1,000 open runs",
  about:
    "Runs that wait, each after three steps. Each is asked ten times, 200 queries in flight; then one query at a time on an idle system. First from the process of the worker, where the run itself answers, then from a process without the code, for which the worker answers through the store. Peers: DBOS gets an event that the workflow has set, Restate calls a shared handler of a virtual object that reads its state.",
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
    ...costsOf(snapshots, "Query", "", figures["said"]),
    ...costsOf(snapshots, "Query", "Two", figures["saidTwo"]),
  }),
  shown: [
    { figure: "perSecond", title: "queries/s", better: "higher", chart: true },
    { figure: "perSecondTwo", title: `queries/s, ${AWAY}`, better: "higher", chart: true },
    { figure: "p50", title: "latency, p50, ms", digits: 2, better: "lower" },
    { figure: "p95", title: "latency, p95, ms", digits: 2, better: "lower" },
    { figure: "p50Two", title: `latency, p50, ms, ${AWAY}`, digits: 2, better: "lower" },
    { figure: "p95Two", title: `latency, p95, ms, ${AWAY}`, digits: 2, better: "lower" },
    { figure: "allocatedBytesPerStep", title: "heap bytes allocated per query", better: "lower" },
    ...costsShown("Query", "query"),
    ...costsShown("Query", "query", "Two", AWAY),
  ],
  goals: [
    ratioGoal({
      text: "queries of 1,000 runs on PostgreSQL: queries/s over the best peer",
      of: ["queries", "perSecond"],
      over: OURS,
      under: PEERS,
      atLeast: 8,
    }),
    ...[
      ["p50", ""],
      ["p50Two", `, ${AWAY}`],
    ].map(([figure = "", how]) =>
      latencyGoal({
        text: `idle latency of a query on PostgreSQL${how}: p50 of the best peer over ours`,
        of: ["queries", figure],
        ours: OURS,
        peers: PEERS,
      }),
    ),
  ],
};
