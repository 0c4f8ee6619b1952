/**
 * A server keeps a connection's plans, even those made while the tables were empty and had no statistics. Until statistics
 * are gathered, those plans serve tables that have grown, so they must be right from the beginning.
 */
import type { DeliverMessage, RunCommit, Transition } from "holdfast/adapter";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerCall, textFor } from "../src/database/server-call.ts";
import { DELIVER, deliveryOf } from "../src/inbox.ts";
import { CLAIM } from "../src/runs/claims.ts";
import { COMMIT, flushOf } from "../src/runs/commits.ts";
import { PURGE } from "../src/runs/retention.ts";
import { START, startingOf } from "../src/runs/starts.ts";
import { readsOf } from "./reads.ts";
import { aStart, ERROR, event, HOLD, idOf, LANE, newRun, register } from "./sample-runs.ts";
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
let database: TestDatabase;

beforeAll(async () => {
  database = await TestDatabase.create();
  const { store } = await database.open();
  await register(store, worker);
  await store.close();
  const tables = ["runs", "run_starts", "open_ids", "events", "inbox", "run_attributes", "lanes", "versions"];
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

/** The calls in the life of some runs, from start to end. */
function lives(from: number): readonly Made[] {
  const numbers = Array.from({ length: RUNS }, (_, i) => from + i);
  const commits = (commit: number, epoch: number, consumed: number, transition: Transition) => ({
    commits: numbers.map((n): RunCommit => {
      const nothing = { attributes: null, clearDeadline: false } as const;
      return {
        namespace: "default",
        runId: idOf(n),
        workerId: worker,
        epoch,
        commit,
        consumed,
        events: [event(commit + 1)],
        ...nothing,
        transition,
      };
    }),
  });
  const claim = { workerId: worker, again: false, ...where, limit: RUNS, solo: false };
  const starts = numbers.map((n) => aStart(newRun(n), { pick: 0.5 }));
  const messages = numbers.map((n): DeliverMessage => {
    const to = { namespace: LANE.namespace, id: newRun(n).id };
    return { to, kind: "signal", name: "go", messageId: `message ${n}`, payload: new Uint8Array(0) };
  });
  const statuses = ["completed"] as const;
  const purge = { namespace: LANE.namespace, endedBefore: Number.MAX_SAFE_INTEGER, statuses, limit: RUNS };
  return [
    made(START, startingOf({ starts, holdBy: null, replaceError: ERROR }, false, false)),
    made(CLAIM, { ...claim, claimId: idOf(from) }),
    made(COMMIT, flushOf(commits(0, 1, 0, HOLD), false, false)),
    made(COMMIT, flushOf(commits(1, 1, 0, WAIT), false, false)),
    made(DELIVER, deliveryOf({ messages, inboxMax: 10 }, false)),
    made(CLAIM, { ...claim, claimId: idOf(from + 1) }),
    made(COMMIT, flushOf(commits(2, 2, 1, END), false, false)),
    made(PURGE, purge),
  ];
}

/** Other runs: half have ended, half wait; each has had a message. */
async function grow(): Promise<void> {
  const name = (table: string): string => database.name(table);
  await database.sql(`create temp table sample as select i, ('01890000-0000-7000-9000-' || lpad(to_hex(i), 12, '0'))::uuid as run_id,
    i % 2 = 0 as ended, (select lane_id from ${name("lanes")} limit 1) as lane_id from generate_series(1, ${OTHERS}) i`);
  await database.sql(`insert into ${name("run_starts")} (run_id, chain_id, created_at, lane_id, namespace, id, seed, input)
    select run_id, run_id, i, lane_id, 'default', 'other ' || i, 's', '{}' from sample`);
  await database.sql(`insert into ${name("runs")} (run_id, lane_id, epoch, status, created_at, available_at, ended_at, held_by)
    select run_id, lane_id, 1, case when ended then 'failed' else 'running' end::${name("run_status")}, i, null,
           case when ended then i end, case when not ended then '${worker}'::uuid end from sample`);
  await database.sql(`insert into ${name("open_ids")} (namespace, id, created_at, run_id)
    select 'default', 'other ' || i, i, run_id from sample where not ended`);
  await database.sql(`insert into ${name("inbox")} (run_id, chain_id, at, number, kind, name, message_id, payload)
    select run_id, run_id, 1, 1, 'signal', 'go', 'other ' || i, '' from sample`);
  await database.sql(`insert into ${name("events")} (run_no, at, seq, type, op)
    select run_no, 1, 1, 9, 'step' from ${name("runs")}`);
}

test("plans that were made when the database was empty are right when it has grown", async () => {
  for (const { text, values } of lives(1_000)) await database.sql(text, values);
  await grow();
  for (const { call, text, values } of lives(2_000)) {
    await database.sql("begin");
    const { inSequence, entries } = await readsOf(database, text, values);
    await database.sql("commit");
    expect(inSequence, call).toBe(0);
    expect(entries / RUNS, call).toBeLessThanOrEqual(ENTRIES_PER_RUN_MAX);
  }
});
