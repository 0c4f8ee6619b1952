/** What limits of queues cost: nothing where there are none, and for a claim not more with many runs in line than with one. */
import { afterAll, beforeAll, expect, test } from "vitest";
import { textFor } from "../src/database/server-call.ts";
import { CLAIM } from "../src/runs/claims.ts";
import { pagesOf, readsOf } from "./reads.ts";
import { claim, idOf, LANE, newRun, register, start } from "./sample-runs.ts";
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

/** What a claim reads that takes nothing. */
async function readOfClaim() {
  const handlers = [{ workflow: LANE.workflow, version: LANE.version }];
  const about = () => ({
    workerId: worker,
    claimId: nextClaim(),
    again: false,
    namespace: LANE.namespace,
    queues: [LANE.queue],
    handlers,
    limit: 10,
    solo: false,
  });
  const text = textFor(CLAIM, database.schema);
  await database.sql(text, CLAIM.values(about()));
  const pages = await pagesOf(database, text, CLAIM.values(about()));
  await database.sql("begin");
  const { entries } = await readsOf(database, text, CLAIM.values(about()));
  await database.sql("commit");
  return { pages, entries };
}

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
