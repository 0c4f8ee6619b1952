/**
 * What calls read when there are a million finished runs and 100,000 waiting ones. The server itself counts (rows read by
 * sequential scans, entries fetched by index scans), in the transaction of the call, so that no plan can hide in a function.
 */
import { CLOSED_STATUSES, type ListRunsParams } from "holdfast/adapter";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as binary from "../src/database/binary-array.ts";
import { PLANNER_SETTINGS } from "../src/database/driver.ts";
import { textFor } from "../src/database/server-call.ts";
import { countStatement, listStatement } from "../src/runs/listing.ts";
import { EXPIRED_TASKS } from "../src/tasks/reports.ts";
import { LIST_SINCE } from "../src/workers.ts";
import { type Reads, readsOf } from "./reads.ts";
import { idOf, register } from "./sample-runs.ts";
import { TestDatabase } from "./test-database.ts";

const FINISHED = 1_000_000;
const WAITING = 100_000;
const SWEEP = [2, 2, "", 35, null, 1_000, "", 100, null, false];
const worker = idOf(1);
let database: TestDatabase;

beforeAll(async () => {
  database = await TestDatabase.create();
  const { store } = await database.open();
  await register(store, worker);
  await store.close();
  await fill();
  for (const [name, value] of Object.entries(PLANNER_SETTINGS)) await database.sql(`set ${name} = ${value}`);
}, 600_000);

afterAll(() => database.drop());

/** Old waiting runs, then finished ones, with a few due, parked or failed runs among them. */
async function fill(): Promise<void> {
  const name = (table: string): string => database.name(table);
  await database.sql(`insert into ${name("lanes")} (namespace, queue, workflow, version, priority)
    select 'default', 'default', w, '1', 0 from unnest(array['order', 'rare']) w`);
  const all = FINISHED + WAITING;
  await database.sql(`create temp table sample as select i, ('01890000-0000-7000-8000-' || lpad(to_hex(i + 1000), 12, '0'))::uuid as run_id,
    case when i % 1000 = 7 then 'failed' when i <= ${WAITING} then case i % 3 when 0 then 'sleeping' else 'waiting' end else 'completed' end as status,
    case when i % 20000 = 5 then 2 else 1 end as lane_id from generate_series(1, ${all}) i`);
  await database.sql(`insert into ${name("run_starts")} (run_id, chain_id, created_at, lane_id, nth, namespace, id, seed, input)
    select run_id, run_id, i, lane_id, 0, 'default', 'order ' || i, 's', '{}' from sample`);
  await database.sql(`insert into ${name("runs")} (run_id, lane_id, epoch, status, created_at, available_at, ended_at, delivered, waiting_for, error)
    select run_id, lane_id, 1, status::${name("run_status")}, i, case when i % 100 = 3 and i <= ${WAITING} then 1000
      when status = 'sleeping' then 4102444800000 + i end, case when status in ('failed', 'completed') then i end, 2,
      case when status in ('sleeping', 'waiting') then array[case i % 5 when 0 then 'charge#2#00' when 1 then 'charge' else 'receive:paid' end]::text end,
      case when status = 'failed' then '{"kind":"Timeout","code":"ECONNRESET"}'::bytea end from sample`);
  await database.sql(`insert into ${name("inbox")} (run_id, chain_id, at, number, kind, name, message_id, payload)
    select run_id, run_id, 1, n, 'signal', 'go', 'm' || n, '' from sample, generate_series(1, 2) n where i <= ${WAITING}`);
  await database.sql(`insert into ${name("events")} (run_no, at, seq, type, op)
    select run_no, 1, seq, 9, 'step' from ${name("runs")}, generate_series(1, 2) seq where created_at <= ${WAITING}`);
  await database.sql(
    `insert into ${name("run_attributes")} select run_id, jsonb_build_object('n', i % 1000) from sample`,
  );
  await database.sql(
    `analyze ${["lanes", "runs", "run_starts", "inbox", "events", "run_attributes"].map(name).join(", ")}`,
  );
}

