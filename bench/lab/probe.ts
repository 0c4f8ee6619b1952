/**
 * Measures for about a second what the machine can do right now: durable single inserts, grouped inserts, plain
 * JavaScript.
 */
import pg from "pg";
import type { Figures } from "./engine.ts";
import type { Stores } from "./stores.ts";

const ONE = "insert into probe (run, seq, result) values ($1, $2, $3)";
const MANY = "insert into probe (run, seq, result) select 'g', i, $2 from generate_series(1, $1::int) i";
const RESULT = '{"i":1,"ok":true}';

export async function probe(stores: Stores, ms: number): Promise<Figures> {
  const store = await stores.fresh("postgres");
  const client = new pg.Client({ connectionString: store.url });
  try {
    await client.connect();
    await client.query("create table probe (no bigint generated always as identity, run text, seq int, result text)");
    let n = 0;
    const one = async (): Promise<void> => {
      n += 1;
      await client.query({ name: "one", text: ONE, values: ["r", n, RESULT] });
    };
    const many = (): Promise<unknown> => client.query({ name: "many", text: MANY, values: [500, RESULT] });
    await perSecond(ms / 4, one);
    return {
      commitsPerSecond: await perSecond(ms, one),
      groupedRowsPerSecond: 500 * (await perSecond(ms, many)),
      loopsPerSecond: await perSecond(ms / 4, async () => void JSON.parse(JSON.stringify(LOOP))),
    };
  } finally {
    await client.end();
    await store.remove();
  }
}

const LOOP = Array.from({ length: 200 }, (_, i) => ({ i, ok: true, text: `value ${i}` }));

async function perSecond(ms: number, work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  let times = 0;
  while (performance.now() < began + ms) {
    await work();
    times += 1;
  }
  return Math.round(times / ((performance.now() - began) / 1000));
}
