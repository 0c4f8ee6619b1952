import type { RunCommit, Store, Transition } from "holdfast/adapter";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { textFor } from "../src/database/server-call.ts";
import { APPEND, appendedIn } from "../src/runs/appends.ts";
import { workersOf } from "../src/runs/flush-parts.ts";
import type { PostgresStore } from "../src/store.ts";
import { aStart, ERROR, event, firstCommit, idOf, newRun, register, SWEEP, start } from "./sample-runs.ts";
import { serverUrl, TestDatabase } from "./test-database.ts";

const WORKER = idOf(1);
const NEXT = idOf(2);
const APPENDS: Transition = { type: "append" };

let database: TestDatabase;
let other: pg.Client;
let store: Store;

beforeEach(async () => {
  database = await TestDatabase.create();
  ({ store } = await database.open());
  other = new pg.Client({ connectionString: serverUrl() });
  await other.connect();
  await register(store, WORKER);
  await register(store, NEXT);
  await start(store, [newRun(10), newRun(11)], WORKER);
  await store.runs.commit({ commits: [firstCommit(10), firstCommit(11)] });
});

afterEach(async () => {
  await other.end();
  await database.drop();
});

/** The next commit of a run that has made its first. */
function append(n: number, seq = 2): RunCommit {
  return firstCommit(n, { commit: 1, events: [event(seq)], transition: APPENDS });
}

/** An append of another connection, in a transaction that stays open: it has been sent, and is not committed yet. */
async function appendOnItsWay(n: number): Promise<void> {
  const appends = [append(n)];
  const { workers, by } = workersOf(appends);
  await other.query("begin");
  const values = APPEND.values({ ...appendedIn(appends, by), workers, careful: false });
  const { rows } = await other.query(textFor(APPEND, database.schema), values);
  expect(rows[0]?.a_outcome).toBe("w");
}

async function untilSomebodyWaitsForAGate(): Promise<void> {
  const gate = `any (array(select ${database.name("gate_of")}(w.worker_id) from ${database.name("workers")} w))`;
  const waiting = `select 1 from pg_locks where locktype = 'advisory' and not granted
    and ((classid::bigint << 32) | objid::bigint) = ${gate}`;
  while ((await other.query(waiting)).rowCount === 0);
}

async function rowOf(n: number) {
  const [row] = await store.runs.read({ runs: [{ namespace: "default", runId: idOf(n) }] });
  return row;
}

async function seqsOf(n: number): Promise<readonly number[]> {
  const runs = [{ namespace: "default", runId: idOf(n), afterSeq: 0 }];
  const [events] = await store.histories.read({ runs, limitPerRun: 10 });
  return events?.map(({ seq }) => seq) ?? [];
}

const RUN = { namespace: "default", runId: idOf(10) };
const OWN = { namespace: "default", workerId: WORKER };

const TAKINGS: Readonly<Record<string, () => Promise<unknown>>> = {
  terminate: () => store.runs.terminate({ runs: [RUN], error: ERROR }),
  replace: () => {
    const starts = [aStart(newRun(12, { id: "order 10" }), { ifRunning: "replace" })];
    return store.runs.start({ starts, holdBy: null, replaceError: ERROR });
  },
  release: () => store.runs.releaseIfHeld({ ...OWN, runs: [{ runId: RUN.runId, epoch: 1 }] }),
  restart: () => {
    const event = { type: "run_restarted", op: null } as const;
    return store.runs.restartIfHeld({ ...RUN, epoch: 1, commit: 1, eventCount: 2, event });
  },
  stop: () => store.workers.stop(OWN),
};

