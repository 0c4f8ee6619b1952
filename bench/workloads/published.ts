import { latencyGoal, type Workload } from "../lab/workload.ts";
import { AWAY, asking, type Say } from "./talks.ts";

const PEERS = ["dbos"];
const OURS = "holdfast-postgres";

const say: Say = async ({ engine }, id) => (await engine.published?.(id)) === 0;

export const published: Workload = {
  name: "published",
  title: "Values that 1,000 open runs have published",
  about:
    "What a run has made known beforehand, read without its code: a search attribute of ours (`ctx.set`, `describe()`), an event of DBOS (`setEvent`, `getEvent`). Each of the runs is read ten times, 200 reads in flight; then one at a time on an idle system: from the process of the worker, and from another one.",
  ...asking(say, "read", "reads"),
  goals: [
    ...[
      ["p50", ""],
      ["p50Two", `, ${AWAY}`],
    ].map(([figure = "", how]) =>
      latencyGoal({
        text: `idle latency of reading a published value on PostgreSQL${how}: p50 of the best peer over ours`,
        of: ["published", figure],
        ours: OURS,
        peers: PEERS,
      }),
    ),
  ],
};
