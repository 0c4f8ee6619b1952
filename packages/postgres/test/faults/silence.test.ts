/**
 * Connections that go silent without an error: a firewall that forgot them, a machine that lost power. Only a time limit
 * detects this. A call gets its statement timeout plus five seconds.
 */
import { VirtualClock } from "holdfast/testing";
import { describe, expect, type TestContext, test } from "vitest";
import { firstCommit, idOf, newRun, register, start } from "../sample-runs.ts";
import { TestDatabase } from "../test-database.ts";
import { TestProxy } from "../test-proxy.ts";
import { watchedLog } from "../watched-log.ts";
import { FaultLoad } from "./fault-load.ts";

const worker = idOf(1);

/** The tests run concurrently, because they mostly wait; so each has its own store and proxy. */
async function setUp({ onTestFinished }: TestContext) {
  const database = await TestDatabase.create();
  const proxy = await TestProxy.start();
  const load = new FaultLoad(database);
  onTestFinished(async () => {
    await load.close();
    await proxy.close();
    await database.drop();
  });
  const url = proxy.through(database.url({ statement_timeout: "100" }));
  return { database, proxy, load, url };
}

describe.concurrent("connections that go silent", () => {
  test("fail the calls on them in time, with nothing left in doubt but whether a write was done", async (context) => {
    const { database, proxy, url } = await setUp(context);
    const { store } = await database.open({ url });
    await register(store, worker);
    await start(store, [newRun(10)], worker);
    await Promise.all(
      Array.from({ length: 8 }, () => store.workers.readHeld({ namespace: "default", workerId: worker })),
    );
    proxy.goSilent();
    proxy.heal();
    const commit = () => store.runs.commit({ commits: [firstCommit(10)] });
    const calls = await Promise.allSettled([
      commit(),
      store.workers.heartbeat({ namespace: "default", workerId: worker, leaseMs: 60_000, draining: false }),
      store.inbox.read({ runs: [{ namespace: "default", runId: idOf(10), after: 0 }] }),
      store.histories.read({ runs: [{ namespace: "default", runId: idOf(10), afterSeq: 0 }], limitPerRun: 10 }),
    ]);
    expect(calls).toMatchObject([
      { reason: { code: "store_outcome_unknown", message: expect.stringContaining("no answer to what was sent") } },
      { reason: { code: "store_outcome_unknown" } },
      { reason: { code: "store_unavailable" } },
      { reason: { code: "store_unavailable" } },
    ]);
    expect((await commit()).outcomes).toMatchObject([{ outcome: "written" }]);
  });

  test("under load lose no result and repeat no step, though another worker stands by", async (context) => {
    const { database, proxy, load, url } = await setUp(context);
    const client = await load.worker(url, { lease: "30s" });
    await load.worker(database.url(), { lease: "30s" });
    const goOn = load.pauseSteps();
    const begun = load.executions(60 + 20);
    const handles = [...(await load.start(client, 60)), ...(await load.start(client, 20, "signal"))];
    await begun;
    proxy.goSilent();
    proxy.heal();
    goOn();
    await load.signal(handles.slice(60));
    await load.expectDoneOnce(handles);
    await load.expectNoTakeover();
  });

  test("cost no lease that is twice as long as the patience of a call", async (context) => {
    const { database, proxy, load, url } = await setUp(context);
    const client = await load.worker(url, { lease: "11s" });
    await load.worker(database.url(), { lease: "11s" });
    const goOn = load.pauseSteps();
    const handles = await load.start(client, 20);
    // All connections are open and idle when it happens, so each of them could swallow a heartbeat.
    await Promise.all(Array.from({ length: 20 }, () => client.health()));
    proxy.goSilent();
    proxy.heal();
    const beats = proxy.sent.get("heartbeat_worker") ?? 0;
    // Past the end of the current lease.
    await database.sql(
      `select pg_sleep((max(lease_expires_at) + 100 - ${database.name("now_ms")}()) / 1000.0) from ${database.name("workers")}`,
    );
    expect(proxy.sent.get("heartbeat_worker")).toBeGreaterThan(beats);
    goOn();
    await load.expectDoneOnce(handles);
    await load.expectNoTakeover();
  });

  test("are noticed by the one that only listens, and it listens again", async (context) => {
    const { database, proxy, url } = await setUp(context);
    const clock = new VirtualClock();
    const { log, next } = watchedLog();
    const { notifier } = await database.open({ url, clock, log });
    await notifier.listening;
    proxy.goSilent();
    proxy.heal();
    await clock.advance("30s");
    expect(await next()).toMatchObject({ reason: "the connection ended" });
    await clock.advance("1s");
    await notifier.listening;
  });

  test("do not keep a store from being closed", async (context) => {
    const { database, proxy, url } = await setUp(context);
    const { store } = await database.open({ url });
    await register(store, worker);
    proxy.goSilent();
    await store.close();
  });
});
