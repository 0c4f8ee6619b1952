import type { Snapshot, Snapshots } from "../lab/counters.ts";
import type { Figures } from "../lab/engine.ts";
import type { Inside } from "../lab/inside.ts";
import { STORES, type Workload } from "../lab/workload.ts";
import type { Medians } from "../report/medians.ts";
import { flood, quantile } from "./flow.ts";

const CLAIMS = 20;
const CLAIMED = 50;
const PAGES = 20;

export const finished: Workload = {
  name: "finished",
  title: "Claiming and listing with 1,000,000 finished runs in the store",
  about:
    "The same claims of 50 due runs, and the same pages of 50 runs, in a store that is nearly empty and in one with a million finished runs, through the store's own calls. Pages (buffers) that PostgreSQL read come from pg_stat_statements; milliseconds are medians. The tables are vacuumed first, as autovacuum would do.",
  sizes: {
    tiny: { filling: 500, group: 250 },
    normal: { filling: 1_000_000, group: 2_000 },
    full: { filling: 1_000_000, group: 2_000 },
  },
  once: "everybody",
  measure: (bench) => bench.one({ clientOnly: true }),
  parts: { main },
  counted: (snapshots) => ({
    ...buffers(snapshots, "Claim", CLAIMS * CLAIMED),
    ...buffers(snapshots, "List", PAGES),
    ...buffers(snapshots, "ListFiltered", PAGES),
  }),
  shown: [
    { figure: "buffersClaimEmpty", title: "buffers per claimed run, empty", digits: 1, better: "lower" },
    { figure: "buffersClaimFull", title: "buffers per claimed run, full", digits: 1, better: "lower" },
    { figure: "buffersListEmpty", title: "buffers per page, empty", digits: 1, better: "lower" },
    { figure: "buffersListFull", title: "buffers per page, full", digits: 1, better: "lower" },
    { figure: "msClaimEmpty", title: "ms per claim of 50, empty", digits: 2, better: "lower" },
    { figure: "msClaimFull", title: "ms per claim of 50, full", digits: 2, better: "lower" },
    { figure: "msListEmpty", title: "ms per page, empty", digits: 2, better: "lower" },
    { figure: "msListFull", title: "ms per page, full", digits: 2, better: "lower" },
    { figure: "fillPerSecond", title: "runs/s while filling", better: "higher" },
  ],
  goals: [
    ...["Claim", "List"].map((what) => ({
      text: `1,000,000 finished runs on PostgreSQL: buffers per ${what === "Claim" ? "claimed run" : "listed page"} over those in an empty store`,
      figure: (m: Medians) => m.value("finished", "holdfast-postgres", `buffersRatio${what}`),
      atMost: 1.2,
      unit: "times",
    })),
    ...STORES.map(([store, title]) => ({
      text: `1,000,000 finished runs on ${title}: due runs that a claim did not find`,
      figure: (m: Medians) => m.value("finished", `holdfast-${store}`, "missing"),
      atMost: 0,
    })),
  ],
};

async function main(inside: Inside): Promise<Figures> {
  const { filling = 0, group = 1 } = inside.size;
  const { BareLoop } = await import("../limits/bare-loop.ts");
  const store = inside.job.engine === "holdfast-sqlite" ? "sqlite" : "postgres";
  const loop = await BareLoop.open(store, inside.job.url);
  try {
    const empty = await stage(inside, loop, "Empty");
    const began = performance.now();
    await flood(filling / group, 2, () => loop.group(group, 1));
    const fillPerSecond = filling / ((performance.now() - began) / 1000);
    if (store === "postgres") {
      const { adminQuery } = await import("../lab/stores.ts");
      await adminQuery(inside.job.url, "vacuum (analyze)");
    }
    const full = await stage(inside, loop, "Full");
    const missing = (empty["missing"] ?? 0) + (full["missing"] ?? 0);
    return { ...empty, ...full, missing, fillPerSecond };
  } finally {
    await loop.close();
  }
}

type Loop = Awaited<ReturnType<typeof import("../limits/bare-loop.ts")["BareLoop"]["open"]>>;

/** The first calls of a kind prepare plans, which also reads pages, so they are not counted. */
async function stage({ mark }: Inside, loop: Loop, name: string): Promise<Figures> {
  let missing = 0;
  const claim = async (): Promise<void> => {
    missing += CLAIMED - (await loop.claim(CLAIMED));
  };
  const list = (status: "pending" | undefined) => async (): Promise<void> => {
    await loop.store.runs.list({ namespace: "default", limit: 50, ...(status ? { statuses: [status] } : {}) });
  };
  const timed = async (what: string, times: number, call: () => Promise<void>): Promise<number> => {
    for (let i = 0; i < 10; i++) await call();
    await mark(`${what}${name}From`);
    const took: number[] = [];
    for (let i = 0; i < times; i++) {
      const began = performance.now();
      await call();
      took.push(performance.now() - began);
    }
    await mark(`${what}${name}To`);
    return quantile(took, 0.5);
  };
  for (let i = 0; i < CLAIMS + 10; i++) await loop.start(CLAIMED, false);
  return {
    [`msClaim${name}`]: await timed("Claim", CLAIMS, claim),
    [`msList${name}`]: await timed("List", PAGES, list(undefined)),
    [`msListFiltered${name}`]: await timed("ListFiltered", PAGES, list("pending")),
    missing,
  };
}

function buffers(snapshots: Snapshots, what: string, units: number): Figures {
  const between = (name: string): number | undefined => {
    const [from, to] = [snapshots.get(`${what}${name}From`), snapshots.get(`${what}${name}To`)];
    return pagesOf(to) === undefined || pagesOf(from) === undefined
      ? undefined
      : ((pagesOf(to) as number) - (pagesOf(from) as number)) / units;
  };
  const [empty, full] = [between("Empty"), between("Full")];
  if (empty === undefined || full === undefined) return {};
  return { [`buffers${what}Empty`]: empty, [`buffers${what}Full`]: full, [`buffersRatio${what}`]: full / empty };
}

function pagesOf(snapshot: Snapshot | undefined): number | undefined {
  return snapshot?.postgres?.buffers;
}
