import type { ClaimRunsResult, StartRun, Store } from "holdfast/adapter";
import { VirtualClock } from "holdfast/testing";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Connection } from "../src/database/connection.ts";
import { openDatabase } from "../src/database/driver.ts";
import { openParts } from "../src/open-store.ts";
import { newRandom, silent, temporaryFolder } from "./sqlite-under-test.ts";

let folder: ReturnType<typeof temporaryFolder>;
let clock: VirtualClock;
let store: Store;
let connection: Connection;
let otherProcess: Connection;

beforeEach(async () => {
  folder = temporaryFolder();
  clock = new VirtualClock();
  const options = { clock, random: newRandom(), log: silent, watch: false };
  ({ store, connection } = await openParts(`file:${folder.file("app.db")}`, options));
  otherProcess = new Connection(await openDatabase(folder.file("app.db")));
});

afterEach(async () => {
  otherProcess.rollback();
  otherProcess.close();
  await store.close();
  folder.remove();
});

function register(n: number): Promise<{ live: boolean; now: number }> {
  const worker = { namespace: "default", name: `worker ${n}`, queues: [], workflows: [], labels: {}, leaseMs: 1_000 };
  return store.workers.register({ workerId: `01890000-0000-7000-8000-00000000000${n}`, ...worker });
}

async function names(): Promise<string[]> {
  return (await store.workers.list({ namespace: "default" })).map(({ name }) => name);
}

test("a call that finds the file locked tries again later, and reads go on meanwhile", async () => {
  otherProcess.script("begin immediate");
  const calls = [register(1), register(2), register(3)];
  // tidy-allow: how long the thread was blocked is what this test is about
  const began = performance.now();
  await clock.settle();
  // tidy-allow: as above
  expect(performance.now() - began).toBeLessThan(100);
  expect(await names()).toEqual([]);
  await clock.advance("500ms");
  expect(await names()).toEqual([]);
  otherProcess.script("rollback");
  await clock.until(Promise.all(calls));
  expect(await names()).toEqual(["worker 1", "worker 2", "worker 3"]);
  const [first] = await Promise.all(calls);
  // Not the time of the call: times are compared under the lock.
  expect(first?.now).toBeGreaterThanOrEqual(Date.UTC(2026, 0, 4, 8) + 500);
});

test("a lock that is never released makes calls fail after ten seconds, and none of them takes effect later", async () => {
  otherProcess.script("begin immediate");
  const calls = [register(1), register(2)];
  const outcomes = clock.until(Promise.allSettled(calls));
  for (const outcome of await outcomes) {
    expect(outcome).toMatchObject({
      status: "rejected",
      reason: {
        code: "store_unavailable",
        message: expect.stringMatching(
          /another connection has kept \S+app\.db locked for 1\d s\. Find the program that has a transaction open.*this program itself.*inTransaction/,
        ),
      },
    });
  }
  expect(clock.monotonic()).toBeLessThan(11_000);
  otherProcess.script("rollback");
  await clock.advance("1 minute");
  expect(await names()).toEqual([]);
  await register(3);
  expect(await names()).toEqual(["worker 3"]);
});

test("a lock that nobody gives back makes a call fail after ten seconds, also while reads pass", async () => {
  otherProcess.script("begin immediate");
  let failure: unknown;
  const call = register(1).catch((error: unknown) => {
    failure = error;
  });
  while (failure === undefined && clock.monotonic() < 30_000) {
    expect(await clock.until(names())).toEqual([]);
    await clock.advance("1s");
  }
  expect(failure).toMatchObject({ code: "store_unavailable" });
  expect(clock.monotonic()).toBeLessThan(12_000);
  otherProcess.script("rollback");
  await call;
});

test("a repeated call that fails again says for how long the file has been locked in all", async () => {
  otherProcess.script("begin immediate");
  await clock.until(expect(register(1)).rejects.toThrow("locked for 10 s"));
  await clock.until(expect(register(1)).rejects.toThrow("locked for 20 s"));
  otherProcess.script("rollback");
  await clock.until(register(1));
  otherProcess.script("begin immediate");
  await clock.until(expect(register(2)).rejects.toThrow("locked for 10 s"));
});

test("a reader that keeps an old snapshot open does not delay other calls", async () => {
  otherProcess.script("begin");
  otherProcess.all("select * from holdfast_workers");
  await register(1);
  expect(await names()).toEqual(["worker 1"]);
  expect(otherProcess.all("select * from holdfast_workers")).toEqual([]);
});

test("close waits for the calls that were made before", async () => {
  otherProcess.script("begin immediate");
  const call = register(1);
  const closed = store.close();
  await clock.advance("100ms");
  otherProcess.script("rollback");
  await clock.until(closed);
  expect(await call).toMatchObject({ live: true });
});

