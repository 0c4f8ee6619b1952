import type { Run, RunRest, Store } from "holdfast/adapter";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { textFor } from "../src/database/server-call.ts";
import { START, startingOf } from "../src/runs/starts.ts";
import { commit, endOf, failed, parentOf } from "./sample-children.ts";
import { aStart, ERROR, event, idOf, newRun, register, start } from "./sample-runs.ts";
import { serverUrl, TestDatabase } from "./test-database.ts";

const WORKER = idOf(1);
const RUN = { namespace: "default", runId: idOf(10) };
const NEXT = aStart(newRun(11, { id: "order 10" }), { ifRunning: "return", ifClosed: "start" });
const CHILD = aStart(newRun(12), { parent: parentOf(10) });

let database: TestDatabase;
let other: pg.Client;
let store: Store;

beforeEach(async () => {
  database = await TestDatabase.create();
  ({ store } = await database.open());
  other = new pg.Client({ connectionString: serverUrl() });
  await other.connect();
  await register(store, WORKER);
});

afterEach(async () => {
  await other.end();
  await database.drop();
});

/** A start of another connection, in a transaction that stays open. */
async function startOnItsWay(one = NEXT): Promise<void> {
  await other.query("begin");
  const starting = startingOf({ starts: [one], holdBy: null, replaceError: ERROR }, false, false);
  const { rows } = await other.query(textFor(START, database.schema), START.values(starting));
  expect(rows).toMatchObject([{ i: 0, made: "1" }]);
}

async function started(one = NEXT) {
  const { outcomes } = await store.runs.start({ starts: [one], holdBy: null, replaceError: ERROR });
  return { outcome: outcomes[0]?.outcome, runId: outcomes[0]?.run?.runId };
}

function reopen() {
  const run_retried = event(2, { type: "run_retried" });
  return store.runs.reopenIfFailed({ run: RUN, eventCount: 1, event: run_retried });
}

function purge() {
  return store.runs.purge({ namespace: "default", endedBefore: Number.MAX_SAFE_INTEGER, limit: 10 });
}

async function untilSomebodyWaits(): Promise<void> {
  const waiting = "select 1 from pg_locks where locktype = 'transactionid' and not granted";
  while ((await other.query(waiting)).rowCount === 0);
}

/** Run 10 has failed. */
async function failedRun(): Promise<void> {
  await start(store, [newRun(10)], WORKER);
  await commit(store, failed(10));
}

async function openRuns(): Promise<readonly string[]> {
  const found = await store.runs.list({ namespace: "default", statuses: ["pending", "running"], limit: 10 });
  return found.map(({ runId }) => runId);
}

describe("a start over a closed run that is on its way", () => {
  beforeEach(failedRun);

  test("keeps the run closed: it is busy for a reopening, and superseded after that", async () => {
    await startOnItsWay();
    expect(await reopen()).toMatchObject({ outcome: "busy" });
    await other.query("commit");
    expect(await reopen()).toMatchObject({ outcome: "superseded" });
    expect(await openRuns()).toEqual([idOf(11)]);
  });

  test("keeps the run from being purged, so that the number of the new one is known", async () => {
    await startOnItsWay();
    expect(await purge()).toMatchObject({ purged: 0 });
    await other.query("commit");
    expect(await purge()).toMatchObject({ purged: 1 });
    expect(await started(aStart(newRun(13, { id: "order 10" })))).toEqual({ outcome: "exists", runId: idOf(11) });
  });

  test("that is rolled back leaves the run as it was", async () => {
    await startOnItsWay();
    await other.query("rollback");
    expect(await reopen()).toMatchObject({ outcome: "reopened" });
    expect(await started()).toEqual({ outcome: "returned", runId: idOf(10) });
  });

  test("would leave two open runs of one id if it did not lock the run", async () => {
    const source = await other.query<{ text: string }>("select pg_get_functiondef($1::regproc) as text", [
      database.name("start_runs"),
    ]);
    const text = source.rows[0]?.text ?? "";
    const careless = text.replace(" for share skip locked", "");
    expect(careless).not.toBe(text);
    await other.query(careless);
    await startOnItsWay();
    expect(await reopen()).toMatchObject({ outcome: "reopened" });
    await other.query("commit");
    expect(await openRuns()).toEqual([idOf(11), idOf(10)]);
  });
});

