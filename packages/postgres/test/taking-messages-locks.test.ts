/** Messages that take their run for a worker (deliver-and-hold), and the sweep that declares that worker dead at the same moment. */
import type { DeliverMessage, DeliverMessagesParams, Store } from "holdfast/adapter";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { textFor } from "../src/database/server-call.ts";
import { DELIVER, deliveryOf } from "../src/inbox.ts";
import { SWEEP as SWEEP_CALL } from "../src/sweeps.ts";
import { firstCommit, idOf, newRun, register, SWEEP, start } from "./sample-runs.ts";
import { serverUrl, TestDatabase } from "./test-database.ts";

const WORKER = idOf(1);
const REST = { type: "suspend", status: "waiting", availableAt: null, waitingFor: ["go"] } as const;

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

function signal(n: number, messageId: string, epoch: number): DeliverMessage {
  const to = { namespace: "default", runId: idOf(n) };
  const hold = { runId: idOf(n), epoch };
  return { to, kind: "signal", name: "go", messageId, payload: new Uint8Array(0), hold };
}

function taking(workerId: string, claim: number, ...messages: readonly DeliverMessage[]): DeliverMessagesParams {
  return { messages, inboxMax: 100_000, holdBy: { workerId, claimId: idOf(claim) } };
}

async function rowsOf(numbers: readonly number[]) {
  const rows = await store.runs.read({ runs: numbers.map((n) => ({ namespace: "default", runId: idOf(n) })) });
  return rows.flatMap((row) => (row ? [row] : []));
}

describe("a message that takes its run", () => {
  beforeEach(async () => {
    await start(store, [newRun(10)], WORKER);
    await store.runs.commit({ commits: [firstCommit(10, { transition: REST })] });
  });

  const sweep = { ...SWEEP, gone: [WORKER] };

  /** A delivery of another connection, in a transaction that stays open: it has been sent, and is not committed yet. */
  async function messageOnItsWay(): Promise<void> {
    await other.query("begin");
    const values = DELIVER.values(deliveryOf(taking(WORKER, 900, signal(10, "m", 1)), false));
    const { rows } = await other.query(textFor(DELIVER, database.schema), values);
    expect(rows).toContainEqual(expect.objectContaining({ outcome: "delivered", number: 1 }));
  }

  test("and is on its way keeps its worker alive for the sweep, which does not wait; the next one returns the run", async () => {
    await messageOnItsWay();
    expect(await store.workers.sweep(sweep)).toMatchObject({ dead: 0, returned: 0 });
    await other.query("commit");
    expect(await rowsOf([10])).toMatchObject([{ heldBy: WORKER, epoch: 2 }]);
    expect(await store.workers.sweep(sweep)).toMatchObject({ dead: 1, returned: 1 });
    const [row] = await rowsOf([10]);
    expect(row).toMatchObject({ heldBy: null, epoch: 3, delivered: 1, consumed: 0, deaths: 1 });
    expect(row?.availableAt).not.toBeNull();
  });

  test("does not wait for a sweep that is declaring its worker dead: it is delivered, and makes the run due", async () => {
    await other.query("begin");
    const values = SWEEP_CALL.values({ ...sweep, notify: false });
    await other.query(textFor(SWEEP_CALL, database.schema), values);
    const { outcomes } = await store.inbox.deliver(taking(WORKER, 900, signal(10, "m", 1)));
    expect(outcomes).toEqual([{ outcome: "delivered", runId: idOf(10), status: "waiting" }]);
    await other.query("commit");
    const [row] = await rowsOf([10]);
    expect(row).toMatchObject({ heldBy: null, epoch: 1, delivered: 1 });
    expect(row?.availableAt).not.toBeNull();
    expect((await store.inbox.deliver(taking(WORKER, 901, signal(10, "n", 1)))).outcomes[0]).not.toHaveProperty("held");
  });

  test("would leave it with a worker that is gone, if it did not lock that worker", async () => {
    const { rows } = await other.query<{ text: string }>("select pg_get_functiondef($1::regproc) as text", [
      database.name("deliver_messages"),
    ]);
    const careless = rows[0]?.text.replace(" for key share skip locked", "") ?? "";
    expect(careless).not.toBe(rows[0]?.text);
    await other.query(careless);
    await messageOnItsWay();
    expect(await store.workers.sweep(sweep)).toMatchObject({ dead: 1, returned: 0 });
    await other.query("commit");
    expect(await store.workers.sweep(sweep)).toMatchObject({ returned: 0 });
    expect(await rowsOf([10])).toMatchObject([{ heldBy: WORKER }]);
  });
});

