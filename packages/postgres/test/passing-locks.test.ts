import type { RunCommit } from "holdfast/adapter";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { event, firstCommit, idOf, newRun, register, start } from "./sample-runs.ts";
import { serverUrl, TestDatabase } from "./test-database.ts";

let database: TestDatabase;
let other: pg.Client;
const worker = idOf(1);

beforeEach(async () => {
  database = await TestDatabase.create();
  other = new pg.Client({ connectionString: serverUrl() });
  await other.connect();
});

afterEach(async () => {
  await other.end();
  await database.drop();
});

function requesting(n: number): RunCommit {
  const locks = [{ seq: 1, op: "lock:x", name: "x", limit: 2 }];
  return firstCommit(n, { events: [event(1, { type: "lock_requested", op: "lock:x", meta: { limit: 2 } })], locks });
}

const askOf = (n: number) => ({ namespace: "default", runId: idOf(n), seq: 1, epoch: 1 });

test("a lock that is given back while others are being passed on reaches whoever is next", async () => {
  const { store } = await database.open();
  await register(store, worker);
  await start(store, [newRun(10), newRun(11), newRun(12)], worker);
  await store.runs.commit({ commits: [requesting(10)] });
  const first = await store.locks.pass({ asks: [askOf(10)], givenBackBy: [] });
  expect(first.answers[0]?.outcome).toBe("granted");
  await store.runs.commit({ commits: [requesting(11)] });
  await store.runs.commit({ commits: [requesting(12)] });
  // The second place goes to 11. The call has counted the places, and stands still before it writes the grant.
  await other.query("begin");
  await other.query(`select 1 from ${database.name("locks")} where run_id = $1 for update`, [idOf(11)]);
  const passing = store.locks.pass({ asks: [askOf(11)], givenBackBy: [] });
  const waiting = "select 1 from pg_stat_activity where pg_backend_pid() = any (pg_blocking_pids(pid))";
  while ((await other.query(waiting)).rowCount === 0);
  const released = event(2, { type: "lock_released", op: "lock:x", meta: { request: 1 } });
  const leaving = { ...firstCommit(10), commit: 1, events: [released], eventCount: 2, unlocks: [1] };
  const { outcomes } = await store.runs.commit({ commits: [leaving] });
  expect(outcomes[0]?.outcome).toBe("written");
  await other.query("commit");
  expect((await passing).answers[0]?.outcome).toBe("granted");
  const givenBackBy = [{ namespace: "default", runId: idOf(10) }];
  expect((await store.locks.pass({ asks: [], givenBackBy })).passed).toEqual([true]);
  const line = await store.locks.list({ namespace: "default", of: { name: "x" }, limit: 10 });
  expect(line.map(({ runId, fence }) => [runId, fence !== null])).toEqual([
    [idOf(11), true],
    [idOf(12), true],
  ]);
});
