/** The verbs that put load on the user's own store, in a namespace of their own. */
import type { Verb } from "../../command/verb.ts";
import type { VerbOption } from "../../command/verb-shape.ts";

const SECONDS: VerbOption = { name: "seconds", value: "n", about: "how long; the default is 10" };

export const LAB_VERBS: readonly Verb[] = [
  {
    path: "bench",
    about: "measure this store from this machine: starts, steps, signals",
    details:
      "It works in a namespace of its own and deletes its runs at the end. The load is real: do not run it on a database that others need.",
    options: [SECONDS, { name: "in-flight", value: "n", about: "how many runs at once; the default is 100" }],
    examples: [
      "holdfast bench --url postgres://localhost/app --seconds 15",
      "holdfast bench --url file:bench.db --json",
    ],
    load: async () => (await import("./bench.ts")).bench,
  },
  {
    path: "torture",
    about:
      "kill workers with SIGKILL on this store, and check that nothing was lost and nothing recorded was done again",
    details:
      "It works in a namespace of its own and deletes its runs at the end. Every effect is written to a ledger, a file outside the store, which is compared with the histories.",
    options: [SECONDS, { name: "workers", value: "n", about: "how many worker processes; the default is 3" }],
    examples: [
      "holdfast torture --url postgres://localhost/app --seconds 60",
      "holdfast torture --url file:torture.db",
    ],
    load: async () => (await import("./torture.ts")).torture,
  },
];