/** In a transaction that is rolled back. */
async function reads(text: string, values: readonly unknown[]): Promise<Reads> {
  await database.sql("begin");
  try {
    return await readsOf(database, text, values);
  } finally {
    await database.sql("rollback");
  }
}

async function expectFew(text: string, values: readonly unknown[], most: number): Promise<void> {
  const { inSequence, byIndex } = await reads(text, values);
  // To plan a statement, the server looks at the ends of the indexes of the tables that it joins.
  const planning = await reads(`explain ${text}`, values);
  expect(inSequence).toBe(0);
  expect(byIndex - planning.byIndex).toBeLessThan(most);
}

/** Called twice: to plan its statements, the server looks at the ends of indexes once in a session, and that counts, too. */
async function expectSweepToReadFew(): Promise<void> {
  await reads(call("sweep_workers", 10), SWEEP);
  await expectFew(call("sweep_workers", 10), SWEEP, 20);
}

function call(name: string, count: number): string {
  return `select * from ${database.name(name)}(${Array.from({ length: count }, (_, i) => `$${i + 1}`).join(",")})`;
}

test("a claim reads what it takes", async () => {
  const values = [worker, idOf(9), false, "default", ["default"], ["order"], ["1"], 10, false];
  await expectFew(call("claim_runs", 9), values, 150);
  await expectFew(call("claim_runs", 9), [...values.slice(0, 5), ["nobody's"], ...values.slice(6)], 60);
});

test("a claim of tasks, a sweep and a look for expired tasks read what they take, whatever the backlog", async () => {
  const name = (table: string): string => database.name(table);
  await database.sql(`insert into ${name("task_lanes")} (namespace, queue, name, requires, priority)
    select 'default', 'default', n, '{}', p from unnest(array['mail', 'other']) n, generate_series(1, 3) p`);
  await database.sql(`insert into ${name("tasks")} (run_id, seq, input_seq, lane_id, epoch, op, secret, created_at, fail_on_crash,
      external, status, available_at, expires_at)
    select run_id, 1, 1, i % 6 + 1, 0, 'mail', run_id, 1, false, false, 'due', 1000 + i, 4102444800000 + i
      from sample where i <= ${WAITING}`);
  await database.sql(`analyze ${name("tasks")}, ${name("task_lanes")}`);
  await expectSweepToReadFew();
  await expectFew(textFor(EXPIRED_TASKS, database.schema), [10], 20);
  const values = [worker, idOf(9), false, "default", ["default"], ["mail"], [], 10, false];
  await expectFew(call("claim_tasks", 9), [...values.slice(0, 5), ["nobody's"], ...values.slice(6)], 10);
  await expectFew(call("claim_tasks", 9), values, 150);
});

test("a backlog is counted up to its limit in each lane", async () => {
  await expectFew(call("read_backlog", 3), ["default", 50, 5_000], 400);
});

test("a run that is restarted is read alone", async () => {
  await database.sql("begin");
  try {
    // Twice: what the session reads to plan counts, too.
    for (const n of [1_006, 1_009]) {
      await database.sql(
        `update ${database.name("runs")} set held_by = $1, claim_id = $1, available_at = null where run_id = $2`,
        [worker, idOf(n)],
      );
      const values = ["default", idOf(n), 1, 0, 2, 41, null, false];
      const { inSequence, byIndex } = await readsOf(database, call("restart_run", 8), values);
      const [row] = await database.sql(
        `select held_by, epoch, event_count from ${database.name("runs")} where run_id = $1`,
        [idOf(n)],
      );
      expect(row).toEqual({ held_by: null, epoch: 2, event_count: 3 });
      expect(inSequence).toBe(0);
      if (n === 1_009) expect(byIndex).toBeLessThan(30);
    }
  } finally {
    await database.sql("rollback");
  }
});