test("a start of an unused id leaves one open run, whatever became of that id since it was looked up", async () => {
  // So that nobody waits for a lane that is being made.
  await start(store, [newRun(20)]);
  // It waits between the two.
  await other.query(`create function ${database.name("wait")}() returns trigger language plpgsql as
    $$ begin perform pg_advisory_xact_lock_shared(4711); return new; end $$`);
  await other.query(`create trigger wait before insert on ${database.name("run_starts")} for each row
    when (new.run_id = '${idOf(12)}') execute function ${database.name("wait")}()`);
  await other.query("select pg_advisory_lock(4711)");
  const late = started(aStart(newRun(12, { id: "order 10" }), { ifRunning: "return" }));
  const waiting = "select 1 from pg_locks where locktype = 'advisory' and not granted and objid = 4711";
  while ((await other.query(waiting)).rowCount === 0);
  await failedRun();
  expect(await started()).toEqual({ outcome: "created", runId: idOf(11) });
  expect(await purge()).toMatchObject({ purged: 1 });
  await other.query("select pg_advisory_unlock(4711)");
  expect(await late).toEqual({ outcome: "returned", runId: idOf(11) });
  expect(await openRuns()).toEqual([idOf(11), idOf(20)]);
});

test("a start that finds a run just being reopened is busy, and then finds it open", async () => {
  await failedRun();
  await other.query("begin");
  await other.query(`select 1 from ${database.name("runs")} where run_id = $1 for no key update`, [RUN.runId]);
  expect(await started()).toEqual({ outcome: "busy", runId: idOf(10) });
  await other.query("rollback");
  await reopen();
  expect(await started()).toEqual({ outcome: "returned", runId: idOf(10) });
});

test("of two starts that take one id, the later one waits, and finds the run of the first if that commits", async () => {
  await startOnItsWay(aStart(newRun(10)));
  const waiting = started();
  await untilSomebodyWaits();
  await other.query("commit");
  expect(await waiting).toEqual({ outcome: "returned", runId: idOf(10) });
  await startOnItsWay(aStart(newRun(20)));
  const free = started(aStart(newRun(21, { id: "order 20" })));
  await untilSomebodyWaits();
  await other.query("rollback");
  expect(await free).toEqual({ outcome: "created", runId: idOf(21) });
});

test("starts of one id in one call make one run", async () => {
  const starts = [20, 21, 22].map((n) => aStart(newRun(n, { id: "order 20" }), { ifRunning: "return" }));
  const { outcomes } = await store.runs.start({ starts, holdBy: null, replaceError: ERROR });
  expect(outcomes.map(({ outcome }) => outcome).sort()).toEqual(["created", "returned", "returned"]);
  expect(await openRuns()).toHaveLength(1);
});

describe("the start of the first child of a run", () => {
  const ended = async () => (await commit(store, endOf(10)))[0]?.outcome;

  test("keeps the run open while it is on its way, and the run then owes it its end", async () => {
    await start(store, [newRun(10)], WORKER);
    await startOnItsWay(CHILD);
    expect(await ended()).toBe("busy");
    expect(await store.runs.terminate({ runs: [RUN], error: ERROR })).toMatchObject([{ outcome: "busy" }]);
    await other.query("commit");
    expect(await ended()).toBe("written");
    expect(await store.debts.read({ limit: 10 })).toMatchObject([{ runId: idOf(10), kind: "close" }]);
  });

  test("finds the run closed that ends at the same time", async () => {
    await start(store, [newRun(10)], WORKER);
    await started(CHILD);
    await other.query("begin");
    await other.query(`select 1 from ${database.name("runs")} where run_id = $1 for update`, [RUN.runId]);
    const next = aStart(newRun(13), { parent: parentOf(10) });
    expect((await started(next)).outcome).toBe("busy");
    await other.query("rollback");
    expect(await ended()).toBe("written");
    expect((await started(next)).outcome).toBe("parent_closed");
  });
});

test("a run that arrives while a start takes its id is refused, however late that is seen", async () => {
  await start(store, [newRun(10)]);
  const run = (await store.runs.read({ runs: [RUN] }))[0] as Run;
  const rest = (await store.transfers.read({ runs: [RUN] }))[0] as RunRest;
  const arrived = { ...run, runId: idOf(30), firstRunId: idOf(30), id: "order 30", queue: "elsewhere" };
  await other.query("begin");
  // The arrival has been judged when it needs the lane.
  await other.query(
    `insert into ${database.name("lanes")} (namespace, queue, workflow, version, priority) values ('default', 'elsewhere', $1, $2, $3)`,
    [run.workflow, run.version, run.priority],
  );
  const arriving = store.transfers.arrive({ image: { run: arrived, events: [], messages: [], rest } });
  await untilSomebodyWaits();
  expect(await started(aStart(newRun(31, { id: "order 30" })))).toMatchObject({ outcome: "created" });
  await other.query("rollback");
  expect(await arriving).toEqual({ outcome: "id_taken" });
  expect(await openRuns()).toEqual([idOf(31), idOf(10)]);
});
