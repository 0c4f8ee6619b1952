import { connect, silentLogger, workflow } from "holdfast";
import type { Row } from "./report.ts";
import { adminQuery, freshStore } from "./stores.ts";

const three = workflow("three", async (ctx) => {
  const a = await ctx.step("a", () => 1);
  const b = await ctx.step("b", () => a + 1);
  return ctx.step("c", () => b + 1);
});
const sleeper = workflow("sleeper", (ctx) => ctx.sleep("long", "1 day"));

/** What an idle system costs on PostgreSQL, from pg_stat_statements-free server counters: commits and statements. */
export async function idle(seconds: number, sleeping: number, say: (line: string) => void): Promise<Row[]> {
  const store = await freshStore("postgres");
  const rows: Row[] = [];
  try {
    const hf = await connect(store.url, { logger: silentLogger });
    const worker = hf.worker({ workflows: [three, sleeper], concurrency: 500 });
    await worker.start();
    await (await hf.start(three)).result();
    rows.push({
      store: "postgres",
      what: "commits of an idle three-step run, one process",
      value: await commitsOf(store.url, () => hf.run(three)),
    });
    const remote = await connect(store.url, { logger: silentLogger });
    rows.push({
      store: "postgres",
      what: "commits of an idle three-step run, client in another connection",
      value: await commitsOf(store.url, () => remote.run(three)),
    });
    rows.push({
      store: "postgres",
      what: "statements a minute of an idle worker",
      value: await perMinute(store.url, seconds),
    });
    say(`starting ${sleeping} sleeping runs`);
    for (let i = 0; i < sleeping; i += 1000)
      await hf.startMany(Array.from({ length: 1000 }, () => ({ workflow: sleeper })));
    while ((await hf.count({ status: "sleeping" })) < sleeping) await pause(200);
    rows.push({
      store: "postgres",
      what: `the same with ${sleeping} sleeping runs in the store`,
      value: await perMinute(store.url, seconds),
    });
    await remote.close();
    await hf.close();
  } finally {
    await store.remove();
  }
  return rows;
}

async function commitsOf(url: string, work: () => Promise<unknown>): Promise<number> {
  await pause(1_500);
  const before = await commits(url);
  await work();
  await pause(1_500);
  // The look itself is a commit; heartbeats are rare enough not to fall into these seconds more than once.
  return (await commits(url)) - before - 1;
}

async function perMinute(url: string, seconds: number): Promise<number> {
  await pause(6_000);
  const before = await commits(url);
  await pause(seconds * 1000);
  return Math.round((((await commits(url)) - before - 1) * 60) / seconds);
}

async function commits(url: string): Promise<number> {
  const [row] = await adminQuery(
    url,
    "select xact_commit::float8 as commits from pg_stat_database where datname = current_database()",
  );
  return Number(row?.["commits"]);
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
