import type { RunCommit, Store, Task } from "holdfast/adapter";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { aStart, ERROR, event, firstCommit, HOLD, idOf, newRun, register, SWEEP, start } from "./sample-runs.ts";
import { COMPLETED, claimTasks, finishOf, newTask, RETRY, schedule } from "./sample-tasks.ts";
import { serverUrl, TestDatabase } from "./test-database.ts";

const worker = idOf(1);
const executor = idOf(2);
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

/** Three runs that the worker holds, each with two due tasks. */
async function scheduled(): Promise<Store> {
  const { store } = await database.open();
  await register(store, worker);
  await register(store, executor);
  await start(store, [newRun(10), newRun(11), newRun(12)], worker);
  await schedule(store, [10, 11, 12], [newTask(1), newTask(2)]);
  return store;
}

async function lockRun(n: number): Promise<void> {
  await other.query("begin");
  await other.query(`select 1 from ${database.name("runs")} where run_id = $1 for update`, [idOf(n)]);
}

async function lockTask(n: number, seq: number): Promise<void> {
  await other.query("begin");
  const tasks = database.name("tasks");
  await other.query(`select 1 from ${tasks} where run_id = $1 and seq = $2 for update`, [idOf(n), seq]);
}

async function finish(store: Store, ...finishes: ReturnType<typeof finishOf>[]): Promise<readonly string[]> {
  return (await store.tasks.finish({ finishes })).outcomes.map(({ outcome }) => outcome);
}

function keyOf(n: number, seq: number) {
  return { namespace: "default", runId: idOf(n), seq };
}

/** The second commit of a run, which settles a task or drops all of them. */
function second(n: number, fields: Partial<RunCommit>): RunCommit {
  return firstCommit(n, { commit: 1, events: [event(3)], transition: HOLD, ...fields });
}

describe("another transaction that is open and has locked a run", () => {
  test("makes results for that run busy, and lets its attempts be retried and reported on", async () => {
    const store = await scheduled();
    await claimTasks(store, executor, idOf(100));
    await lockRun(10);
    const finishes = [
      finishOf(10, 1, executor),
      finishOf(10, 2, executor, { result: RETRY }),
      finishOf(11, 1, executor),
    ];
    expect(await finish(store, ...finishes)).toEqual(["busy", "done", "done"]);
    const beats = [{ ...keyOf(10, 1), epoch: 1, by: { type: "holder", workerId: executor }, details: null } as const];
    expect((await store.tasks.beat({ beats })).outcomes).toEqual([{ outcome: "heard", canceled: false }]);
    await other.query("rollback");
    expect(await finish(store, finishOf(10, 1, executor))).toEqual(["done"]);
  });
});

