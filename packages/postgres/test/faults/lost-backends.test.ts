import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { TestDatabase } from "../test-database.ts";
import { FaultLoad } from "./fault-load.ts";

let database: TestDatabase;
let load: FaultLoad;

beforeEach(async () => {
  database = await TestDatabase.create();
  load = new FaultLoad(database);
});

afterEach(async () => {
  await load.close();
  await database.drop();
});

/** The backends whose last statement belongs to this test. */
async function processes(condition: string): Promise<number[]> {
  const rows = await database.sql(
    `select pid from pg_stat_activity where pid <> pg_backend_pid() and strpos(query, $1) > 0 and ${condition}`,
    [`"${database.schema}"`],
  );
  return rows.map(({ pid }) => pid as number);
}

const listeners = (): Promise<number[]> => processes("query like 'listen%'");

async function terminate(pids: readonly number[]): Promise<void> {
  for (const pid of pids) await database.sql("select pg_terminate_backend($1, 5000)", [pid]);
}

describe("a process of the server that is terminated", () => {
  test("in the middle of a flush, five times over, loses nothing and repeats nothing", async () => {
    const client = await load.worker(database.url());
    const [row] = await database.sql("select pg_get_functiondef($1::regprocedure) as now", [
      `${database.name("now_ms")}()`,
    ]);
    let goOn = load.pauseSteps();
    let reached = load.executions(200);
    const handles = await load.start(client, 200);
    for (let i = 0; i < 5; i++) {
      // Every run is in the middle of a step, and is stopped again in the next one.
      await reached;
      // From now on, every call that reads the clock blocks, with its work so far uncommitted.
      await database.sql(`create or replace function ${database.name("now_ms")}() returns bigint language sql volatile
        as $$ select case when pg_sleep(60) is null then 0 else 1 end::bigint $$`);
      goOn();
      goOn = load.pauseSteps();
      reached = load.executions(200);
      while ((await processes("state = 'active' and query ~ '(commit|append)_runs'")).length === 0);
      await database.sql(row?.now as string);
      await terminate(await processes("state = 'active'"));
    }
    await reached;
    goOn();
    await load.expectDoneOnce(handles);
    await load.expectNoTakeover();
  });

  test("that was the one which listens: what happens meanwhile is found by asking, and then it listens again", async () => {
    await load.worker(database.url());
    const [pid] = await listeners();
    const starter = await load.client(database.url());
    await terminate([pid as number]);
    const unheard = await load.start(starter, 50, "signal");
    await load.signal(unheard);
    while ((await listeners()).length < 2) await database.sql("select pg_sleep(0.05)");
    expect(await listeners()).not.toContain(pid);
    const heard = await load.start(starter, 50);
    await load.expectDoneOnce([...unheard, ...heard]);
    await load.expectNoTakeover();
  });
});
