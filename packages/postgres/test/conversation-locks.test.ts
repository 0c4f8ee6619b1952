import type { RunCommit, Store } from "holdfast/adapter";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { commit, endOf, failed, parentOf, payAll, ref, startChildren } from "./sample-children.ts";
import { aStart, ERROR, event, firstCommit, HOLD, idOf, newRun, register, SWEEP, start } from "./sample-runs.ts";
import { serverUrl, TestDatabase } from "./test-database.ts";

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

/** Runs 10 and 11, held; 10 has the child 20, which is held too. */
async function family(): Promise<Store> {
  const { store } = await database.open();
  await register(store, worker);
  await start(store, [newRun(10), newRun(11)], worker);
  expect(await startChildren(store, [{ run: newRun(20), of: 10 }], worker)).toEqual(["created"]);
  return store;
}

async function lockRun(n: number, mode = "no key update"): Promise<void> {
  await other.query("begin");
  await other.query(`select 1 from ${database.name("runs")} where run_id = $1 for ${mode}`, [idOf(n)]);
}

/** What the start of a child has locked while it is under way, if its parent has others. */
async function lockParent(n: number): Promise<void> {
  await lockRun(n, "key share");
}

describe("the start of a child that is under way", () => {
  test("delays neither the commits of its parent nor the starts of its other children", async () => {
    const store = await family();
    await lockParent(10);
    expect(await commit(store, firstCommit(10))).toMatchObject([{ outcome: "written" }]);
    expect(await startChildren(store, [{ run: newRun(21), of: 10 }])).toEqual(["created"]);
    const message = { kind: "signal", name: "go", messageId: "m", payload: new Uint8Array(0) } as const;
    const { outcomes } = await store.inbox.deliver({ messages: [{ to: ref(10), ...message }], inboxMax: 10 });
    expect(outcomes).toMatchObject([{ outcome: "delivered" }]);
  });

  test("makes every end of its parent busy, and giving children up, and no commit of another run", async () => {
    const store = await family();
    await lockParent(10);
    expect(await commit(store, endOf(10), firstCommit(11))).toMatchObject([
      { outcome: "busy" },
      { outcome: "written" },
    ]);
    expect(await commit(store, firstCommit(10, { closes: [idOf(20)] }))).toMatchObject([{ outcome: "busy" }]);
    const next = newRun(30, { id: newRun(10).id });
    const continued = firstCommit(10, { transition: { type: "continue", next, carried: [] } });
    expect(await commit(store, continued)).toMatchObject([{ outcome: "busy" }]);
    expect(await store.runs.terminate({ runs: [ref(10)], error: ERROR })).toMatchObject([{ outcome: "busy" }]);
    const replace = { starts: [aStart(next, { ifRunning: "replace" })], holdBy: null, replaceError: ERROR };
    expect((await store.runs.start(replace)).outcomes).toMatchObject([{ outcome: "busy" }]);
    await other.query("rollback");
    expect(await commit(store, endOf(10))).toMatchObject([{ outcome: "written", owes: true }]);
  });

  test("is left alone by a sweep that would time its parent out", async () => {
    const { store } = await database.open();
    await database.setClock(1_000_000);
    await start(store, [newRun(10, { timeoutMs: 10 })]);
    await database.setClock(2_000_000);
    await lockParent(10);
    expect(await store.workers.sweep(SWEEP)).toMatchObject({ timedOut: 0 });
    await other.query("rollback");
    expect(await store.workers.sweep(SWEEP)).toMatchObject({ timedOut: 1 });
  });
});

test("a child whose parent is just ending, or starting its first child, is busy; the parent's other locks do not matter", async () => {
  const store = await family();
  await lockRun(10, "update");
  expect(
    await startChildren(store, [
      { run: newRun(21), of: 10 },
      { run: newRun(22), of: 11 },
    ]),
  ).toEqual(["busy", "created"]);
  await other.query("rollback");
  await lockRun(10);
  expect(await startChildren(store, [{ run: newRun(21), of: 10 }])).toEqual(["created"]);
});

describe("another transaction that is open and has locked a run", () => {
  test("keeps its debts unpaid, and only its debts", async () => {
    const store = await family();
    await startChildren(store, [{ run: newRun(21), of: 10 }], worker);
    await commit(store, endOf(20), endOf(21));
    await lockRun(20);
    const debts = (await store.debts.read({ limit: 10 })).map(({ namespace, runId, debtNo }) => {
      return { namespace, runId, debtNo };
    });
    expect(await store.debts.pay({ debts })).toEqual({ paid: 1 });
    expect(await store.debts.read({ limit: 10 })).toMatchObject([{ runId: idOf(20) }]);
    await other.query("rollback");
    expect(await store.debts.pay({ debts })).toEqual({ paid: 1 });
    expect(await store.debts.read({ limit: 10 })).toEqual([]);
  });

  test("makes its watchers and the messages of starts that find it busy", async () => {
    const store = await family();
    await lockRun(20);
    const by = { ...ref(11), op: "wait" };
    const watches = [20, 10].map((n) => ({ run: ref(n), by }));
    expect((await store.runs.watch({ watches })).map(({ outcome }) => outcome)).toEqual(["busy", "watching"]);
    const messages = [{ kind: "signal", name: "go", messageId: "m", payload: new Uint8Array(0) } as const];
    const found = aStart(newRun(30, { id: newRun(20).id }), { ifRunning: "return", messages });
    const starts = { starts: [found], holdBy: null, replaceError: ERROR, inboxMax: 10 };
    expect((await store.runs.start(starts)).outcomes).toMatchObject([{ outcome: "busy" }]);
    await other.query("rollback");
    expect((await store.runs.start(starts)).outcomes).toMatchObject([{ outcome: "returned", messages: ["delivered"] }]);
  });
});

