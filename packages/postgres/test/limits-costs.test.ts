/** What limits of queues cost: nothing where there are none, and for a claim not more with many runs in line than with one. */
import type { RunCommit, Transition } from "holdfast/adapter";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ServerCall, textFor } from "../src/database/server-call.ts";
import { CLAIM } from "../src/runs/claims.ts";
import { COMMIT, flushOf } from "../src/runs/commits.ts";
import { START, startingOf } from "../src/runs/starts.ts";
import { pagesOf, readsOf, recordsOf } from "./reads.ts";
import { aStart, claim, ERROR, firstCommit, idOf, LANE, newRun, register, start } from "./sample-runs.ts";
import { TestDatabase } from "./test-database.ts";

const MANY = 6_000;
const worker = idOf(1);
/** The limits that a queue has first. */
const FIRST = { revision: null, next: idOf(2) };
let database: TestDatabase;
let claims = 100;

beforeAll(async () => {
  database = await TestDatabase.create();
});

afterAll(() => database.drop());

const nextClaim = (): string => idOf(++claims);

const about = () => ({
  workerId: worker,
  claimId: nextClaim(),
  again: false,
  namespace: LANE.namespace,
  queues: [LANE.queue],
  handlers: [{ workflow: LANE.workflow, version: LANE.version }],
  limit: 10,
  solo: false,
});

/** What a claim reads that takes nothing. */
async function readOfClaim() {
  const text = textFor(CLAIM, database.schema);
  await database.sql(text, CLAIM.values(about()));
  const pages = await pagesOf(database, text, CLAIM.values(about()));
  await database.sql("begin");
  const { entries } = await readsOf(database, text, CLAIM.values(about()));
  await database.sql("commit");
  return { pages, entries };
}

const END: Transition = {
  type: "end",
  status: "completed",
  output: null,
  error: null,
  compensation: null,
  unlessBehind: true,
};

/** What the calls in the life of some runs read and write, in a queue without limits. */
async function costs(others: boolean) {
  const own = await TestDatabase.create();
  const { store } = await own.open();
  await register(store, worker, 3_600_000);
  const { namespace } = LANE;
  if (others) await store.queues.setIfRevision({ ...FIRST, namespace, queue: "other", limits: { concurrency: 1 } });
  const cost = async <T>(call: ServerCall<T>, given: T) => {
    const text = textFor(call, own.schema);
    await own.sql("begin");
    let records = Number.NaN;
    const { entries } = await readsOf(own, async () => {
      records = await recordsOf(own, text, call.values(given));
    });
    await own.sql("commit");
    return { entries, records };
  };
  const life = async (from: number) => {
    const numbers = [from, from + 1, from + 2];
    const starts = numbers.map((n) => aStart(newRun(n, { key: "a" })));
    const params = { starts, holdBy: null, replaceError: ERROR, bounded: true };
    const ended: Partial<RunCommit> = { workerId: worker, epoch: 1, commit: 0, transition: END };
    return {
      start: await cost(START, startingOf(params, false, false)),
      claim: await cost(CLAIM, about()),
      end: await cost(COMMIT, flushOf({ commits: numbers.map((n) => firstCommit(n, ended)) }, false, false)),
    };
  };
  // What only the first calls of a connection do is done.
  await life(10);
  const found = await life(20);
  await store.close();
  await own.drop();
  return found;
}

test("a queue without limits reads and writes the same whether another one has limits or none has", async () => {
  const alone = await costs(false);
  expect(alone.start.records).toBeGreaterThan(0);
  expect(await costs(true)).toEqual(alone);
});

test("a claim behind a full limit reads as much with thousands of runs in line as with one", async () => {
  const { store } = await database.open();
  await register(store, worker, 3_600_000);
  const { namespace, queue } = LANE;
  await store.queues.setIfRevision({
    ...FIRST,
    namespace,
    queue,
    limits: { concurrency: 1, perKey: { concurrency: 1 } },
  });
  await start(store, [newRun(1_000, { key: "a" }), newRun(1_001, { key: "b" })]);
  expect((await claim(store, worker, nextClaim())).runs).toHaveLength(1);
  const before = await readOfClaim();
  for (let i = 0; i < MANY; i += 500) {
    const keys = ["a", "b", `k${i}`];
    await start(
      store,
      Array.from({ length: 500 }, (_, n) => newRun(2_000 + i + n, { key: keys[n % 3] as string })),
    );
  }
  while ((await claim(store, worker, nextClaim())).nextDueAt !== null);
  await database.sql(`vacuum ${database.name("runs")}`);
  const [state] = await store.queues.list({ namespace, holdersMax: 1 });
  expect(state?.runs).toMatchObject({ waiting: MANY + 1, running: 1 });
  const after = await readOfClaim();
  expect(after.entries).toBeLessThanOrEqual(before.entries + 2);
  expect(after.pages).toBeLessThanOrEqual(before.pages + 10);
  await store.close();
});