describe("another transaction that is open and has locked a task", () => {
  test("keeps that task, and only that task, from being claimed", async () => {
    const store = await scheduled();
    await lockTask(10, 1);
    const { tasks, moreDue } = await claimTasks(store, executor, idOf(100));
    expect(tasks.map(({ runId, seq }) => [runId, seq])).not.toContainEqual([idOf(10), 1]);
    expect([tasks.length, moreDue]).toEqual([5, true]);
  });

  test("makes its finish and its cancel busy, and its beat is heard without being recorded", async () => {
    const store = await scheduled();
    await claimTasks(store, executor, idOf(100));
    await lockTask(10, 1);
    expect(await finish(store, finishOf(10, 1, executor), finishOf(10, 2, executor))).toEqual(["busy", "done"]);
    const tasks = [keyOf(10, 1), keyOf(11, 1), keyOf(10, 2)];
    expect((await store.tasks.cancel({ namespace: "default", tasks })).outcomes).toEqual([
      { outcome: "busy" },
      { outcome: "waiting" },
      { outcome: "gone" },
    ]);
    const details = new Uint8Array([49]);
    const by = { type: "holder", workerId: executor } as const;
    const beats = [keyOf(10, 1), keyOf(11, 1), keyOf(10, 2)].map((key) => ({ ...key, epoch: 1, by, details }));
    expect((await store.tasks.beat({ beats })).outcomes).toEqual([
      { outcome: "heard", canceled: false },
      { outcome: "heard", canceled: true },
      { outcome: "lost", canceled: true },
    ]);
    const [locked, reported] = await store.tasks.read({ namespace: "default", tasks });
    expect([locked?.details, reported?.details]).toEqual([null, expect.anything()]);
  });

  test("makes the commit busy that settles or drops it, and no other", async () => {
    const store = await scheduled();
    await lockTask(10, 1);
    const outcomesOf = async (commits: readonly RunCommit[]) =>
      (await store.runs.commit({ commits })).outcomes.map(({ outcome }) => outcome);
    const settle = second(10, { settled: [1] });
    expect(await outcomesOf([settle, second(11, { settled: [1] }), second(12, { dropTasks: true })])).toEqual([
      "busy",
      "written",
      "written",
    ]);
    expect(await outcomesOf([second(10, { dropTasks: true })])).toEqual(["busy"]);
    const others = await store.tasks.list({ namespace: "default", limit: 10 });
    expect(others.map(({ runId, seq }) => [runId, seq])).toEqual([
      [idOf(10), 1],
      [idOf(10), 2],
      [idOf(11), 2],
    ]);
    await other.query("rollback");
    expect(await outcomesOf([settle])).toEqual(["written"]);
  });

  test("keeps that task with its worker when that stops, and the next sweep returns it without counting a death", async () => {
    const store = await scheduled();
    await claimTasks(store, executor, idOf(100));
    await lockTask(10, 1);
    await store.workers.stop({ namespace: "default", workerId: executor });
    const held = () => store.workers.readHeldTasks({ namespace: "default", workerId: executor });
    expect(await held()).toMatchObject([{ runId: idOf(10), seq: 1 }]);
    expect(await store.workers.sweep(SWEEP)).toMatchObject({ tasksReturned: 0, more: false });
    await other.query("rollback");
    expect(await store.workers.sweep(SWEEP)).toMatchObject({ tasksReturned: 1, dead: 0 });
    expect(await held()).toEqual([]);
    expect(await store.tasks.read({ namespace: "default", tasks: [keyOf(10, 1)] })).toMatchObject([
      { status: "due", deaths: 0, epoch: 2 },
    ]);
  });
});

test("a task for another worker whose row is locked is due instead; the run's own worker needs no lock", async () => {
  const { store } = await database.open();
  await register(store, worker);
  await register(store, executor);
  await start(store, [newRun(10)], worker);
  await other.query("begin");
  await other.query(`select 1 from ${database.name("workers")} for update`);
  const claimId = idOf(100);
  const tasks = [executor, worker].map((workerId, i) => newTask(i + 1, { holdBy: { workerId, claimId } }));
  const events = tasks.map(({ seq }) => event(seq));
  const { outcomes } = await store.runs.commit({ commits: [firstCommit(10, { events, tasks, transition: HOLD })] });
  expect(outcomes).toMatchObject([{ outcome: "written", tasksHeld: [2] }]);
  expect(await store.tasks.read({ namespace: "default", tasks: [keyOf(10, 1), keyOf(10, 2)] })).toMatchObject([
    { status: "due", epoch: 0 },
    { status: "held", heldBy: worker },
  ]);
});

test("a sweep that waits for a claim in flight does not find its worker empty", async () => {
  const store = await scheduled();
  await other.query("begin");
  await other.query(`select 1 from ${database.name("workers")} where worker_id = $1 for key share`, [executor]);
  expect(await store.workers.sweep({ ...SWEEP, gone: [executor] })).toMatchObject({ dead: 0 });
  await other.query("rollback");
  await claimTasks(store, executor, idOf(100));
  expect(await store.workers.sweep({ ...SWEEP, gone: [executor], limit: 4 })).toMatchObject({
    dead: 1,
    tasksReturned: 4,
    more: true,
  });
  expect(await store.workers.sweep(SWEEP)).toMatchObject({ tasksReturned: 2, more: false });
});

