import { afterEach, beforeEach, expect, test } from "vitest";
import { firstCommit, idOf, newRun, register, start } from "./sample-runs.ts";
import { claimTasks, finishOf, newTask, schedule } from "./sample-tasks.ts";
import { TestDatabase } from "./test-database.ts";

let database: TestDatabase;

beforeEach(async () => {
  database = await TestDatabase.create();
});

afterEach(() => database.drop());

async function bytesOf(table: string): Promise<number> {
  const { rows } = await database.admin.query("select pg_relation_size($1::regclass)::int as bytes", [
    database.name(table),
  ]);
  return rows[0].bytes;
}

test("a vacuum leaves empty tables as long as they are: to shorten one it would lock out commits", async () => {
  const worker = idOf(1);
  const { store } = await database.open();
  await register(store, worker);
  await start(store, [newRun(10)], worker);
  await schedule(store, [10], [newTask(1)]);
  await claimTasks(store, worker, idOf(3));
  await store.tasks.finish({ finishes: [finishOf(10, 1, worker)] });
  const end = { type: "end", status: "completed", output: null, error: null, compensation: null } as const;
  await store.runs.commit({
    commits: [
      firstCommit(10, {
        commit: 1,
        events: [],
        eventCount: 1,
        consumed: 1,
        results: [1],
        transition: { ...end, unlessBehind: true },
      }),
    ],
  });
  for (const table of ["tasks", "inbox"]) {
    const name = database.name(table);
    expect((await database.admin.query(`select 1 from ${name}`)).rowCount, table).toBe(0);
    const before = await bytesOf(table);
    expect(before, table).toBeGreaterThan(0);
    await database.admin.query(`vacuum ${name}`);
    expect(await bytesOf(table), table).toBe(before);
  }
});
