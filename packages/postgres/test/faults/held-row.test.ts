import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { serverUrl, TestDatabase } from "../test-database.ts";
import { TestProxy } from "../test-proxy.ts";
import { FaultLoad } from "./fault-load.ts";

const LEASE_MS = 1_000;

let database: TestDatabase;
let proxy: TestProxy;
let load: FaultLoad;
let other: pg.Client;

beforeEach(async () => {
  database = await TestDatabase.create();
  proxy = await TestProxy.start();
  load = new FaultLoad(database);
  other = new pg.Client({ connectionString: serverUrl() });
  await other.connect();
});

afterEach(async () => {
  await other.end();
  await load.close();
  await proxy.close();
  await database.drop();
});

/** Another transaction locks the rows of all runs, and stays open. */
async function lockAll(): Promise<void> {
  await other.query("begin");
  await other.query(`select 1 from ${database.name("runs")} for update`);
}

/** Three leases stand for the minute of a forgotten commit: longer than the engine waits for anything. */
async function callsMeanwhile(call: string): Promise<number> {
  const before = proxy.sent.get(call) ?? 0;
  await other.query("select pg_sleep($1)", [(3 * LEASE_MS) / 1_000]);
  return (proxy.sent.get(call) ?? 0) - before;
}

test("a row that an application's transaction keeps locked holds up its own run and none of 500 others", async () => {
  const url = proxy.through(database.url());
  const client = await load.worker(url, { lease: { milliseconds: LEASE_MS }, concurrency: 600 });
  const goOn = load.pauseSteps();
  const begun = load.executions(1);
  const held = await load.start(client, 1);
  await begun;
  await lockAll();
  goOn();
  const others = await load.start(client, 500);
  await Promise.all(others.map((handle) => handle.result()));
  // Once a second in the end, each time followed by a call that skips the locked row.
  expect(await callsMeanwhile("commit_runs")).toBeLessThan(25);
  expect(await held[0]?.status()).toBe("running");
  await other.query("commit");
  await load.expectDoneOnce([...held, ...others]);
  await load.expectNoTakeover();
});

test("a row that is kept locked while its run is due is passed over until it is free, without haste", async () => {
  const client = await load.client(proxy.through(database.url()));
  const held = await load.start(client, 1);
  await lockAll();
  await load.worker(proxy.through(database.url()), { lease: { milliseconds: LEASE_MS } });
  const others = await load.start(client, 100);
  await Promise.all(others.map((handle) => handle.result()));
  expect(await callsMeanwhile("claim_runs")).toBeLessThan(25);
  expect(await held[0]?.status()).toBe("pending");
  await other.query("commit");
  await load.expectDoneOnce([...held, ...others]);
  await load.expectNoTakeover();
});
