import { DEFINITION, STATE } from "@holdfast/conformance";
import type { ErrorRecord, PutSchedule, PutScheduleOutcome, Store } from "holdfast/adapter";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { aStart, idOf, newRun, start } from "./sample-runs.ts";
import { serverUrl, TestDatabase } from "./test-database.ts";

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

/** Schedules 1, 2, 3 …, each with one start: the run of the same number. */
function puts(count: number, first = 1): PutSchedule[] {
  return Array.from({ length: count }, (_, k) => {
    const n = first + k;
    return {
      namespace: "default",
      id: `schedule ${n}`,
      revision: null,
      next: idOf(1_000 + n),
      definition: DEFINITION,
      input: new Uint8Array(),
      state: { ...STATE, openId: `order ${n}` },
      decided: [],
      starts: [aStart(newRun(n), { ifRunning: "return", ifClosed: "return" })],
    };
  });
}

async function put(store: Store, some: readonly PutSchedule[]): Promise<readonly PutScheduleOutcome[]> {
  return (await store.schedules.putIfRevision({ puts: some, announce: false })).outcomes;
}

/** The other connection is about to start a run with the id of run 2. */
async function takeId(): Promise<void> {
  await other.query("begin");
  await other.query(
    `insert into ${database.name("run_starts")} (namespace, id, nth, run_id, chain_id, created_at, lane_id, input)
     values ('default', 'order 2', 0, $1, $1, 1, 1, '')`,
    [idOf(77)],
  );
}

const [WRITTEN, BUSY] = [{ outcome: "written" }, { outcome: "busy" }];

test("a run id that another transaction has locked makes its own schedule late, and no other", async () => {
  const { store } = await database.open();
  await takeId();
  expect(await put(store, puts(3))).toEqual([WRITTEN, BUSY, WRITTEN]);
  const ids = puts(3).map(({ namespace, id }) => ({ namespace, id }));
  expect((await store.schedules.read({ schedules: ids })).map((one) => one?.open?.status)).toEqual([
    "pending",
    undefined,
    "pending",
  ]);
  await other.query("rollback");
  // The first and the third are known by their revisions.
  expect(await put(store, puts(3))).toEqual([WRITTEN, WRITTEN, WRITTEN]);
  expect(await store.runs.count({ namespace: "default", atMost: null })).toBe(3);
});

test("a put with several starts is left out as a whole if one of their ids is locked", async () => {
  const { store } = await database.open();
  await takeId();
  const [one, two, three] = puts(3) as [PutSchedule, PutSchedule, PutSchedule];
  const both = { ...two, starts: [...puts(1, 9), two].flatMap(({ starts }) => starts) };
  expect(await put(store, [one, both, three])).toEqual([WRITTEN, BUSY, WRITTEN]);
  expect(await store.runs.count({ namespace: "default", atMost: null })).toBe(2);
  await other.query("rollback");
  expect(await put(store, [both])).toEqual([WRITTEN]);
  expect(await store.runs.count({ namespace: "default", atMost: null })).toBe(4);
});

test("a run that is started by the other transaction after all has taken the id", async () => {
  const { store } = await database.open();
  await takeId();
  expect(await put(store, puts(3))).toEqual([WRITTEN, BUSY, WRITTEN]);
  await other.query("rollback");
  await start(store, [newRun(77, { id: "order 2" })]);
  expect(await put(store, puts(3))).toEqual([WRITTEN, { outcome: "taken", taken: ["order 2"] }, WRITTEN]);
});

/** Schedules 1, 2 and 3, whose open runs are 11, 12 and 13: each terminates its run for the run of its own number. */
async function replacements(store: Store): Promise<PutSchedule[]> {
  const fresh = puts(3);
  await start(store, [newRun(11), newRun(12), newRun(13)]);
  await put(
    store,
    fresh.map((one, i) => ({ ...one, state: { ...STATE, openId: `order ${11 + i}` }, starts: [] })),
  );
  const error: ErrorRecord = { name: "Error", message: "make way", kind: "Unknown" };
  return fresh.map(({ definition: _definition, input: _input, ...one }, i) => ({
    ...one,
    revision: one.next,
    next: idOf(2_001 + i),
    assumes: { open: true },
    terminates: { runId: idOf(11 + i), error },
  }));
}

async function statuses(store: Store): Promise<(string | undefined)[]> {
  const runs = [11, 12, 13, 1, 2, 3].map((n) => ({ namespace: "default", id: `order ${n}` }));
  return (await store.runs.read({ runs })).map((run) => run?.status);
}

test("a run makes way for no run whose id another transaction is taking, and for none if it is locked itself", async () => {
  const { store } = await database.open();
  const some = await replacements(store);
  await takeId();
  expect(await put(store, some)).toEqual([WRITTEN, BUSY, WRITTEN]);
  expect(await statuses(store)).toEqual(["terminated", "pending", "terminated", "pending", undefined, "pending"]);
  await other.query("rollback");
  await other.query("begin");
  await other.query(`select 1 from ${database.name("runs")} where run_id = $1 for no key update`, [idOf(12)]);
  expect(await put(store, some)).toEqual([WRITTEN, BUSY, WRITTEN]);
  expect(await statuses(store)).toEqual(["terminated", "pending", "terminated", "pending", undefined, "pending"]);
  await other.query("rollback");
  expect(await put(store, some)).toEqual([WRITTEN, WRITTEN, WRITTEN]);
  expect(await statuses(store)).toEqual(["terminated", "terminated", "terminated", "pending", "pending", "pending"]);
});