const WORKER = "01890000-0000-7000-8000-000000000001";
let ids = 100;

function newId(): string {
  return `01890000-0000-7000-8000-000000000${++ids}`;
}

function start(count: number, queue = "default"): Promise<unknown> {
  const starts = Array.from({ length: count }, (): StartRun => {
    const runId = newId();
    const run = { namespace: "default", runId, id: runId, workflow: "order", version: "1", queue, priority: 0 };
    const more = { seed: "seed", input: new Uint8Array(), attributes: {} };
    return { run: { ...run, ...more }, ifRunning: "return", ifClosed: "return", hold: false } as unknown as StartRun;
  });
  const replaceError = { name: "Error", message: "no", kind: "Unknown" } as const;
  return store.runs.start({ starts, holdBy: null, replaceError, bounded: false });
}

test("a call that found the file locked reads nothing again that is known", async () => {
  const reads = (["get", "all", "columns", "allColumns"] as const).map((method) => vi.spyOn(connection, method));
  const readsOf = async (call: () => Promise<unknown>): Promise<number> => {
    const before = reads.reduce((sum, { mock }) => sum + mock.calls.length, 0);
    await call();
    return reads.reduce((sum, { mock }) => sum + mock.calls.length, -before);
  };
  await start(1);
  const known = await readsOf(() => start(1));
  otherProcess.script("begin immediate");
  const found = await readsOf(async () => {
    const call = start(1);
    await clock.advance("50ms");
    otherProcess.script("rollback");
    await clock.until(call);
  });
  expect(found).toBe(known);
});

describe("a claim that finds the file locked", () => {
  function claim(): Promise<ClaimRunsResult> {
    const handlers = [{ workflow: "order", version: "1" }];
    const of = { namespace: "default", queues: ["default", "other"], handlers, limit: 10, solo: false };
    return store.runs.claim({ workerId: WORKER, claimId: newId(), again: false, ...of });
  }

  async function limit(concurrency: number): Promise<void> {
    const revision = { revision: null, next: newId() };
    await store.queues.setIfRevision({ namespace: "default", queue: "default", limits: { concurrency }, ...revision });
  }

  test("lets the calls go first that come while it waits, once", async () => {
    await register(1);
    const log: string[] = [];
    const note = (name: string, call: Promise<unknown>) => call.then(() => log.push(name));
    otherProcess.script("begin immediate");
    const calls = [note("claim", claim())];
    await clock.settle();
    calls.push(note("first", register(2)));
    await clock.advance("5ms");
    calls.push(note("second", register(3)));
    await clock.advance("5ms");
    otherProcess.script("rollback");
    await clock.until(Promise.all(calls));
    expect(log).toEqual(["first", "claim", "second"]);
  });

  test("does not wait for the lock if its queue is full", async () => {
    await register(1);
    await limit(1);
    await start(3);
    expect((await claim()).runs).toHaveLength(1);
    await start(1);
    otherProcess.script("begin immediate");
    const { runs, nextDueAt, now } = await clock.until(claim());
    expect(runs).toEqual([]);
    expect((nextDueAt as number) - now).toBeGreaterThan(0);
    expect((nextDueAt as number) - now).toBeLessThanOrEqual(20);
    otherProcess.script("rollback");
  });

  test("waits for it to sort in what has come if no place was given for a while", async () => {
    await register(1);
    await limit(1);
    await start(1);
    expect((await claim()).runs).toHaveLength(1);
    await start(1);
    await clock.advance("20ms");
    otherProcess.script("begin immediate");
    const claimed = claim();
    await clock.advance("100ms");
    otherProcess.script("rollback");
    expect(await clock.until(claimed)).toMatchObject({ runs: [], nextDueAt: null });
  });

  test("does not wait for the lock if nothing is there for its queue with limits", async () => {
    await register(1);
    await limit(2);
    await start(1);
    expect((await claim()).runs).toHaveLength(1);
    otherProcess.script("begin immediate");
    expect(await clock.until(claim())).toMatchObject({ runs: [], moreDue: false, nextDueAt: null });
    otherProcess.script("rollback");
  });

  test.each([
    ["its queue has a place", 2, "default"],
    ["a queue without limits has something", 1, "other"],
  ])("waits for it if %s", async (_, concurrency, queue) => {
    await register(1);
    await limit(concurrency);
    await start(1);
    expect((await claim()).runs).toHaveLength(1);
    await start(1, queue);
    otherProcess.script("begin immediate");
    const claimed = claim();
    await clock.advance("100ms");
    otherProcess.script("rollback");
    expect((await clock.until(claimed)).runs).toHaveLength(1);
  });
});
