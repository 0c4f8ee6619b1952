import { randomBytes } from "node:crypto";
import { connect, silentLogger, workflow } from "holdfast";
import { systemPorts, uuidV7 } from "holdfast/adapter";
import { bareLoop } from "./bare-loop.ts";
import { median, type Row } from "./report.ts";
import { adminQuery, type BenchStore, freshStore, type StoreName } from "./stores.ts";

export interface LimitSize {
  readonly runs: number;
  readonly steps: number;
  readonly live: number;
  readonly repetitions: number;
}

const sequence = workflow("seq", async (ctx, input: { n: number }) => {
  for (let i = 1; i <= input.n; i++) await ctx.step(`s${i}`, () => ({ i, ok: true }));
  return input.n;
});

/** The engine beside the limit of the same store, interleaved; counts are the server's own. */
export async function limit(name: StoreName, size: LimitSize, say: (line: string) => void): Promise<Row[]> {
  const bare: number[] = [];
  const engine: number[] = [];
  let counts: Counts | undefined;
  for (let i = 0; i < size.repetitions; i++) {
    bare.push(await onFreshStore(name, (store) => bareRate(store, size)));
    const measured = await onFreshStore(name, (store) => engineRate(store, size));
    engine.push(measured.rate);
    counts = measured.counts;
    say(
      `${name} ${i + 1}/${size.repetitions}: bare ${Math.round(bare.at(-1) ?? 0)}, engine ${Math.round(measured.rate)} steps/s`,
    );
  }
  const share = engine.map((rate, i) => rate / (bare[i] as number));
  const steps = size.runs * size.steps;
  return [
    { store: name, what: "bare loop, steps/s", value: Math.round(median(bare)) },
    {
      store: name,
      what: `engine, ${size.live} live runs of ${size.steps} steps, steps/s`,
      value: Math.round(median(engine)),
    },
    { store: name, what: "engine / bare loop", value: Number(median(share).toFixed(2)) },
    ...(counts
      ? [
          { store: name, what: "commits per step", value: Number((counts.commits / steps).toFixed(4)) },
          {
            store: name,
            what: "WAL bytes per step, full-page images included",
            value: Math.round(counts.walBytes / steps),
          },
        ]
      : []),
  ];
}

async function onFreshStore<T>(name: StoreName, measure: (store: BenchStore) => Promise<T>): Promise<T> {
  const store = await freshStore(name);
  try {
    return await measure(store);
  } finally {
    await store.remove();
  }
}

async function bareRate(store: BenchStore, size: LimitSize): Promise<number> {
  const { openStore } = (await import(`@holdfast/${store.name}`)) as {
    openStore: (url: string, options: object) => Promise<{ store: Parameters<typeof bareLoop>[0]["store"] }>;
  };
  const opened = await openStore(store.url, { ...systemPorts, log: silentLogger });
  const newId = (): string => uuidV7(Date.now(), randomBytes(16));
  const params = { store: opened.store, steps: size.steps, newId };
  await bareLoop({ ...params, runs: size.live, group: size.live });
  const rate = await bareLoop({ ...params, runs: size.runs, group: size.live });
  await opened.store.close();
  return rate;
}

interface Counts {
  readonly commits: number;
  readonly walBytes: number;
}

async function engineRate(store: BenchStore, size: LimitSize): Promise<{ rate: number; counts: Counts | undefined }> {
  const hf = await connect(store.url, { logger: silentLogger });
  const worker = hf.worker({ workflows: [sequence], concurrency: size.live });
  await worker.start();
  const flood = async (runs: number): Promise<void> => {
    let next = 0;
    const lane = async (): Promise<void> => {
      while (next < runs) {
        next += 1;
        await (await hf.start(sequence, { n: size.steps })).result();
      }
    };
    await Promise.all(Array.from({ length: size.live }, lane));
  };
  await flood(size.live);
  const before = store.name === "postgres" ? await serverCounts(store.url) : undefined;
  const began = performance.now();
  await flood(size.runs);
  const seconds = (performance.now() - began) / 1000;
  const after = store.name === "postgres" ? await serverCounts(store.url) : undefined;
  await hf.close();
  const counts =
    before && after
      ? { commits: after.commits - before.commits, walBytes: after.walBytes - before.walBytes }
      : undefined;
  return { rate: (size.runs * size.steps) / seconds, counts };
}

async function serverCounts(url: string): Promise<Counts> {
  const [row] = await adminQuery(
    url,
    "select pg_stat_force_next_flush(), (select xact_commit from pg_stat_database where datname = current_database())::float8 as commits, (pg_current_wal_lsn() - '0/0'::pg_lsn)::float8 as wal",
  );
  return { commits: Number(row?.["commits"]), walBytes: Number(row?.["wal"]) };
}
