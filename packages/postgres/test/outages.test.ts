import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { firstCommit, idOf, newRun, register, start } from "./sample-runs.ts";
import { TestDatabase } from "./test-database.ts";
import { TestProxy } from "./test-proxy.ts";

let database: TestDatabase;
let proxy: TestProxy;
const worker = idOf(1);
const commits = [firstCommit(10)];

beforeEach(async () => {
  database = await TestDatabase.create();
  proxy = await TestProxy.start();
});

afterEach(async () => {
  await proxy.close();
  await database.drop();
});

async function openThroughProxy(parameters: Readonly<Record<string, string>> = {}) {
  const { store } = await database.open({ url: proxy.through(database.url({ connections: "1", ...parameters })) });
  await register(store, worker);
  await start(store, [newRun(10)], worker);
  return store;
}

/** From now on, every call that reads the clock takes that long. */
async function slowDown(): Promise<void> {
  await database.sql(`create or replace function ${database.name("now_ms")}() returns bigint language sql volatile
    as $$ select case when pg_sleep(60) is null then 0 else 1 end::bigint $$`);
}

async function speedUp(): Promise<void> {
  await database.sql(`create or replace function ${database.name("now_ms")}() returns bigint language sql volatile
    as $$ select 1000::bigint $$`);
}

/** Waits until the server executes that call, and returns the backend's process id. */
async function processAtWork(call: string): Promise<number> {
  for (;;) {
    const [row] = await database.sql(
      `select pid from pg_stat_activity where state = 'active' and pid <> pg_backend_pid() and query like $1`,
      [`%"${database.schema}".${call}(%`],
    );
    if (row) return row.pid as number;
  }
}

async function eventsWritten(): Promise<number> {
  const [row] = await database.sql(`select count(*)::int as count from ${database.name("events")}`);
  return row?.count as number;
}

describe("a flush", () => {
  test("whose server process is terminated has an unknown outcome, and is repeated on a new connection", async () => {
    const store = await openThroughProxy();
    await slowDown();
    const sent = store.runs.commit({ commits });
    sent.catch(() => {});
    await database.sql("select pg_terminate_backend($1)", [await processAtWork("commit_runs")]);
    await expect(sent).rejects.toMatchObject({ code: "store_outcome_unknown" });
    await speedUp();
    expect(await eventsWritten()).toBe(0);
    const again = await store.runs.commit({ commits });
    expect(again.outcomes).toMatchObject([{ outcome: "written", held: true }]);
    expect(await eventsWritten()).toBe(1);
  });

  test("whose answer is lost has an unknown outcome, and its repetition finds it written", async () => {
    const store = await openThroughProxy();
    proxy.swallowing = true;
    const sent = store.runs.commit({ commits });
    sent.catch(() => {});
    while ((await eventsWritten()) === 0);
    proxy.cut();
    proxy.swallowing = false;
    await expect(sent).rejects.toMatchObject({ code: "store_outcome_unknown" });
    const again = await store.runs.commit({ commits });
    expect(again.outcomes).toMatchObject([{ outcome: "written", held: true }]);
    expect(await eventsWritten()).toBe(1);
  });

  test("that takes too long has an unknown outcome", async () => {
    const store = await openThroughProxy({ statement_timeout: "100" });
    await slowDown();
    await expect(store.runs.commit({ commits })).rejects.toMatchObject({
      code: "store_outcome_unknown",
      data: { sqlState: "57014" },
    });
    await speedUp();
    expect((await store.runs.commit({ commits })).outcomes[0]?.outcome).toBe("written");
  });
});

describe("a server that is away", () => {
  test("before anything is sent leaves nothing done, and is found again when it is back", async () => {
    const store = await openThroughProxy();
    await proxy.down();
    // The first call may still get the broken connection; later ones do not.
    await store.workers.readHeld({ namespace: "default", workerId: worker }).catch(() => {});
    for (const call of [
      () => store.runs.commit({ commits }),
      () => store.workers.readHeld({ namespace: "default", workerId: worker }),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: "store_unavailable",
        message: expect.stringContaining("ECONNREFUSED"),
        data: { unreachable: true },
      });
    }
    await proxy.up();
    expect((await store.runs.commit({ commits })).outcomes[0]?.outcome).toBe("written");
  });

  test("in the middle of a read leaves nothing unknown", async () => {
    const store = await openThroughProxy();
    proxy.swallowing = true;
    const sent = store.workers.readHeld({ namespace: "default", workerId: worker });
    sent.catch(() => {});
    await database.sql("select 1");
    proxy.cut();
    await expect(sent).rejects.toMatchObject({ code: "store_unavailable" });
  });

  test("a permission that was taken away counts as an outage, not as bad data", async () => {
    const store = await openThroughProxy();
    await database.sql(`alter function ${database.name("now_ms")}() rename to was_now_ms`);
    await expect(store.runs.commit({ commits })).rejects.toMatchObject({ code: "store_unavailable" });
    await database.sql(`alter function ${database.name("was_now_ms")}() rename to now_ms`);
    expect((await store.runs.commit({ commits })).outcomes[0]?.outcome).toBe("written");
  });
});

test("a closed store refuses calls, and closing waits for those under way", async () => {
  const store = await openThroughProxy();
  const sent = store.runs.commit({ commits });
  await store.close();
  expect((await sent).outcomes[0]?.outcome).toBe("written");
  await expect(store.workers.readHeld({ namespace: "default", workerId: worker })).rejects.toMatchObject({
    code: "store_unavailable",
  });
});
