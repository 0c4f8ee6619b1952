import type { Store } from "holdfast/adapter";
import { VirtualClock } from "holdfast/testing";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Connection } from "../src/database/connection.ts";
import { openDatabase } from "../src/database/driver.ts";
import { openFile, temporaryFolder } from "./sqlite-under-test.ts";

let folder: ReturnType<typeof temporaryFolder>;
let clock: VirtualClock;
let store: Store;
let otherProcess: Connection;

beforeEach(async () => {
  folder = temporaryFolder();
  clock = new VirtualClock();
  ({ store } = await openFile(folder.file("app.db"), { clock, watch: false }));
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