test("workers that have been gone for long are not read, whoever looks for others", async () => {
  await database.sql("begin");
  await database.sql(`insert into ${database.name("workers")} (worker_id, namespace, name, queues, workflows, labels, about, logged_at,
      status, died, emptied, lease_ms, started_at, heartbeat_at, lease_expires_at, stopped_at)
    select run_id, 'default', 'gone', '{}', '{}', '{}', '{}', 1, 'offline', true, true, 1, 1, 1, 1, i from sample where i <= 10000`);
  await database.sql(`analyze ${database.name("workers")}`);
  const about = [[], [], [], "{}", "{}", 60_000, false, false];
  const looks: readonly (readonly [string, readonly unknown[]])[] = [
    [textFor(LIST_SINCE, database.schema), ["default", 9_990]],
    [call("register_worker", 13), [idOf(7), "default", "gone", "host", 1, ...about]],
    [call("heartbeat_worker", 7), ["default", worker, 60_000, false, null, false, false]],
    [call("sweep_workers", 10), SWEEP],
  ];
  const found: Reads[] = [];
  for (const [text, values] of looks) {
    await readsOf(database, text, values);
    found.push(await readsOf(database, text, values));
  }
  await database.sql("rollback");
  for (const { inSequence, workers, byIndex } of found) {
    expect([inSequence, workers]).toEqual([0, 0]);
    expect(byIndex).toBeLessThan(100);
  }
});

test("inboxes and histories are read run by run", async () => {
  const namespaces = binary.textArray(["default", "default"]);
  const runs = [namespaces, binary.uuidArray([idOf(1_005), idOf(1_006)]), binary.int4Array([0, 1])];
  await expectFew(call("read_inbox", 3), runs, 10);
  await expectFew(call("read_histories", 4), [...runs, 10], 20);
});

test("a window of a long history reads no more events than it shows", async () => {
  const events = 100_000;
  await database.sql(`insert into ${database.name("events")} (run_no, at, seq, type, op)
    select run_no, 1, seq, 9, 'step' from ${database.name("runs")}, generate_series(3, ${events}) seq where created_at = 8`);
  const window = (after: number, limit: number) =>
    reads(call("read_histories", 4), [
      ...[binary.textArray(["default"]), binary.uuidArray([idOf(1_008)]), binary.int4Array([after])],
      limit,
    ]);
  // Twice: the first time, planning looks at the ends of indexes, past rows that are not yet known to be visible.
  for (const after of [0, 50_000, events - 200]) await window(after, 200);
  for (const after of [0, 50_000, events - 200]) {
    const { inSequence, byIndex, entries } = await window(after, 200);
    expect(inSequence).toBe(0);
    expect(byIndex).toBeLessThan(200 + 5);
    expect(entries).toBeLessThan(200 + 5);
  }
});

test("a heartbeat, a sweep and a message read a handful of rows", async () => {
  await expectFew(call("heartbeat_worker", 7), ["default", worker, 1_000, false, null, true, false], 15);
  await expectSweepToReadFew();
  const message = [["signal"], ["go"], ["new"]].map((values) => binary.textArray(values));
  const to = [binary.uuidArray([null]), binary.textArray(["default"]), binary.textArray(["order 5"])];
  await expectFew(
    call("deliver_messages", 9),
    [...to, ...message, binary.byteaArray([new Uint8Array(0)]), 10, false],
    40,
  );
});

test("the leader reads the schedules that are due, however many there are", async () => {
  await database.sql(`insert into ${database.name("schedules")}
    select 'default', 's' || i, gen_random_uuid(), 1, 9000000000000 + i, case when i % 100 = 0 then 1 else 0 end, 0, 's' || i || '@1', '{}', '{}', '', '{}'
      from generate_series(1, 10000) i`);
  await database.sql(`analyze ${database.name("schedules")}`);
  await expectFew(call("heartbeat_worker", 7), ["default", worker, 1_000, false, null, true, false], 20);
  await database.sql(
    `update ${database.name("schedules")} set next_at = i from generate_series(1, 5) i where id = 's' || i`,
  );
  await expectFew(call("due_schedules", 4), [3, Number.MIN_SAFE_INTEGER, "", ""], 60);
  await database.sql(`update ${database.name("schedules")} set next_at = 7 where waits = 0`);
  await expectFew(call("due_schedules", 4), [3, 7, "default", "s5000"], 60);
});

