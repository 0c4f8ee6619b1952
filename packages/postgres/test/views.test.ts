import { uuidV7 } from "holdfast/adapter";
import { afterEach, beforeEach, expect, test } from "vitest";
import { commit, endOf, startChildren } from "./sample-children.ts";
import { claim, event, firstCommit, idOf, newRun, register, start } from "./sample-runs.ts";
import { newTask, schedule } from "./sample-tasks.ts";
import { TestDatabase } from "./test-database.ts";

let database: TestDatabase;
const worker = idOf(1);

beforeEach(async () => {
  database = await TestDatabase.create();
});

afterEach(() => database.drop());

function bytes(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

test("runs, steps, timers, messages and leases can be read with psql, payloads as JSON", async () => {
  const { store } = await database.open();
  await database.setClock(Date.UTC(2026, 5, 2, 9));
  await register(store, worker);
  await start(store, [newRun(10, { input: bytes('{"amount":12}'), attributes: { region: "eu" } })], worker);
  const at = Date.UTC(2026, 5, 2, 9);
  const failed = { name: "Error", message: "card \u0000 declined", kind: "Unknown" } as const;
  const events = [
    event(1, { type: "step_attempt_failed", op: "charge", at, meta: { attempt: 1, error: failed, retryAt: at + 500 } }),
    event(2, {
      type: "step_completed",
      op: "charge",
      at: at + 600,
      payload: bytes('{"paid":true}'),
      meta: { attempt: 2 },
    }),
    event(3, { type: "timer_created", op: "cool off", at: at + 600, meta: { fireAt: at + 60_000 } }),
    event(4, { type: "step_failed", op: "odd", at: at + 600, meta: { error: { ...failed, message: "\ud83d" } } }),
    event(5, { type: "step_completed", op: "photo", at: at + 600, payload: new Uint8Array([1, 2, 255]) }),
  ];
  const suspend = { type: "suspend", status: "sleeping", availableAt: at + 60_000, waitingFor: ["cool off"] } as const;
  await store.runs.commit({ commits: [firstCommit(10, { events, transition: suspend })] });
  const message = {
    to: { namespace: "default", runId: idOf(10) },
    kind: "signal",
    name: "approve",
    messageId: "m1",
    payload: bytes('{"by":"ann"}'),
  } as const;
  await store.inbox.deliver({ messages: [message], inboxMax: 10 });

  const [run] = await database.sql(`select * from ${database.name("readable_runs")}`);
  expect(run).toMatchObject({
    id: "order 10",
    workflow: "order",
    status: "sleeping",
    waiting_for: ["cool off"],
    due_at: new Date(at),
    held_by: null,
    messages_waiting: 1,
    input: { amount: 12 },
    attributes: { region: "eu" },
  });
  expect(await database.sql(`select * from ${database.name("readable_steps")} order by step`)).toMatchObject([
    {
      step: "charge",
      status: "completed",
      attempt: 2,
      result: { paid: true },
      error: { message: "card \ufffd declined" },
    },
    { step: "odd", status: "failed", error: null },
    { step: "photo", status: "completed", attempt: 1, result: "\\x0102ff", error: null },
  ]);
  expect(await database.sql(`select * from ${database.name("readable_timers")}`)).toMatchObject([
    { timer: "cool off", fires_at: new Date(at + 60_000), fired_at: null },
  ]);
  expect(await database.sql(`select * from ${database.name("readable_messages")}`)).toMatchObject([
    { number: 1, kind: "signal", name: "approve", consumed: false, payload: { by: "ann" } },
  ]);
  expect(await database.sql(`select * from ${database.name("readable_leases")}`)).toMatchObject([
    { name: "a worker", status: "online", expires_at: new Date(at + 60_000), runs_held: "0" },
  ]);
  expect(await database.sql(`select seq, type, op from ${database.name("readable_events")} order by seq`)).toHaveLength(
    5,
  );
});

test("psql says who holds a run, since when and until when", async () => {
  const { store } = await database.open();
  const began = Date.UTC(2026, 5, 2, 9);
  await database.setClock(began);
  await register(store, worker);
  await start(store, [newRun(10)], worker);
  await start(store, [newRun(11)]);
  const claimedAt = began + 90_000;
  await claim(store, worker, uuidV7(claimedAt, new Uint8Array(16)));
  const rows = `select id, held_by, held_since, lease_expires_at from ${database.name("readable_runs")} order by id`;
  const lease = { held_by: "a worker", lease_expires_at: new Date(began + 60_000) };
  expect(await database.sql(rows)).toEqual([
    // Held since its start, by an id that is older.
    { id: "order 10", held_since: new Date(began), ...lease },
    { id: "order 11", held_since: new Date(claimedAt), ...lease },
  ]);
  await store.runs.releaseIfHeld({ namespace: "default", workerId: worker, runs: [{ runId: idOf(11), epoch: 1 }] });
  const [, released] = await database.sql(rows);
  expect(released).toEqual({ id: "order 11", held_by: null, held_since: null, lease_expires_at: null });
});

test("SQL tells the rate at which runs complete, how many succeed and how long they take", async () => {
  const { store } = await database.open();
  const began = Date.UTC(2026, 5, 2, 9);
  await database.setClock(began);
  await register(store, worker);
  await start(
    store,
    [10, 11, 12].map((n) => newRun(n)),
    worker,
  );
  for (const [n, tookMs, status] of [
    [10, 1_000, "completed"],
    [11, 4_000, "completed"],
    [12, 7_000, "failed"],
  ] as const) {
    await database.setClock(began + tookMs);
    const output = status === "completed" ? bytes("1") : null;
    const error = status === "failed" ? { name: "Error", message: "no", kind: "Unknown" as const } : null;
    const transition = { type: "end", status, output, error, compensation: null, unlessBehind: false } as const;
    await store.runs.commit({ commits: [firstCommit(n, { transition })] });
  }
  const [row] = await database.sql(
    `select workflow, count(*)::int as ended, avg((status = 'completed')::int)::float as succeeded,
            extract(epoch from avg(ended_at - created_at))::float as seconds
       from ${database.name("readable_runs")} where ended_at >= $1 group by workflow`,
    [new Date(began)],
  );
  expect(row).toEqual({ workflow: "order", ended: 3, succeeded: expect.closeTo(2 / 3), seconds: 4 });
});

test("tasks can be read with psql, without the secrets of their tokens", async () => {
  const { store } = await database.open();
  await database.setClock(1_000);
  await register(store, worker);
  await start(store, [newRun(10)], worker);
  const holdBy = { workerId: worker, claimId: idOf(100) };
  const tasks = [newTask(1, { requires: ["gpu"], startTimeoutMs: 500 }), newTask(2, { holdBy })];
  await schedule(store, [10], tasks);
  const rows = await database.sql(`select * from ${database.name("readable_tasks")} order by seq`);
  const held = { held_by: "a worker", held_since: new Date(0x018900000000) };
  expect(rows).toMatchObject([
    { id: "order 10", task: "mail#1", requires: ["gpu"], status: "due", due_at: new Date(1_000), input: 0 },
    { task: "mail#2", name: "mail", status: "held", due_at: null, expires_at: null, ...held },
  ]);
  expect(rows[0]).toMatchObject({ expires_at: new Date(1_500), expires: "start_timeout" });
  expect(rows[0]).not.toHaveProperty("secret");
  expect(await database.sql(`select tasks_held from ${database.name("readable_leases")}`)).toEqual([
    { tasks_held: "1" },
  ]);
});

test("children, where runs come from, what they owe, and the answers to updates can be read with psql", async () => {
  const { store } = await database.open();
  await register(store, worker);
  await start(store, [newRun(10)], worker);
  await startChildren(store, [{ run: newRun(20), of: 10 }], worker);
  const to = { namespace: "default", runId: idOf(10) };
  const update = { kind: "update", name: "set", messageId: "u1", payload: bytes("1") } as const;
  await store.inbox.deliver({ messages: [{ to, ...update }], inboxMax: 10 });
  await commit(store, endOf(20), firstCommit(10, { consumed: 1, replies: [{ number: 1, seq: 1 }] }));
  const rows = (view: string) => database.sql(`select * from ${database.name(view)}`);
  expect(await rows("readable_children")).toMatchObject([
    { id: "order 10", child_id: "order 20", status: "completed", op: "child", policy: "cancel", given_up: false },
  ]);
  expect(await rows("readable_debts")).toMatchObject([{ id: "order 20", kind: "result" }]);
  expect((await rows("readable_runs")).map(({ lineage }) => lineage)).toEqual(
    expect.arrayContaining([null, expect.objectContaining({ op: "child", depth: 1 })]),
  );
  expect(await rows("readable_messages")).toMatchObject([
    { kind: "update", consumed: true, answered_by: 1, error: null },
  ]);
});
