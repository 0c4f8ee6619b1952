/**
 * What the calls read that concern several runs: as in early-plans.test.ts, with plans that were made when the tables were empty.
 * One of the other runs has ten thousand children and as many watchers, and all of them owe something.
 */
import type { Debt, DeliverMessage, StartRun } from "holdfast/adapter";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ANSWER_ASKS, FORGET_ASKS, PUT_ASKS, READ_ASKS, TAKE_ASKS } from "../src/asks.ts";
import { PLANNER_SETTINGS } from "../src/database/driver.ts";
import { type ServerCall, textFor } from "../src/database/server-call.ts";
import { PAY_DEBTS, paymentOf, READ_DEBTS } from "../src/debts/debts.ts";
import { WATCH } from "../src/debts/watches.ts";
import { DELIVER, deliveryOf } from "../src/inbox.ts";
import { READ_REPLIES } from "../src/replies.ts";
import { COMMIT, flushOf } from "../src/runs/commits.ts";
import { listStatement } from "../src/runs/listing.ts";
import { PURGE } from "../src/runs/purges.ts";
import { START, startingOf } from "../src/runs/starts.ts";
import { pagesOf, readsOf } from "./reads.ts";
import { END, endOf, parentOf, ref } from "./sample-children.ts";
import { aStart, ERROR, event, firstCommit, HOLD, idOf, newRun, register } from "./sample-runs.ts";
import { TestDatabase } from "./test-database.ts";

const RUNS = 20;
const OTHERS = 10_000;
const ENTRIES_PER_RUN_MAX = 60;
const PAGES_PER_CHILD_MAX = 80;
const worker = idOf(1);
const holdBy = { workerId: worker, claimId: idOf(2) };
const NOTHING = new Uint8Array(0);
let database: TestDatabase;

beforeAll(async () => {
  database = await TestDatabase.create();
  const { store } = await database.open();
  await register(store, worker);
  await store.close();
  for (const [name, value] of Object.entries(PLANNER_SETTINGS)) await database.sql(`set ${name} = ${value}`);
  const tables = ["runs", "run_starts", "events", "inbox", "children", "debts", "watches", "replies", "asks"];
  for (const table of tables)
    await database.sql(`alter table ${database.name(table)} set (autovacuum_enabled = false)`);
});

afterAll(() => database.drop());