test("what is old of workers is found without reading what is new", async () => {
  await database.sql(`insert into ${database.name("worker_log")} (namespace, worker_id, name, type, at)
    select 'default', gen_random_uuid(), 'w', 'started', i from generate_series(1, 10000) i`);
  await database.sql(`insert into ${database.name("rates")}
    select 'default', i, 'order', 1, 1, 0, 0 from generate_series(1, 10000) i`);
  for (const table of ["worker_log", "rates"]) await database.sql(`analyze ${database.name(table)}`);
  await expectFew(call("forget_workers", 2), [100, 5], 60);
  await expectFew(call("forget_workers", 2), [0, 5], 60);
});

test("a purge reads what it deletes, once for each lane and status", async () => {
  const purge = (statuses: readonly string[], limit: number, runIds?: readonly string[]) => [
    ...["default", 90_000, binary.textArray(statuses)],
    ...[runIds ? binary.uuidArray(runIds) : null, limit, false, Number.MIN_SAFE_INTEGER, idOf(0)],
  ];
  await expectFew(call("purge_runs", 8), purge(["completed"], 10), 200);
  await expectFew(call("purge_runs", 8), purge(CLOSED_STATUSES, 10), 300);
  await expectFew(call("purge_runs", 8), purge(["canceled", "continued"], 10), 10);
  await expectFew(call("purge_runs", 8), purge(CLOSED_STATUSES, 10, [idOf(61_000), idOf(62_000)]), 150);
});

const LISTS: readonly (readonly [string, Partial<ListRunsParams>, number])[] = [
  ["everything", {}, 200],
  ["the second page", { before: { createdAt: 50_000, runId: idOf(51_000) } }, 200],
  ["waiting runs, which are the oldest", { statuses: ["waiting"] }, 300],
  ["sleeping and waiting runs", { statuses: ["waiting", "sleeping"] }, 300],
  ["failed runs", { statuses: ["failed"] }, 300],
  ["parked runs, of which there are none", { statuses: ["parked", "canceled"] }, 50],
  ["runs of a workflow", { workflow: "order" }, 300],
  ["runs of a rare workflow", { workflow: "rare" }, 300],
  ["failed runs of a workflow", { workflow: "order", statuses: ["failed"] }, 400],
  ["runs of a time", { createdAfter: 20_000, createdBefore: 20_100 }, 300],
  ["finished runs", { statuses: ["completed"] }, 300],
  ["the runs of an id", { id: "order 77" }, 60],
  ["the forks of a run", { forkedFrom: idOf(77) }, 60],
  ["runs that wait for an op", { waitingFor: "charge" }, 300],
  ["runs that wait for a signal", { waitingFor: "receive:" }, 300],
  ["runs that are between two attempts", { retrying: true }, 800],
  ["runs that have waited for long", { waitingSince: 99_900 }, 900],
  ["runs that failed with an error, among those that did not complete", { error: "ECONNRESET" }, 400],
  ["runs that ended before a time", { endedBefore: 500_000 }, 300],
];

describe("lists of 20 walk an index and stop", () => {
  test.each(LISTS)("%s", async (_title, filter, most) => {
    const { statement, values } = listStatement(database.schema, { namespace: "default", limit: 20, ...filter });
    await expectFew(statement.text, values, most);
    const plan = await database.sql(`explain ${inline(statement.text, values)}`);
    const scans = plan.map((row) => row["QUERY PLAN"] as string).filter((line) => line.includes("Seq Scan"));
    expect(scans.filter((line) => !/Seq Scan on (?:lanes|workers)/.test(line))).toEqual([]);
  });

  test("runs that ended in a short time, and since long ago", async () => {
    const list = (filter: Partial<ListRunsParams>, byEnd: boolean) =>
      listStatement(database.schema, { namespace: "default", limit: 20, ...filter }, byEnd);
    const short = list({ endedAfter: 500_000, endedBefore: 500_100 }, true);
    await expectFew(short.statement.text, short.values, 99 + 400);
    const long = list({ endedAfter: 200_000 }, false);
    await expectFew(long.statement.text, long.values, 300);
    const count = countStatement(database.schema, { namespace: "default", endedAfter: 1, atMost: 1_000 });
    await expectFew(count.statement.text, count.values, 1_100);
  });

  test("what no index can find is looked for among open runs only", async () => {
    const { statement, values } = listStatement(database.schema, {
      ...{ namespace: "default", limit: 20 },
      waitingFor: "nowhere",
    });
    await expectFew(statement.text, values, 3 * WAITING);
  });

  test("counts stop where they are told", async () => {
    const filter = { namespace: "default", statuses: ["waiting"], atMost: 10 } as const;
    const { statement, values } = countStatement(database.schema, filter);
    const { inSequence, byIndex } = await reads(statement.text, values);
    expect(inSequence + byIndex).toBeLessThan(100);
  });

  test("a look for batches reads nothing where there are none", async () => {
    const namespace = "holdfast.batches/default";
    const filter = {
      namespace,
      statuses: ["pending", "running", "sleeping", "waiting", "compensating", "parked"],
    } as const;
    const { statement, values } = countStatement(database.schema, { ...filter, atMost: 1 });
    await expectFew(statement.text, values, 5);
  });

  test("attributes are found by their index", async () => {
    const filter = { namespace: "default", attributes: { n: 990 }, limit: 20 };
    const { statement, values } = listStatement(database.schema, filter);
    await expectFew(statement.text, values, (FINISHED / 1_000) * 10);
  });
});