describe("an append on its way", () => {
  test.for(Object.keys(TAKINGS))("is waited for by a %s, and counted", async (name) => {
    await appendOnItsWay(10);
    const taking = TAKINGS[name]?.();
    await untilSomebodyWaitsForAGate();
    await other.query("commit");
    await taking;
    const row = await rowOf(10);
    const notes = name === "restart" ? 1 : 0;
    expect(row).toMatchObject({ heldBy: null, epoch: 2, eventCount: 2 + notes });
    expect(await seqsOf(10)).toHaveLength(2 + notes);
    const { outcomes } = await store.runs.commit({ commits: [append(10, 3 + notes)] });
    expect(outcomes[0]?.outcome).toBe("lost");
  });

  test.for(Object.keys(TAKINGS))("that is rolled back leaves no trace after a %s", async (name) => {
    await appendOnItsWay(10);
    const taking = TAKINGS[name]?.();
    await untilSomebodyWaitsForAGate();
    await other.query("rollback");
    await taking;
    const row = await rowOf(10);
    // A restart is for a run with two events, which this one never had.
    expect(row).toMatchObject(name === "restart" ? { heldBy: WORKER, eventCount: 1 } : { heldBy: null, eventCount: 1 });
  });

  test("is left to the next sweep, which counts it", async () => {
    await appendOnItsWay(10);
    const sweep = { ...SWEEP, gone: [WORKER] };
    expect(await store.workers.sweep(sweep)).toMatchObject({ dead: 1, returned: 0 });
    expect(await rowOf(10)).toMatchObject({ heldBy: WORKER, epoch: 1 });
    await other.query("commit");
    expect(await store.workers.sweep(sweep)).toMatchObject({ dead: 0, returned: 2 });
    expect(await rowOf(10)).toMatchObject({ heldBy: null, epoch: 2, eventCount: 2, deaths: 1 });
  });

  test("that takes too long leaves a run that was to be terminated busy", async () => {
    await appendOnItsWay(10);
    const outcomes = await store.runs.terminate({ runs: [RUN], error: ERROR });
    expect(outcomes).toMatchObject([{ outcome: "busy" }]);
    await other.query("commit");
    expect(await store.runs.terminate({ runs: [RUN], error: ERROR })).toMatchObject([{ outcome: "terminated" }]);
    expect(await rowOf(10)).toMatchObject({ eventCount: 2 });
  });

  test("is found by its own copy, which waits for it", async () => {
    await appendOnItsWay(10);
    const again = store.runs.commit({ commits: [append(10), append(11)] }).catch((error: unknown) => error);
    const waiting = "select 1 from pg_locks where locktype = 'transactionid' and not granted";
    while ((await other.query(waiting)).rowCount === 0);
    await other.query("commit");
    expect(await again).toMatchObject({ outcomes: [{ outcome: "written" }, { outcome: "written" }] });
    expect([await seqsOf(10), await seqsOf(11)]).toEqual([
      [1, 2],
      [1, 2],
    ]);
  });

  test("would be written behind the end of its run if nobody closed the gate", async () => {
    const off =
      "create or replace function close_gates(p_workers uuid[]) returns boolean language sql as 'select true'";
    await other.query(`set search_path = "${database.schema}"; ${off}; reset search_path`);
    await appendOnItsWay(10);
    await store.runs.terminate({ runs: [RUN], error: ERROR });
    await other.query("commit");
    expect(await rowOf(10)).toMatchObject({ status: "terminated", eventCount: 1 });
    expect(await seqsOf(10)).toEqual([1, 2]);
  });
});

describe("a transaction of an application that replaces a run", () => {
  const replacing = (store: Store) => {
    const starts = [aStart(newRun(12, { id: "order 10" }), { ifRunning: "replace" })];
    return (store as PostgresStore).join(other).start({ starts, holdBy: null, replaceError: ERROR });
  };

  test("delays no other run of the same worker while it is open, and its own run is busy", async () => {
    await other.query("begin");
    await replacing(store);
    const { outcomes } = await store.runs.commit({ commits: [append(10), append(11)] });
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["busy", "written"]);
    await other.query("rollback");
    const again = await store.runs.commit({ commits: [append(10), append(11)] });
    expect(again.outcomes.map(({ outcome }) => outcome)).toEqual(["written", "written"]);
    expect(await seqsOf(10)).toEqual([1, 2]);
  });

  test("ends the run behind what was recorded, once it commits", async () => {
    await store.runs.commit({ commits: [append(10)] });
    await other.query("begin");
    await replacing(store);
    await other.query("commit");
    expect(await rowOf(10)).toMatchObject({ status: "terminated", eventCount: 2 });
    const { outcomes } = await store.runs.commit({ commits: [append(10, 3)] });
    expect(outcomes[0]?.outcome).toBe("lost");
  });

  test("fails if it sees an older history than there is, and has to be repeated", async () => {
    await other.query("begin isolation level repeatable read");
    await other.query(`select 1 from ${database.name("runs")} limit 1`);
    await store.runs.commit({ commits: [append(10)] });
    await expect(replacing(store)).rejects.toMatchObject({ cause: { code: "40001" } });
    await other.query("rollback");
    await other.query("begin isolation level repeatable read");
    await replacing(store);
    await other.query("commit");
    expect(await rowOf(10)).toMatchObject({ status: "terminated", eventCount: 2 });
    expect(await seqsOf(10)).toEqual([1, 2]);
  });
});

test("a gate belongs to its schema: another one of the same database has others for the same workers", async () => {
  const second = await TestDatabase.create();
  await second.open();
  const gateIn = (one: TestDatabase) => one.sql(`select ${one.name("gate_of")}($1) as gate`, [WORKER]);
  expect(await gateIn(second)).not.toEqual(await gateIn(database));
  await second.drop();
});