interface Made {
  readonly call: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

function made<T>(call: ServerCall<T>, about: T): Made {
  return { call: call.name, text: textFor(call, database.schema), values: call.values(about) };
}

function started(starts: readonly StartRun[]): Made {
  return made(START, startingOf({ starts, holdBy, replaceError: ERROR, inboxMax: 10 }, false, false));
}

function list(params: object, call: string): Made {
  const { statement, values } = listStatement(database.schema, { namespace: "default", limit: RUNS, ...params });
  return { call, text: statement.text, values };
}

/** A parent, its children and their conversations, from start to purge. */
function lives(from: number): readonly Made[] {
  const numbers = Array.from({ length: RUNS }, (_, i) => from + 1 + i);
  const given = numbers.slice(0, RUNS / 2);
  const update = { kind: "update", name: "set", messageId: "u", payload: NOTHING } as const;
  const children = numbers.map((n) => aStart(newRun(n), { hold: true, parent: parentOf(from), messages: [update] }));
  const again = numbers.map((n) =>
    aStart(newRun(n + 100, { id: newRun(n).id }), { ifRunning: "return", messages: [update] }),
  );
  const results = numbers.map((n): DeliverMessage => {
    return { to: ref(from), kind: "child_completed", name: "child", messageId: `end ${n}`, payload: NOTHING };
  });
  const watches = numbers.map((n) => ({ run: ref(n), by: { ...ref(from), op: `watch ${n}` } }));
  const asked = numbers.map((n) => ({
    namespace: "default",
    askId: idOf(n),
    runId: idOf(n),
    workflow: "order",
    version: "1",
  }));
  const asks = asked.map((ask) => ({ ...ask, name: "total", payload: NOTHING, ttlMs: 60_000 }));
  const answers = asked.map((ask) => ({ ...ask, answer: { type: "answered", payload: NOTHING } as const }));
  const flush = (commits: Parameters<typeof flushOf>[0]["commits"], skip = false) =>
    made(COMMIT, flushOf({ commits }, skip, false));
  const replies = [{ number: 1, seq: 1 }];
  const runs = [from, ...numbers].map(ref);
  return [
    started([aStart(newRun(from), { hold: true })]),
    started(children),
    started(again),
    flush([firstCommit(from, { events: [], closes: given.map((n) => idOf(n)), transition: HOLD })]),
    flush(numbers.map((n) => firstCommit(n, { consumed: 1, replies, transition: HOLD }))),
    made(READ_REPLIES, { updates: numbers.map((n) => ({ run: ref(n), messageId: "u" })), refs: numbers.map(ref) }),
    made(WATCH, { watches, refs: numbers.map(ref) }),
    list({ parent: idOf(from) }, "list of children"),
    list({ parent: idOf(from), statuses: ["running"] }, "list of running children"),
    made(READ_DEBTS, { runs, limit: RUNS }),
    flush(given.map((n) => endOf(n, { commit: 1, consumed: 1, events: [event(2)] }))),
    made(DELIVER, deliveryOf({ messages: results, inboxMax: 10 }, false)),
    flush(
      [firstCommit(from, { commit: 1, events: [event(1)], consumed: RUNS, results: [1, 2], transition: END })],
      true,
    ),
    made(READ_DEBTS, { runs, limit: RUNS * 2 }),
    made(PUT_ASKS, { asks, notify: false }),
    made(TAKE_ASKS, { namespace: "default", handlers: [{ workflow: "order", version: "1" }], limit: RUNS }),
    made(ANSWER_ASKS, { answers, notify: false }),
    made(READ_ASKS, { asks: asked }),
    made(FORGET_ASKS, { asks: asked }),
  ];
}

/** All that these runs owe is paid, and those that have ended are purged. */
async function payment(from: number): Promise<readonly Made[]> {
  const runs = Array.from({ length: RUNS + 1 }, (_, i) => ref(from + i));
  const { text, values } = made(READ_DEBTS, { runs, limit: 100 });
  const debts = (await database.sql(text, [...values])) as unknown as (Pick<Debt, "kind"> & {
    debt_no: string;
    run_id: string;
    watchers: readonly { namespace: string; runId: string; op: string }[] | null;
    children: readonly { runId: string }[] | null;
  })[];
  const paid = debts.map(({ debt_no, run_id, watchers, children }) => {
    const about = { namespace: "default", runId: run_id, debtNo: Number(debt_no) };
    return { ...about, watchers: watchers ?? [], children: (children ?? []).map(({ runId }) => runId) };
  });
  expect(paid).toHaveLength(RUNS / 2 + 1);
  const purge = {
    namespace: "default",
    endedBefore: Number.MAX_SAFE_INTEGER,
    statuses: ["completed"],
    limit: RUNS,
  } as const;
  return [made(PAY_DEBTS, paymentOf({ debts: paid })), made(PURGE, purge)];
}

/** Other runs: open children of one parent that has ended. All of them owe results; each has had a message, and watches the parent. */
async function grow(): Promise<void> {
  const name = (table: string): string => database.name(table);
  const parent = "01890000-0000-7000-9000-000000000000";
  await database.sql(`create temp table sample as select i, ('01890000-0000-7000-9000-' || lpad(to_hex(i), 12, '0'))::uuid as run_id,
    (select lane_id from ${name("lanes")} limit 1) as lane_id from generate_series(0, ${OTHERS}) i`);
  await database.sql(`insert into ${name("run_starts")} (run_id, chain_id, created_at, lane_id, nth, namespace, id, seed, input,
      parent_namespace, parent_run_id, parent_id, parent_op, root_run_id, root_id, depth)
    select run_id, run_id, i, lane_id, 0, 'default', 'other ' || i, 's', '{}', 'default', '${parent}', 'p', 'op', '${parent}', 'p', 1 from sample`);
  // The parent has ended; the children, which are to be closed, have not.
  await database.sql(`insert into ${name("runs")} (run_id, lane_id, epoch, status, created_at, ended_at, awaited, owes)
    select run_id, lane_id, 1, case i when 0 then 'failed' else 'waiting' end::${name("run_status")}, i, case i when 0 then 1 end, true, true
      from sample`);
  await database.sql(`insert into ${name("inbox")} (run_id, chain_id, at, number, kind, name, message_id, payload)
    select run_id, case when i % 2 = 0 then run_id end, 1, 1, 'update', 'go', 'other ' || i, '' from sample`);
  await database.sql(`insert into ${name("children")} (parent_run_id, run_id, created_at, namespace, id, policy, closed)
    select '${parent}', run_id, i, 'default', 'other ' || i, 'cancel', false from sample`);
  await database.sql(`insert into ${name("watches")} (chain_id, run_id, op, namespace)
    select '${parent}', run_id, 'op', 'default' from sample`);
  await database.sql(`insert into ${name("debts")} (run_id, kind, at) select run_id, 'result', 1 from sample`);
  await database.sql(`insert into ${name("asks")} (ask_id, run_id, gone_at, open_at, namespace, workflow, version, name, payload)
    select run_id, run_id, 4102444800000, 1, 'others', 'order', '1', 'total', '' from sample`);
  await database.sql(`insert into ${name("debts")} (run_id, kind, at) values ('${parent}', 'close', 1)`);
}

test("plans that were made when nobody had children are right when one run has ten thousand", async () => {
  for (const { text, values } of lives(1_000)) await database.sql(text, [...values]);
  for (const { text, values } of await payment(1_000)) await database.sql(text, [...values]);
  await grow();
  for (const step of [() => Promise.resolve(lives(2_000)), () => payment(2_000)])
    for (const { call, text, values } of await step()) {
      await database.sql("begin");
      const { inSequence, entries } = await readsOf(database, text, values);
      await database.sql("commit");
      expect([call, inSequence]).toEqual([call, 0]);
      expect(entries / RUNS, call).toBeLessThanOrEqual(ENTRIES_PER_RUN_MAX);
    }
});

test("the oldest debts, the children to close and the lists of a large family are read in pages", async () => {
  const parent = "01890000-0000-7000-9000-000000000000";
  const pages: readonly (readonly [Made, number])[] = [
    [list({ parent }, "first page"), 200],
    [list({ parent, before: { createdAt: 5_000, runId: idOf(1) } }, "page in the middle"), 200],
    [made(READ_DEBTS, { limit: 5 }), 600],
    [made(READ_DEBTS, { runs: [{ namespace: "default", runId: parent }], limit: 5 }), 2_000],
  ];
  for (const [{ call, text, values }, most] of pages) {
    await database.sql("begin");
    const { inSequence, entries } = await readsOf(database, text, values);
    await database.sql("commit");
    expect([call, inSequence]).toEqual([call, 0]);
    expect(entries, call).toBeLessThan(most);
  }
  const { text, values } = made(READ_DEBTS, { runs: [{ namespace: "default", runId: parent }], limit: 5 });
  const debts = (await database.sql(text, [...values])) as unknown as readonly {
    readonly kind: string;
    readonly children: readonly unknown[] | null;
  }[];
  expect(debts.find(({ kind }) => kind === "close")?.children).toHaveLength(500);
});

test("the start of a child reads no more pages because others are open", async () => {
  const children = Array.from({ length: RUNS }, (_, i) => aStart(newRun(3_001 + i), { parent: parentOf(3_000) }));
  const parent = started([aStart(newRun(3_000), { hold: true })]);
  await database.sql(parent.text, [...parent.values]);
  const { text, values } = started(children);
  expect((await pagesOf(database, text, values)) / RUNS).toBeLessThanOrEqual(PAGES_PER_CHILD_MAX);
});
