import { latencyGoal, ratioGoal, type Workload } from "../lab/workload.ts";
import { AWAY, asking, type Say } from "./talks.ts";

const PEERS = ["restate"];
const OURS = "holdfast-postgres";

const say: Say = async ({ engine }, id) => (await engine.query?.(id)) === 0;

export const queries: Workload = {
  name: "queries",
  title: "Queries of 1,000 open runs",
  about:
    "Runs that wait, each after three steps. Each is asked ten times, 200 queries in flight; then one query at a time on an idle system. First from the process of the worker, where the run itself answers, then from a process without the code, for which the worker answers through the store. Peer: Restate calls a shared handler of a virtual object that reads its state. (DBOS has no code that answers, only values that a workflow has set: see the next table.)",
  ...asking(say, "query", "queries"),
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
