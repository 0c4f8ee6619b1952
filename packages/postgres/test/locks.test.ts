import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aStart, claim, ERROR, event, firstCommit, HOLD, idOf, newRun, register, SWEEP, start } from "./sample-runs.ts";
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

/** Another transaction locks the row of a run and stays open. */
async function lock(n: number): Promise<void> {
  await other.query("begin");
  await other.query(`select 1 from ${database.name("runs")} where run_id = $1 for update`, [idOf(n)]);
}

/** Until a call waits for a lock on the table. */
async function untilSomebodyWaitsFor(table: string): Promise<void> {
  const waiting = "select 1 from pg_locks where locktype = 'relation' and relation = $1::regclass and not granted";
  while ((await other.query(waiting, [database.name(table)])).rowCount === 0);
}

describe("another transaction that is open and has locked a run", () => {
  test("delays that run's commit and no other", async () => {
    const { store } = await database.open();
    await register(store, worker);
    await start(store, [newRun(10), newRun(11), newRun(12)], worker);
    await lock(11);
    const commits = [firstCommit(10), firstCommit(11), firstCommit(12)];
    const { outcomes } = await store.runs.commit({ commits });
    expect(outcomes.map(({ outcome, held }) => [outcome, held])).toEqual([
      ["written", true],
      ["busy", false],
      ["written", true],
    ]);
    await other.query("rollback");
    const again = await store.runs.commit({ commits });
    expect(again.outcomes.map(({ outcome }) => outcome)).toEqual(["written", "written", "written"]);
    const histories = await store.histories.read({
      runs: commits.map(({ runId }) => ({ namespace: "default", runId, afterSeq: 0 })),
      limitPerRun: 10,
    });
    expect(histories.map((events) => events.length)).toEqual([1, 1, 1]);
  });

  test("does not have a commit fail that also waits for a lock on a table", async () => {
    const { store } = await database.open();
    await register(store, worker);
    await start(store, [newRun(10), newRun(11)], worker);
    await lock(11);
    await other.query(`lock table ${database.name("events")} in share mode`);
    const committing = store.runs.commit({ commits: [firstCommit(10), firstCommit(11)] });
    await untilSomebodyWaitsFor("events");
    await other.query("rollback");
    const { outcomes } = await committing;
    expect(outcomes.map(({ outcome }) => outcome)).toEqual(["written", "busy"]);
  });

  test("comes and goes: messages of one call to that run are delivered in their order, or all of them are busy", async () => {
    const { store } = await database.open();
    await start(store, [newRun(10)]);
    let going = true;
    const toggling = (async () => {
      while (going) {
        await lock(10);
        await other.query("rollback");
      }
    })();
    for (let round = 0; round < 60; round++) {
      const messages = Array.from({ length: 200 }, (_, i) => ({
        to: { namespace: "default", runId: idOf(10) },
        kind: "signal" as const,
        name: "go",
        messageId: `${round}-${i}`,
        payload: new Uint8Array(0),
      }));
      const { outcomes } = await store.inbox.deliver({ messages, inboxMax: 100_000 });
      expect(new Set(outcomes.map(({ outcome }) => outcome)).size).toBe(1);
    }
    going = false;
    await toggling;
  });

  test("makes messages, terminations and replacements of that run busy, and leaves the others", async () => {
    const { store } = await database.open();
    await start(store, [newRun(10), newRun(11)]);
    await lock(10);
    const messages = [10, 11].map((n) => {
      const payload = new Uint8Array(0);
      return {
        to: { namespace: "default", runId: idOf(n) },
        kind: "signal",
        name: "go",
        messageId: `m${n}`,
        payload,
      } as const;
    });
    const delivered = await store.inbox.deliver({ messages, inboxMax: 10 });
    expect(delivered.outcomes).toMatchObject([
      { outcome: "busy", runId: idOf(10), status: "pending" },
      { outcome: "delivered", runId: idOf(11) },
    ]);
    const starts = [10, 11].map((n) => aStart({ ...newRun(n), runId: idOf(n + 10) }, { ifRunning: "replace" }));
    const replaced = await store.runs.start({ starts, holdBy: null, replaceError: ERROR });
    expect(replaced.outcomes).toMatchObject([
      { outcome: "busy", run: { runId: idOf(10) } },
      { outcome: "created", run: { runId: idOf(21) } },
    ]);
    const ended = await store.runs.terminate({
      runs: [
        { namespace: "default", runId: idOf(10) },
        { namespace: "default", runId: idOf(21) },
      ],
      error: ERROR,
    });
    expect(ended.map(({ outcome }) => outcome)).toEqual(["busy", "terminated"]);
    await other.query("rollback");
    expect((await store.inbox.deliver({ messages, inboxMax: 10 })).outcomes).toMatchObject([
      { outcome: "delivered" },
      { outcome: "duplicate" },
    ]);
  });

  test("keeps that run, and only that run, from being claimed, released, swept and resumed", async () => {
    const { store } = await database.open();
    await register(store, worker, 1_000);
    await start(store, [newRun(10), newRun(11), { ...newRun(12), startDelayMs: 60_000 }]);
    await lock(10);
    const claimed = await claim(store, worker, idOf(100));
    expect(claimed.runs.map(({ runId }) => runId)).toEqual([idOf(11)]);
    expect(claimed.moreDue).toBe(true);
    expect(claimed.nextDueAt).toBeGreaterThan(claimed.now);
    await other.query("rollback");
    await claim(store, worker, idOf(101));
    await lock(10);
    const runs = [10, 11].map((n) => ({ runId: idOf(n), epoch: 1 }));
    expect(await store.runs.releaseIfHeld({ namespace: "default", workerId: worker, runs })).toEqual({ released: 1 });
    await store.workers.stop({ namespace: "default", workerId: worker });
    expect(await store.workers.readHeld({ namespace: "default", workerId: worker })).toEqual([
      { runId: idOf(10), epoch: 1, commit: 0, eventCount: 0 },
    ]);
    expect(await store.workers.sweep(SWEEP)).toMatchObject({ returned: 0, more: false });
    await other.query("rollback");
    expect(await store.workers.sweep(SWEEP)).toMatchObject({ returned: 1, dead: 0 });
    const [run] = await store.runs.read({ runs: [{ namespace: "default", runId: idOf(10) }] });
    expect(run).toMatchObject({ deaths: 0, heldBy: null, epoch: 2 });
  });

  test("keeps that run, and only that run, from being purged", async () => {
    const { store } = await database.open();
    await start(store, [newRun(10), newRun(11)]);
    await store.runs.terminate({
      runs: [
        { namespace: "default", runId: idOf(10) },
        { namespace: "default", runId: idOf(11) },
      ],
      error: ERROR,
    });
    await lock(10);
    const params = { namespace: "default", endedBefore: Number.MAX_SAFE_INTEGER, limit: 10 };
    expect(await store.runs.purge(params)).toMatchObject({ purged: 1, more: false });
    expect(
      await store.runs.read({
        runs: [
          { namespace: "default", runId: idOf(10) },
          { namespace: "default", runId: idOf(11) },
        ],
      }),
    ).toMatchObject([{}, null]);
    await other.query("rollback");
    expect(await store.runs.purge(params)).toMatchObject({ purged: 1, more: false });
  });

  test("is not waited for by a resume", async () => {
    const { store } = await database.open();
    await register(store, worker);
    await start(store, [newRun(10)], worker);
    await store.runs.commit({
      commits: [firstCommit(10, { transition: { type: "park", error: ERROR } })],
    });
    await lock(10);
    const event = { type: "run_resumed", op: null } as const;
    const params = { run: { namespace: "default", runId: idOf(10) }, epoch: 1, event, dueAt: null };
    await expect(store.runs.resumeIfParked(params)).rejects.toMatchObject({ code: "store_unavailable" });
    await other.query("rollback");
    expect(await store.runs.resumeIfParked(params)).toMatchObject({ resumed: true, status: "running" });
  });

  test("is not waited for by a pause, which says that the run is busy", async () => {
    const { store } = await database.open();
    await start(store, [newRun(10)]);
    await lock(10);
    const params = { run: { namespace: "default", runId: idOf(10) }, epoch: 0, error: ERROR };
    expect(await store.runs.pauseIfIdle(params)).toEqual({ outcome: "busy" });
    await other.query("rollback");
    expect(await store.runs.pauseIfIdle(params)).toEqual({ outcome: "parked" });
  });

  test("is not waited for by a fork, which says that the run is busy; one that a commit takes is no obstacle", async () => {
    const { store } = await database.open();
    await start(store, [newRun(10)]);
    const origin = { namespace: "default", runId: idOf(10) };
    const event = { type: "run_forked", op: null } as const;
    const params = { origin, copied: 0, judged: 0, numberedFrom: 0, run: { ...newRun(11), id: "fork" }, event };
    await lock(10);
    expect(await store.runs.fork(params)).toEqual({ outcome: "busy", run: null });
    await other.query("rollback");
    await other.query("begin");
    const held = `select 1 from ${database.name("runs")} where run_id = $1 for no key update`;
    await other.query(held, [idOf(10)]);
    expect(await store.runs.fork(params)).toMatchObject({ outcome: "forked", run: { runId: idOf(11) } });
    await other.query("rollback");
  });
});

