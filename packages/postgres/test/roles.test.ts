import { readFileSync } from "node:fs";
import process from "node:process";
import { connect, silentLogger } from "holdfast";
import type { Store } from "holdfast/adapter";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { claim, ERROR, firstCommit, idOf, newRun, register, SWEEP, start } from "./sample-runs.ts";
import { claimTasks, finishOf, newTask, taskEvent } from "./sample-tasks.ts";
import { serverUrl, TestDatabase } from "./test-database.ts";

const PAGE = new URL("../../../docs/postgresql.md", import.meta.url);
const PASSWORD = "change-me";
const ROLES = ["migrator", "worker", "reader", "ungranted"] as const;
let database: TestDatabase;

/** The statements that the page recommends, with the names of this test. */
function statements(block: string): string {
  const [, sql] = new RegExp(`\`\`\`sql\\n-- ${block}\\n([^]*?)\`\`\``).exec(readFileSync(PAGE, "utf8")) ?? [];
  if (!sql) throw new Error(`docs/postgresql.md has no block "-- ${block}"`);
  return sql
    .replaceAll(/\bapp_(\w+)/g, (_, role: string) => `"${roleName(role)}"`)
    .replaceAll(/\bschema holdfast\b/g, `schema "${database.schema}"`)
    .replaceAll(/\bholdfast\./g, `"${database.schema}".`);
}

function roleName(role: string): string {
  return `hf_test_${process.pid}_${role}`;
}

function urlOf(role: string): string {
  return serverUrl((url) => {
    url.username = roleName(role);
    url.password = PASSWORD;
    url.searchParams.set("schema", database.schema);
  });
}

async function as(role: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: urlOf(role) });
  await client.connect();
  try {
    return (await client.query(sql)).rows;
  } finally {
    await client.end();
  }
}

beforeEach(async () => {
  database = await TestDatabase.create();
  for (const role of ROLES) await database.sql(`drop role if exists "${roleName(role)}"`);
  await database.sql(statements("roles"));
  await database.sql(`create role "${roleName("ungranted")}" login password '${PASSWORD}'`);
});

afterEach(async () => {
  const { admin } = database;
  await admin.query(`drop schema if exists "${database.schema}" cascade`);
  for (const role of ROLES) await admin.query(`drop owned by "${roleName(role)}"; drop role "${roleName(role)}"`);
  await database.drop();
});

async function migrateAndGrant(): Promise<void> {
  const { store } = await database.open({ url: urlOf("migrator") });
  await store.close();
  await as("migrator", statements("grants"));
}

async function workOnTasks(store: Store, worker: string): Promise<void> {
  const tasks = [newTask(2), newTask(3)];
  const events = tasks.map(taskEvent);
  await store.runs.commit({ commits: [firstCommit(10, { commit: 1, events, tasks })] });
  expect((await claimTasks(store, worker, idOf(101), 1)).tasks).toHaveLength(1);
  const key = { namespace: "default", runId: idOf(10), seq: 2, epoch: 1 };
  const by = { type: "holder", workerId: worker } as const;
  expect((await store.tasks.beat({ beats: [{ ...key, by, details: null }] })).outcomes).toMatchObject([
    { outcome: "heard" },
  ]);
  expect(await store.tasks.read({ namespace: "default", tasks: [key] })).toMatchObject([{ status: "held" }]);
  expect((await store.tasks.finish({ finishes: [finishOf(10, 2, worker)] })).outcomes).toEqual([{ outcome: "done" }]);
  expect(await store.tasks.position({ ...key, seq: 3, atMost: 9 })).toBe(0);
  expect((await store.tasks.cancel({ namespace: "default", tasks: [{ ...key, seq: 3 }] })).outcomes).toEqual([
    { outcome: "never_began" },
  ]);
  expect(await store.tasks.list({ namespace: "default", limit: 10 })).toHaveLength(1);
  expect((await store.tasks.expired({ limit: 10 })).tasks).toEqual([]);
  expect(await store.workers.readHeldTasks({ namespace: "default", workerId: worker })).toEqual([]);
}