/** Everything that concerns more than one run, at once and in any order: whoever would wait for another gives up instead. */
describe("under load from all sides", () => {
  const PARENTS = Array.from({ length: 6 }, (_, i) => 10 + i);
  const ROUNDS = 30;

  function backwards<T>(list: readonly T[], round: number): readonly T[] {
    return round % 2 === 0 ? list : [...list].reverse();
  }

  /** Starts children of all parents; of each, ends some, fails one, reopens it, and leaves one. */
  async function children(store: Store, from: number): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const numbers = PARENTS.flatMap((_, i) => [0, 1, 2].map((k) => from + (round * PARENTS.length + i) * 3 + k));
      const wanted = numbers.map((n, i) => ({ run: newRun(n), of: PARENTS[Math.floor(i / 3)] as number }));
      for (const outcome of await startChildren(store, backwards(wanted, round), worker))
        expect(["created", "busy", "parent_closed"]).toContain(outcome);
      const ends = numbers.filter((_, i) => i % 3 !== 2).map((n, i) => (i % 2 === 0 ? endOf(n) : failed(n)));
      await commit(store, ...backwards(ends, round));
      const run_retried = event(2, { type: "run_retried" });
      for (const { runId } of ends.slice(1, 4))
        await store.runs.reopenIfFailed({ run: { namespace: "default", runId }, eventCount: 1, event: run_retried });
    }
  }

  /** The parents commit, and give children up that exist, have ended, or will never be. */
  async function parents(store: Store): Promise<void> {
    const commitNo = new Map(PARENTS.map((n) => [n, 0]));
    for (let round = 0; round < ROUNDS * 2; round++) {
      const commits = backwards(PARENTS, round).map((n, i): RunCommit => {
        const no = commitNo.get(n) as number;
        const closes = [1_000, 5_000].map((from) => idOf(from + ((round >> 1) * PARENTS.length + i) * 3 + (round % 3)));
        return firstCommit(n, { commit: no, events: [event(no + 1)], closes, transition: HOLD });
      });
      for (const [i, { outcome }] of (await commit(store, ...commits)).entries()) {
        expect(["written", "busy"]).toContain(outcome);
        const n = backwards(PARENTS, round)[i] as number;
        if (outcome === "written") commitNo.set(n, (commitNo.get(n) as number) + 1);
      }
    }
  }

  async function others(store: Store): Promise<void> {
    const page = { namespace: "default", endedBefore: Number.MAX_SAFE_INTEGER, limit: 20 };
    for (let round = 0; round < ROUNDS; round++) {
      await payAll(store);
      const some = await store.runs.list({
        namespace: "default",
        parent: idOf(PARENTS[round % 6] as number),
        limit: 5,
      });
      const refs = some.map(({ namespace, runId }) => ({ namespace, runId }));
      await store.runs.watch({ watches: refs.map((run) => ({ run, by: { ...ref(10), op: `watch ${round}` } })) });
      await store.runs.terminate({ runs: refs.slice(0, 1), error: ERROR });
      await store.runs.purge(page);
      const taken = some.slice(1, 3).map(({ id }, i) => newRun(20_000 + round * 2 + i, { id }));
      const starts = taken.map((run) => aStart(run, { ifRunning: "replace", ifClosed: "start", parent: parentOf(12) }));
      await store.runs.start({ starts, holdBy: null, replaceError: ERROR });
      await store.workers.sweep(SWEEP);
    }
  }

  test("no call fails, and when all debts are paid, no child of a closed parent is open and not told", async () => {
    const stores = await Promise.all(Array.from({ length: 3 }, () => database.open()));
    const [a, b, c] = stores.map(({ store }) => store) as [Store, Store, Store];
    await register(a, worker);
    await start(a, PARENTS.map((n) => newRun(n)), worker); // biome-ignore format: one call
    await Promise.all([children(a, 1_000), children(b, 5_000), parents(a), others(b), others(c), payAll(c)]);
    let open = await a.runs.terminate({ runs: PARENTS.map(ref), error: ERROR });
    while (open.some(({ outcome }) => outcome === "busy"))
      open = await a.runs.terminate({ runs: PARENTS.map(ref), error: ERROR });
    while ((await payAll(a)) > 0);
    const left = await a.runs.list({ namespace: "default", statuses: ["pending", "running"], limit: 1_000 });
    expect(left.length).toBeGreaterThan(0);
    for (const { delivered, lineage } of left) expect([delivered > 0, lineage?.op]).toEqual([true, "child"]);
    const [row] = await database.sql(`select count(*)::int as n from ${database.name("runs")} where owes`);
    expect(row).toEqual({ n: 0 });
  }, 120_000);
});
