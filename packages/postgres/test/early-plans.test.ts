/**
 * A server keeps a connection's plans, even those made while the tables were empty and had no statistics. Until statistics
 * are gathered, those plans serve tables that have grown, so they must be right from the beginning.
 */
import type { DeliverMessage, PurgeRunsParams, RunCommit, Transition } from "holdfast/adapter";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PLANNER_SETTINGS } from "../src/database/driver.ts";
import { type ServerCall, textFor } from "../src/database/server-call.ts";
import { DELIVER, deliveryOf } from "../src/inbox.ts";
import { CLAIM } from "../src/runs/claims.ts";
import { COMMIT, flushOf } from "../src/runs/commits.ts";
import { READ, READ_CONTINUED } from "../src/runs/listing.ts";
import { PURGE } from "../src/runs/purges.ts";
import { START, startingOf } from "../src/runs/starts.ts";
import { CLAIM_TASKS } from "../src/tasks/claims.ts";
import { FINISH_TASKS, finishingOf } from "../src/tasks/finishes.ts";
import { LIST_TASKS, READ_TASKS, TASK_POSITION } from "../src/tasks/listing.ts";
import { BEAT_TASKS, CANCEL_TASKS, EXPIRED_TASKS } from "../src/tasks/reports.ts";
import { readsOf } from "./reads.ts";
import { aStart, ERROR, event, firstCommit, HOLD, idOf, LANE, newRun, register } from "./sample-runs.ts";
import { newTask, taskEvent } from "./sample-tasks.ts";
import { TestDatabase } from "./test-database.ts";

const RUNS = 20;
const OTHERS = 10_000;
/** Index entries that a call may read for each of its runs; a wrong plan reads thousands. */
const ENTRIES_PER_RUN_MAX = 50;
const worker = idOf(1);
const handlers = [{ workflow: LANE.workflow, version: LANE.version }];
const where = { namespace: LANE.namespace, queues: [LANE.queue], handlers };
const WAIT: Transition = { type: "suspend", status: "waiting", availableAt: null, waitingFor: ["go"] };
const END: Transition = {
  type: "end",
  status: "completed",
  output: new Uint8Array([48]),
  error: null,
  compensation: null,
  unlessBehind: true,
};
const PURGE_COMPLETED: PurgeRunsParams = {
  namespace: LANE.namespace,
  endedBefore: Number.MAX_SAFE_INTEGER,
  statuses: ["completed"],
  limit: RUNS,
};
let database: TestDatabase;

beforeAll(async () => {
  database = await TestDatabase.create();
  const { store } = await database.open();
  await register(store, worker);
  await store.close();
  for (const [name, value] of Object.entries(PLANNER_SETTINGS)) await database.sql(`set ${name} = ${value}`);
  const others = ["tasks", "task_lanes", "run_attributes", "lanes", "versions"];
  const tables = ["runs", "run_starts", "events", "inbox", ...others];
  for (const table of tables)
    await database.sql(`alter table ${database.name(table)} set (autovacuum_enabled = false)`);
});

afterAll(() => database.drop());

interface Made {
  readonly call: string;
  readonly text: string;
  readonly values: unknown[];
}

function made<T>(call: ServerCall<T>, about: T): Made {
  return { call: call.name, text: textFor(call, database.schema), values: call.values(about) };
}

function numbersFrom(from: number): readonly number[] {
  return Array.from({ length: RUNS }, (_, i) => from + i);
}

function commitsOf(numbers: readonly number[], fields: Partial<RunCommit>) {
  return { commits: numbers.map((n) => firstCommit(n, { workerId: worker, ...fields })) };
}

/** The calls in the life of some runs, from start to end. */
function lives(from: number): readonly Made[] {
  const numbers = numbersFrom(from);
  const commits = (commit: number, epoch: number, consumed: number, transition: Transition) =>
    commitsOf(numbers, { epoch, commit, consumed, events: [event(commit + 1)], transition });
  const claim = { workerId: worker, again: false, ...where, limit: RUNS, solo: false };
  const starts = numbers.map((n) => aStart(newRun(n), { pick: 0.5 }));
  const messages = numbers.map((n): DeliverMessage => {
    const to = { namespace: LANE.namespace, id: newRun(n).id };
    return { to, kind: "signal", name: "go", messageId: `message ${n}`, payload: new Uint8Array(0) };
  });
  return [
    made(START, startingOf({ starts, holdBy: null, replaceError: ERROR }, false, false)),
    made(CLAIM, { ...claim, claimId: idOf(from) }),
    made(COMMIT, flushOf(commits(0, 1, 0, HOLD), false, false)),
    made(COMMIT, flushOf(commits(1, 1, 0, WAIT), false, false)),
    made(DELIVER, deliveryOf({ messages, inboxMax: 10 }, false)),
    made(CLAIM, { ...claim, claimId: idOf(from + 1) }),
    made(READ, { refs: numbers.map((n) => ({ namespace: LANE.namespace, runId: idOf(n) })) }),
    made(READ, { refs: numbers.map((n) => ({ namespace: LANE.namespace, id: newRun(n).id })) }),
    made(READ_CONTINUED, { refs: numbers.map((n) => ({ namespace: LANE.namespace, runId: idOf(n) })) }),
    made(COMMIT, flushOf(commits(2, 2, 1, END), false, false)),
    made(PURGE, PURGE_COMPLETED),
  ];
}