test("a message between the snapshot and the lock of a suspend keeps the run held", async () => {
  const { store } = await database.open();
  await register(store, worker);
  await start(store, [newRun(10)], worker);
  // The other transaction has delivered but not committed yet: the suspend must see it, not its own older snapshot.
  await other.query("begin");
  await other.query(`update ${database.name("runs")} set delivered = delivered + 1 where run_id = $1`, [idOf(10)]);
  const suspend = { type: "suspend", status: "waiting", availableAt: null, waitingFor: ["go"] } as const;
  const sent = store.runs.commit({ commits: [firstCommit(10, { transition: suspend })] });
  await other.query("commit");
  let outcome = (await sent).outcomes[0];
  if (outcome?.outcome === "busy") {
    outcome = (await store.runs.commit({ commits: [firstCommit(10, { transition: suspend })] })).outcomes[0];
  }
  expect(outcome).toEqual({ outcome: "written", held: true, delivered: 1 });
});

test("events that do not follow are a broken invariant, and nothing is written", async () => {
  const { store } = await database.open();
  await register(store, worker);
  await start(store, [newRun(10), newRun(11)], worker);
  const commits = [firstCommit(10), firstCommit(11, { events: [event(3)] })];
  await expect(store.runs.commit({ commits })).rejects.toMatchObject({ code: "invariant_broken" });
  const [run] = await store.runs.read({ runs: [{ namespace: "default", runId: idOf(10) }] });
  expect(run).toMatchObject({ commit: 0, eventCount: 0 });
});

test("data that the database refuses is distinguished from an outage, and the connection stays usable", async () => {
  const { store } = await database.open();
  await register(store, worker);
  await start(store, [newRun(10)], worker);
  const bad = firstCommit(10, { events: [event(1, { op: "a\u0000b" })] });
  await expect(store.runs.commit({ commits: [bad] })).rejects.toMatchObject({
    code: "store_refused",
    data: { sqlState: "22021" },
  });
  const good = await store.runs.commit({ commits: [firstCommit(10, { transition: HOLD })] });
  expect(good.outcomes[0]).toMatchObject({ outcome: "written" });
});