describe("under load, while workers die one after the other", () => {
  const RUNS = Array.from({ length: 8 }, (_, i) => 10 + i);
  const ROUNDS = 60;
  const PATIENT = { ...SWEEP, suspectAfter: 1_000_000, parkAfter: 1_000_000 };
  const sides = [idOf(100), idOf(101)];
  const taken: string[] = [];
  let delivered = 0;

  /** Takes the runs that are free for one of the workers, in either order. */
  async function takers(by: Store, side: number): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const rows = await rowsOf((round + side) % 2 === 0 ? RUNS : [...RUNS].reverse());
      const messages = rows.map(({ runId, epoch }) =>
        signal(Number.parseInt(runId.slice(-4), 16), `${side} ${round}`, epoch),
      );
      const holder = sides[side] as string;
      const { outcomes } = await by.inbox.deliver(taking(holder, 10_000 + round * 2 + side, ...messages));
      for (const [i, one] of outcomes.entries()) {
        expect(["delivered", "busy"]).toContain(one.outcome);
        if (one.outcome !== "delivered") continue;
        delivered += 1;
        if (one.held) taken.push(`${one.runId} ${(messages[i]?.hold?.epoch ?? 0) + 1}`);
      }
    }
  }

  /** Suspends the runs that are held, as their workers do. */
  async function settle(by: Store): Promise<void> {
    for (let round = 0; round < ROUNDS * 2; round++) {
      const held = (await rowsOf(RUNS)).filter(({ heldBy }) => heldBy !== null);
      const commits = held.map(({ runId, heldBy, epoch, commit, eventCount, delivered: consumed }) => ({
        ...firstCommit(0, { events: [], consumed, transition: REST }),
        ...{ runId, workerId: heldBy as string, epoch, commit, eventCount },
      }));
      for (const { outcome } of commits.length > 0 ? (await by.runs.commit({ commits })).outcomes : [])
        expect(["written", "busy", "lost", "behind"]).toContain(outcome);
    }
  }

  async function kill(by: Store): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const dying = sides[round % 2] as string;
      sides[round % 2] = await register(by, idOf(200 + round));
      await by.workers.sweep({ ...PATIENT, gone: [dying] });
    }
  }

  test("no call fails, no run is taken twice, no message is lost, and no dead worker keeps a run", async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => database.open()));
    const [a, b, c, d] = stores.map(({ store }) => store) as [Store, Store, Store, Store];
    for (const side of sides) await register(a, side);
    await start(a, RUNS.map((n) => newRun(n))); // biome-ignore format: one call
    await Promise.all([takers(a, 0), takers(b, 1), settle(c), kill(d)]);
    expect(new Set(taken).size).toBe(taken.length);
    expect(taken.length).toBeGreaterThan(ROUNDS);
    const rows = await rowsOf(RUNS);
    expect(rows.reduce((sum, row) => sum + row.delivered, 0)).toBe(delivered);
    const { rows: workers } = await other.query(`select worker_id from ${database.name("workers")}`);
    const gone = workers.map(({ worker_id }) => worker_id as string);
    for (let round = 0; round < 2; round++) await a.workers.sweep({ ...PATIENT, gone });
    expect((await rowsOf(RUNS)).map(({ heldBy }) => heldBy)).toEqual(RUNS.map(() => null));
  }, 60_000);
});
