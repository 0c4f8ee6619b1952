import { connect, silentLogger, workflow } from "holdfast";
import type { Row } from "./report.ts";
import { adminQuery, freshStore } from "./stores.ts";

const three = workflow("three", async (ctx) => {
  const a = await ctx.step("a", () => 1);
  const b = await ctx.step("b", () => a + 1);
  return ctx.step("c", () => b + 1);
});
const sleeper = workflow("sleeper", (ctx) => ctx.sleep("long", "1 day"));

/** Calls that write for a run; heartbeats, sweeps and claims that find nothing are not among them. */
const WRITES = ["start_runs", "commit_runs", "claim_runs", "deliver_messages"];

/** What an idle system costs on PostgreSQL, as pg_stat_statements counts it. */
export async function idle(seconds: number, sleeping: number, say: (line: string) => void): Promise<Row[]> {
  const store = await freshStore("postgres");
  const rows: Row[] = [];
  const row = (what: string, value: number): void => void rows.push({ store: "postgres", what, value });
  try {
    await adminQuery(store.url, "create extension if not exists pg_stat_statements");
    const hf = await connect(store.url, { logger: silentLogger });
    await hf.worker({ workflows: [three, sleeper], concurrency: 500 }).start();
    const remote = await connect(store.url, { logger: silentLogger });
    for (const client of [hf, remote]) await client.run(three);
    row(
      "commits of an idle three-step run, client and worker in one process",
      await commitsOf(store.url, () => hf.run(three)),
    );
    row("commits of an idle three-step run, client elsewhere", await commitsOf(store.url, () => remote.run(three)));
    await remote.close();
    row("statements a minute of an idle worker", await perMinute(store.url, seconds));
    say(`starting ${sleeping} sleeping runs`);
    for (let i = 0; i < sleeping; i += 1000) {
      await hf.startMany(Array.from({ length: 1000 }, () => ({ workflow: sleeper })));
    }
    while ((await hf.count({ status: "sleeping" })) < sleeping) await pause(200);
    row(`the same with ${sleeping} sleeping runs in the store`, await perMinute(store.url, seconds));
    await hf.close();
  } finally {
    await store.remove();
  }
  return rows;
}

/** Writing calls between the start and the result; a claim counts only when it takes something. */
async function commitsOf(url: string, work: () => Promise<unknown>): Promise<number> {
  await pause(6_000);
  await adminQuery(url, "select pg_stat_statements_reset()");
  await work();
  const calls = await callsByName(url);
  return WRITES.reduce((sum, name) => sum + (calls.get(name)?.written ?? 0), 0);
}

async function perMinute(url: string, seconds: number): Promise<number> {
  await pause(6_000);
  await adminQuery(url, "select pg_stat_statements_reset()");
  await pause(seconds * 1000);
  const calls = [...(await callsByName(url)).values()].reduce((sum, { calls }) => sum + calls, 0);
  return Math.round((calls * 60) / seconds);
}

/** Statements of this database by the function that they call; `written` are those that wrote WAL. */
async function callsByName(url: string): Promise<Map<string, { calls: number; written: number }>> {
  const rows = await adminQuery(
    url,
    `select query, calls::float8 as calls, case when wal_records > 0 then calls::float8 else 0 end as written
       from pg_stat_statements where toplevel and dbid = (select oid from pg_database where datname = current_database())
        and query not like '%pg_stat_statements%'`,
  );
  const found = new Map<string, { calls: number; written: number }>();
  for (const { query, calls, written } of rows) {
    const name = /\b(\w+)\s*\(/.exec(String(query).replace(/^.*?from\s+/is, ""))?.[1] ?? String(query);
    const before = found.get(name) ?? { calls: 0, written: 0 };
    found.set(name, { calls: before.calls + Number(calls), written: before.written + Number(written) });
  }
  return found;
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