/** The calls in the life of some tasks: for each run one that its worker holds, one that is claimed, and an external one. */
function taskLives(from: number): readonly Made[] {
  const numbers = numbersFrom(from);
  const keys = (seq: number) => numbers.map((n) => ({ namespace: "default", runId: idOf(n), seq, epoch: 1 }));
  const by = { type: "holder", workerId: worker } as const;
  const holdBy = { workerId: worker, claimId: idOf(from) };
  const tasks = [newTask(1, { holdBy }), newTask(2, { heartbeatMs: 1_000 }), newTask(3, { external: true })];
  const schedule = { events: tasks.map((task) => taskEvent(task)), tasks, transition: HOLD };
  const settle = { commit: 1, consumed: 1, settled: [1], results: [1], dropTasks: true, transition: END };
  const claim = { workerId: worker, claimId: idOf(from), again: false, namespace: "default", solo: false };
  const finishes = keys(2).map((key) => {
    return { ...key, by, result: { type: "completed", payload: new Uint8Array(0) } as const };
  });
  const beats = keys(2).map((key) => ({ ...key, by, details: null }));
  const list = { namespace: "default", limit: RUNS };
  return [
    made(
      START,
      startingOf({ starts: numbers.map((n) => aStart(newRun(n))), holdBy: null, replaceError: ERROR }, false, false),
    ),
    made(CLAIM, { ...claim, ...where, limit: RUNS }),
    made(COMMIT, flushOf(commitsOf(numbers, schedule), false, false)),
    made(TASK_POSITION, { namespace: "default", runId: idOf(from), seq: 2, atMost: 10 }),
    made(CLAIM_TASKS, { ...claim, queues: ["default"], names: ["mail"], labels: [], limit: RUNS }),
    made(BEAT_TASKS, { beats, keys: beats, skip: false }),
    made(FINISH_TASKS, finishingOf({ finishes }, false)),
    made(CANCEL_TASKS, { namespace: "default", tasks: keys(3), keys: keys(3), notify: false }),
    made(READ_TASKS, { namespace: "default", keys: keys(3) }),
    made(EXPIRED_TASKS, { limit: RUNS }),
    made(LIST_TASKS, list),
    made(LIST_TASKS, { ...list, status: "dead" }),
    made(LIST_TASKS, { ...list, runId: idOf(from) }),
    made(COMMIT, flushOf(commitsOf(numbers, { ...settle, events: [event(4)] }), true, false)),
    made(PURGE, PURGE_COMPLETED),
  ];
}

/** Other runs: half have ended, half wait; each has had a message and has a task. */
async function grow(): Promise<void> {
  const name = (table: string): string => database.name(table);
  await database.sql(`create temp table sample as select i, ('01890000-0000-7000-9000-' || lpad(to_hex(i), 12, '0'))::uuid as run_id,
    i % 2 = 0 as ended, (select lane_id from ${name("lanes")} limit 1) as lane_id from generate_series(1, ${OTHERS}) i`);
  await database.sql(`insert into ${name("run_starts")} (run_id, chain_id, created_at, lane_id, nth, namespace, id, seed, input)
    select run_id, run_id, i, lane_id, 0, 'default', 'other ' || i, 's', '{}' from sample`);
  await database.sql(`insert into ${name("runs")} (run_id, lane_id, epoch, status, created_at, available_at, ended_at, held_by)
    select run_id, lane_id, 1, case when ended then 'failed' else 'running' end::${name("run_status")}, i, null,
           case when ended then i end, case when not ended then '${worker}'::uuid end from sample`);
  await database.sql(`insert into ${name("inbox")} (run_id, chain_id, at, number, kind, name, message_id, payload)
    select run_id, run_id, 1, 1, 'signal', 'go', 'other ' || i, '' from sample`);
  await database.sql(`insert into ${name("events")} (run_no, at, seq, type, op)
    select run_no, 1, 1, 9, 'step' from ${name("runs")}`);
  await database.sql(`insert into ${name("tasks")} (run_id, seq, input_seq, lane_id, epoch, op, secret, created_at, fail_on_crash,
      external, status, held_by, available_at, expires_at)
    select run_id, 1, 1, (select lane_id from ${name("task_lanes")} limit 1), 1, 'mail', run_id, 1, false, false,
           (array['due', 'held', 'external', 'dead'])[i % 4 + 1]::${name("task_status")},
           case when i % 4 = 1 then '${worker}'::uuid end, case when i % 4 = 0 then 4102444800000 end,
           case when i % 4 = 2 then 4102444800000 end from sample`);
}

test("plans that were made when the database was empty are right when it has grown", async () => {
  for (const { text, values } of [...lives(1_000), ...taskLives(1_500)]) await database.sql(text, values);
  await grow();
  for (const { call, text, values } of [...lives(2_000), ...taskLives(2_500)]) {
    await database.sql("begin");
    const { inSequence, entries } = await readsOf(database, text, values);
    await database.sql("commit");
    expect(inSequence, call).toBe(0);
    expect(entries / RUNS, call).toBeLessThanOrEqual(ENTRIES_PER_RUN_MAX);
  }
});
