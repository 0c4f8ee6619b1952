import type { DeliverMessagesParams, Store } from "holdfast/adapter";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { textFor } from "../src/database/server-call.ts";
import { DELIVER, deliveryOf } from "../src/inbox.ts";
import { firstCommit, idOf, newRun, register, SWEEP, start } from "./sample-runs.ts";
import { serverUrl, TestDatabase } from "./test-database.ts";

const WORKER = idOf(1);
const RUN = { namespace: "default", runId: idOf(10) };
const GONE = { ...SWEEP, gone: [WORKER] };

let database: TestDatabase;
let other: pg.Client;
let store: Store;

beforeEach(async () => {
  database = await TestDatabase.create();
  ({ store } = await database.open());
  other = new pg.Client({ connectionString: serverUrl() });
  await other.connect();
  await register(store, WORKER);
  await start(store, [newRun(10)], WORKER);
  const transition = { type: "suspend", status: "waiting", availableAt: null, waitingFor: ["receive:go"] } as const;
  await store.runs.commit({ commits: [firstCommit(10, { transition })] });
});

afterEach(async () => {
  await other.end();
  await database.drop();
});

/** A message that takes the run for the worker that has suspended it. */
function taking(): DeliverMessagesParams {
  const hold = { runId: RUN.runId, epoch: 1 };
  const message = { kind: "signal", name: "go", messageId: "m", payload: new Uint8Array(0) } as const;
  return { messages: [{ to: RUN, ...message, hold }], inboxMax: 10, holdBy: { workerId: WORKER, claimId: idOf(2) } };
}

/** A delivery of another connection, in a transaction that stays open: it has been sent, and is not committed yet. */
async function deliveryOnItsWay(): Promise<void> {
  await other.query("begin");
  const { rows } = await other.query(textFor(DELIVER, database.schema), DELIVER.values(deliveryOf(taking(), false)));
  expect(rows[0]).toMatchObject({ outcome: "delivered", number: 1 });
}

async function rowOf() {
  const [row] = await store.runs.read({ runs: [RUN] });
  return row;
}

test("a message that is just taking a run keeps its worker from being swept, and the next sweep returns the run", async () => {
  await deliveryOnItsWay();
  expect(await store.workers.sweep(GONE)).toMatchObject({ dead: 0, returned: 0 });
  await other.query("commit");
  expect(await rowOf()).toMatchObject({ heldBy: WORKER, epoch: 2 });
  expect(await store.workers.sweep(GONE)).toMatchObject({ dead: 1, returned: 1 });
  expect(await rowOf()).toMatchObject({ heldBy: null, epoch: 3, delivered: 1 });
});

test("a message takes nothing for a worker that is just being swept: it arrives, and the run is due", async () => {
  await other.query("begin");
  await other.query(`select 1 from ${database.name("workers")} where worker_id = $1 for update`, [WORKER]);
  const { outcomes } = await store.inbox.deliver(taking());
  expect(outcomes).toMatchObject([{ outcome: "delivered" }]);
  expect(outcomes[0]).not.toHaveProperty("held");
  await other.query("rollback");
  expect(await rowOf()).toMatchObject({ heldBy: null, epoch: 1, availableAt: expect.any(Number), delivered: 1 });
});

test("without the lock of the worker, the run would stay with one that is gone", async () => {
  const { rows } = await other.query<{ text: string }>("select pg_get_functiondef($1::regproc) as text", [
    database.name("deliver_messages"),
  ]);
  const careless = rows[0]?.text.replace(" for key share skip locked", "") ?? "";
  expect(careless).not.toBe(rows[0]?.text);
  await other.query(careless);
  await deliveryOnItsWay();
  expect(await store.workers.sweep(GONE)).toMatchObject({ dead: 1, returned: 0 });
  await other.query("commit");
  expect(await store.workers.sweep(GONE)).toMatchObject({ returned: 0 });
  expect(await rowOf()).toMatchObject({ heldBy: WORKER });
});
