/**
 * Plans of queues with limits that were made when their tables were empty, and known to be: a lookup of one run that goes through any other
 * index than its own then costs the same, and reads everything in line once that has grown.
 */
import { ADMITTED_MAX, type RunCommit, type Transition } from "holdfast/adapter";
import { afterAll, beforeAll, expect, test } from "vitest";
import { PLANNER_SETTINGS } from "../src/database/driver.ts";
import { type ServerCall, textFor } from "../src/database/server-call.ts";
import { CLAIM } from "../src/runs/claims.ts";
import { COMMIT, flushOf } from "../src/runs/commits.ts";
import { START, startingOf } from "../src/runs/starts.ts";
import { pagesOf } from "./reads.ts";
import { aStart, ERROR, event, firstCommit, idOf, LANE, newRun, register } from "./sample-runs.ts";
import { TestDatabase } from "./test-database.ts";

/** As many as a claim gives places to. */
const RUNS = ADMITTED_MAX;
const IN_LINE = 20_000;
/** So many pages more, for each run, when others wait. A wrong plan reads all of their index: hundreds. */
const MORE_PAGES_MAX = 20;
const worker = idOf(1);
const { namespace, queue, workflow, version } = LANE;
const END: Transition = {
  type: "end",
  status: "completed",
  output: new Uint8Array([48]),
  error: null,
  compensation: null,
  unlessBehind: true,
};
const TABLES = ["runs", "run_starts", "lines", "places", "limited", "limited_keys"];
/** The limits that a queue has first. */
const FIRST = { revision: null, next: idOf(2) };
let database: TestDatabase;

beforeAll(async () => {
  database = await TestDatabase.create();
  const { store } = await database.open();
  await register(store, worker);
  await store.queues.setIfRevision({ ...FIRST, namespace, queue, limits: { concurrency: RUNS } });
  await store.close();
  for (const [name, value] of Object.entries(PLANNER_SETTINGS)) await database.sql(`set ${name} = ${value}`);
  for (const table of TABLES)
    await database.sql(`alter table ${database.name(table)} set (autovacuum_enabled = false)`);
});

afterAll(() => database.drop());

/** The calls in the life of some runs, each with the pages that it reads for each of them. */
async function lives(from: number): Promise<Readonly<Record<string, number>>> {
  const numbers = Array.from({ length: RUNS }, (_, i) => from + i);
  const reads = async <T>(call: ServerCall<T>, about: T): Promise<number> => {
    await database.sql("begin");
    const pages = await pagesOf(database, textFor(call, database.schema), call.values(about));
    await database.sql("commit");
    return pages / RUNS;
  };
  const starts = numbers.map((n) => aStart(newRun(n, { key: "b" })));
  const where = { namespace, queues: [queue], handlers: [{ workflow, version }] };
  const end: Partial<RunCommit> = { workerId: worker, epoch: 1, commit: 0, events: [event(1)], transition: END };
  return {
    start: await reads(START, startingOf({ starts, holdBy: null, replaceError: ERROR }, false, false)),
    claim: await reads(CLAIM, {
      workerId: worker,
      claimId: idOf(from),
      again: false,
      ...where,
      limit: RUNS,
      solo: false,
    }),
    end: await reads(COMMIT, flushOf({ commits: numbers.map((n) => firstCommit(n, end)) }, false, false)),
  };
}

/** The fewer pages of two: when others create and drop tables, a connection reads parts of the catalog anew in the middle of a call. */
async function twice(from: number): Promise<Readonly<Record<string, number>>> {
  const [first, second] = [await lives(from), await lives(from + 100)];
  return Object.fromEntries(
    Object.entries(first).map(([call, pages]) => [call, Math.min(pages, second[call] as number)]),
  );
}

/** Of another key: so many are in line. */
async function grow(count: number): Promise<void> {
  const name = (table: string): string => database.name(table);
  await database.sql(`drop table if exists sample; create temp table sample as
    select gen_random_uuid() as run_id, i, (select lane_id from ${name("lanes")} limit 1) as lane_id from generate_series(1, ${count}) i`);
  await database.sql(`insert into ${name("run_starts")} (run_id, chain_id, created_at, lane_id, nth, namespace, id, seed, input, key)
    select run_id, run_id, i, lane_id, 0, 'default', 'other ' || run_id, 's', '{}', 'a' from sample`);
  await database.sql(`insert into ${name("runs")} (run_id, lane_id, epoch, status, created_at, available_at)
    select run_id, lane_id, 0, 'pending', i, null from sample`);
  await database.sql(`insert into ${name("lines")} (limited_id, key, lane_id, at, run_no, run_id, seq)
    select (select limited_id from ${name("limited")} where kind = 'runs'), 'a', lane_id, i, i, run_id, 0 from sample`);
}

test("plans of claims and ends that were made for empty lines are right for long ones", async () => {
  await lives(1_000);
  await grow(2);
  for (const table of TABLES) await database.sql(`vacuum (analyze) ${database.name(table)}`);
  const before = await twice(1_100);
  await grow(IN_LINE);
  const after = await twice(2_000);
  for (const [call, pages] of Object.entries(after))
    expect(pages - (before[call] as number), call).toBeLessThanOrEqual(MORE_PAGES_MAX);
});
