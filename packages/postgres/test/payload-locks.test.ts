import type { Payload, PayloadPart, Store } from "holdfast/adapter";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { idOf, newRun, register, start } from "./sample-runs.ts";
import { claimTasks, newTask, schedule } from "./sample-tasks.ts";
import { serverUrl, TestDatabase } from "./test-database.ts";

const worker = idOf(1);
const text = (value: string): Payload => new TextEncoder().encode(value);
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

async function replace(store: Store, n: number, part: PayloadPart, number: number, from: string): Promise<string> {
  const place = { namespace: "default", runId: idOf(n), part, number };
  const { outcomes } = await store.payloads.replaceIfUnchanged({
    payloads: [{ ...place, from: text(from), to: text("new") }],
  });
  return outcomes[0] as string;
}

test("a run or a task that another transaction has locked is busy: its values are not waited for", async () => {
  const { store } = await database.open();
  await register(store, worker);
  await start(store, [newRun(10, { input: text("ten") }), newRun(11, { input: text("eleven") })], worker);
  await schedule(store, [10], [newTask(1), newTask(2)]);
  const { tasks } = await claimTasks(store, worker, idOf(50));
  for (const { seq, epoch } of tasks)
    await store.tasks.beat({
      beats: [
        {
          namespace: "default",
          runId: idOf(10),
          seq,
          epoch,
          by: { type: "holder", workerId: worker },
          details: text("half"),
        },
      ],
    });
  await other.query("begin");
  await other.query(`select 1 from ${database.name("runs")} where run_id = $1 for update`, [idOf(11)]);
  await other.query(`select 1 from ${database.name("tasks")} where run_id = $1 and seq = 1 for update`, [idOf(10)]);
  expect(await replace(store, 11, "input", 0, "eleven")).toBe("busy");
  expect(await replace(store, 10, "input", 0, "ten")).toBe("replaced");
  expect(await replace(store, 10, "details", 1, "half")).toBe("busy");
  expect(await replace(store, 10, "details", 2, "half")).toBe("replaced");
  await other.query("rollback");
  expect(await replace(store, 11, "input", 0, "eleven")).toBe("replaced");
  expect(await replace(store, 10, "details", 1, "half")).toBe("replaced");
});
