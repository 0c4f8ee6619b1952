import type { Segment, Store } from "holdfast/adapter";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { event, firstCommit, HOLD, idOf, newRun, register, start } from "./sample-runs.ts";
import { serverUrl, TestDatabase } from "./test-database.ts";

const SEGMENT: Segment = { firstSeq: 1, lastSeq: 2, bytes: Uint8Array.of(1), sum: 7 };
const RUN = { namespace: "default", runId: idOf(10) };
const worker = idOf(1);
let database: TestDatabase;
let other: pg.Client;

beforeEach(async () => {
  database = await TestDatabase.create();
  other = new pg.Client({ connectionString: serverUrl() });
  await other.connect();
});

afterEach(async () => {
  await other.end();
  await database.drop();
});

/** A held run with two events. */
async function held(): Promise<Store> {
  const { store } = await database.open();
  await register(store, worker);
  await start(store, [newRun(10)], worker);
  const commits = [firstCommit(10, { events: [event(1), event(2)], transition: HOLD })];
  expect((await store.runs.commit({ commits })).outcomes).toMatchObject([{ outcome: "written" }]);
  return store;
}

function add(store: Store): Promise<{ readonly added: boolean }> {
  return store.segments.addIfCurrent({ ...RUN, edition: 0, segments: [SEGMENT] });
}

/** Until a session of this schema waits for a lock. A transaction that has looked once would see the same activity until its end. */
async function untilWaiting(): Promise<void> {
  const waiting = "select 1 from pg_stat_activity where wait_event_type = 'Lock' and strpos(query, $1) > 0";
  while ((await database.sql(waiting, [database.name("add_segments_if_current")])).length === 0);
}

test("segments that are added while others are dropped wait for that, and are refused", async () => {
  const store = await held();
  await other.query("begin");
  await other.query(`select * from ${database.name("drop_segments")}(array['default'], array[$1]::uuid[])`, [
    RUN.runId,
  ]);
  const adding = add(store);
  await untilWaiting();
  await other.query("commit");
  expect(await adding).toEqual({ added: false });
  const [found] = await store.segments.read({ runs: [{ ...RUN, afterSeq: 0 }], limitPerRun: 9 });
  expect(found).toEqual({ edition: 1, segments: [] });
});

test("adding segments does not stand in the way of the run's commits", async () => {
  const store = await held();
  await other.query("begin");
  const { rows } = await other.query(
    `select ${database.name("add_segments_if_current")}('default', $1, 0, array[1], array[2], array[7]::bigint[], array['x']::bytea[]) as added`,
    [RUN.runId],
  );
  expect(rows).toEqual([{ added: true }]);
  const commits = [firstCommit(10, { commit: 1, events: [event(3)], transition: HOLD })];
  expect((await store.runs.commit({ commits })).outcomes).toMatchObject([{ outcome: "written" }]);
  await other.query("commit");
});

test("two workers that pack the same at once leave one copy", async () => {
  const store = await held();
  expect(await Promise.all([add(store), add((await database.open()).store)])).toContainEqual({ added: true });
  const [found] = await store.segments.read({ runs: [{ ...RUN, afterSeq: 0 }], limitPerRun: 9 });
  expect(found?.segments).toMatchObject([{ firstSeq: 1, lastSeq: 2, sum: 7 }]);
});
