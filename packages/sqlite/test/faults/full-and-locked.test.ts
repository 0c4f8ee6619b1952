/** A real engine on a real file while nothing can be written: the disk is full, or another process has the lock. */
import { type Client, connect, type StoreAdapter, workflow } from "holdfast";
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventTypeCode } from "../../src/database/codes.ts";
import { Connection } from "../../src/database/connection.ts";
import { openDatabase } from "../../src/database/driver.ts";
import { openParts } from "../../src/open-store.ts";
import { silent, temporaryFolder } from "../sqlite-under-test.ts";

const RUNS = 200;
const STEPS = 10;
const LEASE_MS = 1_000;

let folder: ReturnType<typeof temporaryFolder>;
let file: string;
let client: Client;
let connection: Connection;
let executions: Map<string, number>;
/** Called at every execution of a step and at every failed store call. */
let onExecution: (count: number) => void;
let onFailure: (call: string) => void;

const order = workflow("order", async (ctx, n: number) => {
  let sum = n;
  for (let i = 0; i < STEPS; i++) {
    sum += await ctx.step(`part ${i}`, () => {
      const step = `${n} part ${i}`;
      executions.set(step, (executions.get(step) ?? 0) + 1);
      onExecution(executions.size);
      return i;
    });
  }
  return sum;
});

beforeEach(async () => {
  folder = temporaryFolder();
  file = folder.file("app.db");
  executions = new Map();
  onExecution = () => {};
  onFailure = () => {};
  const adapter: StoreAdapter = {
    name: "SQLite, with its connection",
    schemes: ["file"],
    openStore: async (url, options) => {
      const opened = await openParts(url, options);
      connection = opened.connection;
      return opened;
    },
  };
  const telemetry = {
    count: (metric: string, _: number, labels: object) => noteFailure(metric, labels),
    duration() {},
  };
  client = await connect(`file:${file}`, { adapters: [adapter], logger: silent, telemetry });
  await client.worker({ workflows: [order], lease: { milliseconds: LEASE_MS }, concurrency: RUNS }).start();
});

afterEach(async () => {
  await client.close();
  folder.remove();
});

function noteFailure(metric: string, labels: { readonly call?: string }): void {
  if (metric === "store_failures") onFailure(labels.call ?? "");
}

/** Every run ends with the right output; every step was executed once and recorded once; no run has changed hands. */
async function expectDoneOnce(handles: Awaited<ReturnType<typeof startAll>>): Promise<void> {
  const results = await Promise.all(handles.map((handle) => handle.result({ timeout: "20s" })));
  expect(results).toEqual(handles.map((_, n) => n + (STEPS * (STEPS - 1)) / 2));
  const all = RUNS * STEPS;
  expect([...executions.values()].filter((count) => count !== 1)).toEqual([]);
  expect(executions.size).toBe(all);
  const recorded = connection.get(
    `select count(*) as rows, count(distinct run_key || ' ' || op) as ops
       from (select run_key, op, type from holdfast_events
             union all select run_key, tail_op, tail_type from holdfast_run_ends) where type = ?`,
    eventTypeCode("step_completed"),
  );
  expect(recorded).toEqual({ rows: all, ops: all });
  expect(connection.all("select epoch, count(*) as runs from holdfast_runs group by epoch")).toEqual([
    { epoch: 1, runs: RUNS },
  ]);
  expect(connection.get("select sum(died) as died from holdfast_workers")).toEqual({ died: 0 });
}

function startAll() {
  return client.startMany(Array.from({ length: RUNS }, (_, n) => ({ workflow: order, input: n })));
}

/** Resolves when a quarter of the work is done. */
function underWay(): Promise<void> {
  return new Promise((resolve) => {
    onExecution = (count) => void (count >= (RUNS * STEPS) / 4 && resolve());
  });
}

test("a disk that is full delays what is to be written; when there is room again, nothing was lost or done twice", async () => {
  const begun = underWay();
  const handles = await startAll();
  await begun;
  const pages = connection.get<{ page_count: number }>("pragma page_count")?.page_count;
  const refused = new Promise<void>((resolve) => {
    let failures = 0;
    onFailure = (call) => {
      failures += call === "runs.commit" ? 1 : 0;
      if (failures === 5) resolve();
    };
  });
  connection.script(`pragma max_page_count = ${pages}`);
  await refused;
  const executed = executions.size;
  expect(executed).toBeLessThan(RUNS * STEPS);
  connection.script("pragma max_page_count = 1000000");
  await expectDoneOnce(handles);
});

test("a program that keeps the file locked for three leases delays everything; nothing is lost or done twice", async () => {
  const begun = underWay();
  const handles = await startAll();
  await begun;
  const blocker = new Connection(await openDatabase(file));
  blocker.script("pragma busy_timeout = 5000");
  blocker.script("begin immediate");
  // tidy-allow: a lease expires only with time
  await new Promise((resolve) => setTimeout(resolve, 3 * LEASE_MS));
  expect(executions.size).toBeLessThan(RUNS * STEPS);
  blocker.script("rollback");
  blocker.close();
  await expectDoneOnce(handles);
});
