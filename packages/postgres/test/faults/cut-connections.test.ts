import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { TestDatabase } from "../test-database.ts";
import { type Fault, TestProxy } from "../test-proxy.ts";
import { FaultLoad } from "./fault-load.ts";

let database: TestDatabase;
let proxy: TestProxy;
let load: FaultLoad;

beforeAll(async () => {
  database = await TestDatabase.create();
});

afterAll(() => database.drop());

beforeEach(async () => {
  proxy = await TestProxy.start();
  load = new FaultLoad(database);
});

afterEach(async () => {
  await load.close();
  await proxy.close();
  await database.empty();
});

const FAULTS: readonly Fault[] = ["not sent", "half sent", "not answered", "half answered"];

describe("a connection that breaks when", () => {
  test.each(FAULTS)("flushes are %s loses no result and records none twice", async (fault) => {
    const client = await load.worker(proxy.through(database.url()));
    const struck = Array.from({ length: 3 }, () => proxy.strike("commit_runs", fault));
    const handles = await load.start(client, 60);
    await Promise.all(struck);
    await load.expectDoneOnce(handles);
    await load.expectNoTakeover();
  });

  test.each(FAULTS)("starts are %s starts each run once", async (fault) => {
    const client = await load.worker(proxy.through(database.url()));
    const struck = Array.from({ length: 3 }, () => proxy.strike("start_runs", fault));
    const handles = await load.start(client, 60);
    await Promise.all(struck);
    await load.expectDoneOnce(handles);
    await load.expectNoTakeover();
  });

  test.each(FAULTS)("claims are %s takes each run once", async (fault) => {
    const starter = await load.client(database.url());
    const handles = [...(await load.start(starter, 40)), ...(await load.start(starter, 20, "sleep"))];
    const struck = Array.from({ length: 3 }, () => proxy.strike("claim_runs", fault));
    await load.worker(proxy.through(database.url()), { concurrency: 15 });
    await Promise.all(struck);
    await load.expectDoneOnce(handles);
    await load.expectNoTakeover();
  });

  test.each(FAULTS)("signals are %s delivers each once", async (fault) => {
    await load.worker(database.url());
    const sender = await load.client(proxy.through(database.url()));
    const handles = await load.start(sender, 60, "signal");
    const struck = Array.from({ length: 2 }, () => proxy.strike("deliver_messages", fault));
    await load.signal(handles);
    await Promise.all(struck);
    await load.expectDoneOnce(handles);
    await load.expectNoTakeover();
    const [row] = await database.sql(`select count(*)::int as messages from ${database.name("inbox")}`);
    expect(row).toEqual({ messages: handles.length });
  });

  test.each(FAULTS)("a heartbeat is %s costs no lease", async (fault) => {
    const client = await load.worker(proxy.through(database.url()), { lease: "1s" });
    const struck = proxy.strike("heartbeat_worker", fault);
    load.stepTakes = () => struck;
    const handles = await load.start(client, 60);
    await load.expectDoneOnce(handles);
    await load.expectNoTakeover();
  });
});

test("one connection that carries everything, and breaks again and again, loses and repeats nothing", async () => {
  const client = await load.worker(proxy.through(database.url({ connections: "1" })));
  const calls = ["start_runs", "commit_runs", "claim_runs", "deliver_messages", "heartbeat_worker"];
  const struck = FAULTS.flatMap((fault) => calls.map((call) => proxy.strike(call, fault)));
  const held = await load.start(client, 60);
  const waiting = await load.start(client, 30, "signal");
  const sleeping = await load.start(client, 30, "sleep");
  await load.signal(waiting);
  await load.expectDoneOnce([...held, ...waiting, ...sleeping]);
  await Promise.all(struck);
  await load.expectNoTakeover();
});