test("a worker with the grants of the page can do all that a worker does", async () => {
  await migrateAndGrant();
  const { store } = await database.open({ url: urlOf("worker"), migrate: "check" });
  const worker = await register(store, idOf(1));
  await start(store, [newRun(10)], worker);
  await start(store, [newRun(11)]);
  expect((await claim(store, worker, idOf(100))).runs).toHaveLength(1);
  const { outcomes } = await store.runs.commit({ commits: [firstCommit(10)] });
  expect(outcomes[0]).toMatchObject({ outcome: "written" });
  const to = { namespace: "default", runId: idOf(10) };
  const message = { to, kind: "signal", name: "go", messageId: "m", payload: new Uint8Array(0) } as const;
  expect((await store.inbox.deliver({ messages: [message], inboxMax: 10 })).outcomes[0]?.outcome).toBe("delivered");
  expect(await store.inbox.read({ runs: [{ namespace: "default", runId: idOf(10), after: 0 }] })).toHaveLength(1);
  expect(
    (await store.histories.read({ runs: [{ namespace: "default", runId: idOf(10), afterSeq: 0 }], limitPerRun: 9 }))[0],
  ).toHaveLength(1);
  expect(await store.runs.list({ namespace: "default", limit: 10 })).toHaveLength(2);
  expect(await store.runs.count({ namespace: "default", statuses: ["parked"], atMost: null })).toBe(0);
  const [signedOn, ...others] = await store.workers.list({ namespace: "default" });
  expect(others).toEqual([]);
  expect((await store.readClock()).now).toBeGreaterThanOrEqual(signedOn?.heartbeatAt as number);
  expect(
    await store.versions.register({ namespace: "default", versions: [{ workflow: "w", version: "1", hash: "h" }] }),
  ).toEqual([null]);
  expect(await store.versions.list({ namespace: "default" })).toHaveLength(1);
  expect(
    await store.workers.heartbeat({ namespace: "default", workerId: worker, leaseMs: 1_000, draining: false }),
  ).toMatchObject({
    heldCount: 2,
  });
  expect(await store.workers.readHeld({ namespace: "default", workerId: worker })).toHaveLength(2);
  await workOnTasks(store, worker);
  expect(await store.runs.terminate({ runs: [to], error: ERROR })).toMatchObject([{ outcome: "terminated" }]);
  const purge = { namespace: "default", endedBefore: Number.MAX_SAFE_INTEGER, limit: 10 };
  expect(await store.runs.purge(purge)).toMatchObject({ purged: 1, more: false });
  await store.workers.stop({ namespace: "default", workerId: worker });
  expect(await store.workers.sweep(SWEEP)).toMatchObject({ dead: 0 });
});

test("a worker can neither write past the functions nor change the schema", async () => {
  await migrateAndGrant();
  const runs = database.name("runs");
  for (const sql of [
    `update ${runs} set epoch = 9`,
    `delete from ${database.name("events")}`,
    `insert into ${database.name("debts")} (run_id, kind, at) values ('${idOf(1)}', 'result', 1)`,
    `create table ${database.name("mine")} (a int)`,
    `create or replace function ${database.name("now_ms")}() returns bigint language sql as 'select 1::bigint'`,
  ]) {
    await expect(as("worker", sql)).rejects.toMatchObject({ code: "42501" });
  }
});

test("a reader reads the views and can call nothing that writes", async () => {
  await migrateAndGrant();
  expect(await as("reader", `select * from ${database.name("readable_runs")}`)).toEqual([]);
  expect(await as("reader", `select * from ${database.name("readable_steps")}`)).toEqual([]);
  expect(await as("reader", `select * from ${database.name("readable_tasks")}`)).toEqual([]);
  await expect(
    as("reader", `select ${database.name("stop_worker")}('default', '${idOf(1)}', false)`),
  ).rejects.toMatchObject({
    code: "42501",
  });
});

test("a role that may only read can look at runs, and gets an error at once that says what it lacks when it starts one or works", async () => {
  await migrateAndGrant();
  const hf = await connect(urlOf("reader"), { migrate: "check", logger: silentLogger });
  expect(await hf.count()).toBe(0);
  const answer = { code: "store_unavailable", message: expect.stringMatching(/permission denied .* Grant the role/) };
  await expect(hf.start("order")).rejects.toMatchObject(answer);
  await expect(hf.worker({ workflows: [], queues: ["q"] }).start()).rejects.toMatchObject(answer);
  await hf.close();
}, 10_000); // less than the time for which calls to an unavailable store are retried

test("a role without the grants gets an error that says what it lacks", async () => {
  await expect(database.open({ url: urlOf("worker") })).rejects.toMatchObject({
    code: "store_refused",
    message: expect.stringContaining("docs/postgresql.md"),
  });
  await migrateAndGrant();
  for (const migrate of ["auto", "check"] as const) {
    await expect(database.open({ url: urlOf("ungranted"), migrate })).rejects.toMatchObject({
      code: "store_refused",
      message: expect.stringMatching(/permission denied for schema .* Grant the role/),
    });
  }
});