/** EXPLAIN takes no parameters. */
function inline(text: string, values: readonly unknown[]): string {
  return text.replaceAll(/\$(\d+)/g, (_, n: string) => literal(values[Number(n) - 1]));
}

function literal(value: unknown): string {
  if (typeof value === "number") return String(value);
  if (Array.isArray(value)) return `array[${value.map(literal).join(",")}]`;
  return `'${String(value).replaceAll("'", "''")}'`;
}

test("runs that wait to begin are listed without reading past timers, nor past each other", async () => {
  await database.sql("begin");
  try {
    await database.sql(`with fresh as (insert into ${database.name("run_starts")} (run_id, created_at, lane_id, nth, namespace, id, input)
        select gen_random_uuid(), 2000000 + i / 3, 1, 0, 'default', 'new ' || i, '' from generate_series(1, 9000) i returning *)
      insert into ${database.name("runs")} (run_id, lane_id, epoch, status, created_at, available_at)
      select run_id, 1, 0, 'pending', created_at, created_at + case when run_id::text < '1' then 9000000 else 0 end from fresh`);
    await database.sql(`analyze ${database.name("runs")}, ${database.name("run_starts")}`);
    const all = `select run_id::text as id from ${database.name("runs")} where status = 'pending'`;
    const expected = (await database.sql(`${all} order by created_at desc, run_id desc`)).map(({ id }) => id);
    for (const statuses of [["pending"], ["pending", "waiting", "running"]] as const) {
      const list = { namespace: "default", limit: 20, statuses };
      const first = listStatement(database.schema, list);
      const page = (await database.sql(first.statement.text, [...first.values])).map((row) => row.run_id);
      expect(page).toEqual(expected.slice(0, 20));
      const before = { createdAt: 2_001_500, runId: idOf(0xffff) };
      for (const { statement, values } of [first, listStatement(database.schema, { ...list, before })]) {
        const { inSequence, byIndex } = await readsOf(database, statement.text, values);
        expect(inSequence + byIndex).toBeLessThan(400);
      }
    }
  } finally {
    await database.sql("rollback");
    await database.sql(`analyze ${database.name("runs")}, ${database.name("run_starts")}`);
  }
});

test("taking up parked runs reads what it takes, however many this code has parked itself", async () => {
  const [own, other] = ["a".repeat(32), "b".repeat(32)];
  const values = [worker, idOf(9), "default", ["default"], ["order"], ["1"], [own], 10, 36, null];
  await expectFew(call("hold_parked", 10), values, 10);
  // After all other tests: it changes what they read.
  const runs = database.name("runs");
  await database.sql(`update ${runs} set status = 'parked', parked_by = case when created_at <= 5 then '${other}' else '${own}' end
    where status = 'waiting' and created_at <= 2000`);
  await database.sql(`analyze ${runs}`);
  await expectFew(call("hold_parked", 10), values, 60);
});