/** Everything that touches tasks, at once and in any order: whoever would wait for another gives up instead. */
describe("under load from all sides", () => {
  const RUNS = Array.from({ length: 12 }, (_, i) => 10 + i);
  const ROUNDS = 40;

  /** Schedules two tasks with every commit, and settles or drops those of the one before. */
  async function commit(store: Store, runs: readonly number[]): Promise<void> {
    const commitNo = new Map(runs.map((n) => [n, 0]));
    for (let round = 0; round < ROUNDS; round++) {
      const commits = runs.map((n): RunCommit => {
        const commit = commitNo.get(n) as number;
        const seq = commit * 2 + 1;
        const events = [event(seq), event(seq + 1)];
        const tasks = [newTask(seq), newTask(seq + 1, { priority: n % 3 })];
        const gone = commit % 3 === 2 ? { dropTasks: true } : { settled: [seq - 2, seq - 1] };
        return firstCommit(n, { commit, events, tasks, ...(commit === 0 ? {} : gone), transition: HOLD });
      });
      const { outcomes } = await store.runs.commit({ commits });
      for (const [i, { outcome }] of outcomes.entries()) {
        const n = runs[i] as number;
        expect(["written", "busy"]).toContain(outcome);
        if (outcome === "written") commitNo.set(n, (commitNo.get(n) as number) + 1);
      }
    }
  }

  /** Claims with a new worker each time, and does something else with every task. */
  async function execute(store: Store, from: number): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const workerId = await register(store, idOf(from + round));
      const { tasks } = await claimTasks(store, workerId, idOf(from + round), 9);
      const by = { type: "holder", workerId } as const;
      const beats = tasks.map((task) => ({ ...task, by, details: null }));
      const results = [COMPLETED, RETRY, { type: "release" } as const];
      const finishes = tasks.flatMap((task, i) =>
        i % 4 === 3 ? [] : [{ ...holdOf(task), namespace: "default", by, result: results[i % 4] ?? COMPLETED }],
      );
      await Promise.all([store.tasks.beat({ beats }), store.tasks.finish({ finishes })]);
      if (round % 2 === 0) await store.workers.stop({ namespace: "default", workerId });
      else await store.workers.sweep({ ...SWEEP, gone: [workerId] });
    }
  }

  function holdOf({ runId, seq, epoch }: Task) {
    return { runId, seq, epoch };
  }

  async function cancel(store: Store): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const tasks = await store.tasks.list({ namespace: "default", limit: 50 });
      await store.tasks.cancel({ namespace: "default", tasks: tasks.filter((_, i) => i % 5 === round % 5) });
      await store.workers.sweep(SWEEP);
    }
  }

  /** Ends runs from outside while their tasks are being claimed. */
  async function replace(store: Store): Promise<void> {
    for (let round = 0; round < ROUNDS; round++) {
      const runs = [0, 1, 2].map((i) => ({ ...newRun(900 + i), runId: idOf(3_000 + round * 3 + i) }));
      const starts = runs.map((run) => aStart(run, { ifRunning: "replace", hold: true }));
      const holdBy = { workerId: worker, claimId: idOf(round) };
      const { outcomes } = await store.runs.start({ starts, holdBy, replaceError: ERROR });
      for (const { outcome } of outcomes) expect(["created", "busy"]).toContain(outcome);
      await schedule(
        store,
        [0, 1, 2].map((i) => 3_000 + round * 3 + i),
        [newTask(1), newTask(2)],
      );
    }
    const runs = runRefs(Array.from({ length: 3 * ROUNDS }, (_, i) => 3_000 + i));
    let outcomes = await store.runs.terminate({ runs, error: ERROR });
    while (outcomes.some(({ outcome }) => outcome === "busy")) {
      outcomes = await store.runs.terminate({ runs, error: ERROR });
    }
  }

  function runRefs(numbers: readonly number[]) {
    return numbers.map((n) => ({ namespace: "default", runId: idOf(n) }));
  }

  test("no call fails, and every task that is left belongs to the last commit of its run", async () => {
    const stores = await Promise.all(Array.from({ length: 4 }, () => database.open()));
    const [a, b, c, d] = stores.map(({ store }) => store) as [Store, Store, Store, Store];
    await register(a, worker);
    await start(a, RUNS.map((n) => newRun(n)), worker); // biome-ignore format: one call
    const half = RUNS.length / 2;
    await Promise.all([
      commit(a, RUNS.slice(0, half)),
      commit(b, RUNS.slice(half)),
      execute(c, 1_000),
      execute(d, 2_000),
      cancel(c),
      replace(b),
    ]);
    const runs = await a.runs.read({ runs: runRefs(RUNS) });
    const tasks = await a.tasks.list({ namespace: "default", limit: 1_000 });
    const eventCounts = new Map(runs.map((run) => [run?.runId, run?.eventCount as number]));
    for (const { runId, seq } of tasks) expect(seq).toBeGreaterThan((eventCounts.get(runId) as number) - 2);
    const terminated = await a.runs.terminate({ runs: runRefs(RUNS), error: ERROR });
    expect(terminated.every(({ outcome }) => outcome === "terminated")).toBe(true);
    expect(await a.tasks.list({ namespace: "default", limit: 10 })).toEqual([]);
  }, 60_000);
});
