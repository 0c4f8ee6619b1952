/**
 * What runs cost that have nothing to do with others: their calls look at no table of conversations, and write as many bytes
 * of WAL as they did before there were any. The server counts both, per connection.
 */
import type { RunCommit } from "holdfast/adapter";
import { afterAll, beforeAll, expect, test } from "vitest";
import { canStartOwnServer, type OwnServer, startOwnServer } from "../../../scripts/test-servers.mjs";
import { type ServerCall, textFor } from "../src/database/server-call.ts";
import { DELIVER, deliveryOf } from "../src/inbox.ts";
import { CLAIM } from "../src/runs/claims.ts";
import { COMMIT, flushOf } from "../src/runs/commits.ts";
import { START, startingOf } from "../src/runs/starts.ts";
import { aStart, ERROR, event, firstCommit, HOLD, idOf, LANE, newRun, register, start } from "./sample-runs.ts";
import { TestDatabase } from "./test-database.ts";

const RUNS = 500;
const PAGE_BYTES = 8_192;
/** And of queues with limits. */
const LIMITS = ["limited", "limited_keys", "lines", "places", "queue_revisions", "debounces"];
const worker = idOf(1);
const NUMBERS = Array.from({ length: RUNS }, (_, i) => 1_000 + i);
let own: OwnServer | undefined;
let database: TestDatabase;

// On a server that it shares, another test's open transaction, in whatever database, keeps dead rows on their pages: then
// fewer updates fit beside them, and more entries of indexes are written.
beforeAll(async () => {
  own = canStartOwnServer() ? await startOwnServer({ full_page_writes: "off" }) : undefined;
  database = await TestDatabase.create(own?.url);
  const { store } = await database.open();
  await register(store, worker);
  // The lane: whoever creates one looks whether its queue has limits.
  await start(store, [newRun(1, { startDelayMs: 3_600_000 })]);
  await store.close();
});

afterAll(async () => {
  await database.drop();
  own?.stop();
});

function commits(fields: Partial<RunCommit>) {
  return flushOf({ commits: NUMBERS.map((n) => firstCommit(n, { workerId: worker, ...fields })) }, false, false);
}

/** Bytes of WAL per run, in a transaction that touches no table of conversations. */
async function walOf<T>(call: ServerCall<T>, about: T): Promise<number> {
  await database.sql("begin");
  const [row] = await database.sql(
    `explain (analyze, wal, timing off, format json) ${textFor(call, database.schema)}`,
    call.values(about),
  );
  expect([call.name, await touched()]).toEqual([call.name, 0]);
  await database.sql("commit");
  const plans = row?.["QUERY PLAN"] as readonly { readonly Plan: Readonly<Record<string, number>> }[];
  const wal = plans[0]?.Plan ?? {};
  // Images of whole pages come after a checkpoint, whatever the call does.
  return ((wal["WAL Bytes"] as number) - (wal["WAL FPI"] as number) * PAGE_BYTES) / RUNS;
}

/** How often the tables of conversations were searched in this transaction, by index or from end to end, and written to. */
async function touched(): Promise<unknown> {
  const [row] = await database.sql(
    `select coalesce(sum(seq_scan + coalesce(idx_scan, 0) + n_tup_ins + n_tup_upd + n_tup_del), 0)::int as times
       from pg_stat_xact_user_tables where schemaname = $1 and relname = any ($2)`,
    [database.schema, ["children", "debts", "locks", "watches", "replies", "namespaces", "asks", "forks", ...LIMITS]],
  );
  return row?.times;
}

test("starts, claims, steps, messages and ends of plain runs write no byte more, and look at nothing that is about others", async () => {
  const claim = { workerId: worker, claimId: idOf(2), again: false, solo: false, limit: RUNS, queues: [LANE.queue] };
  const handlers = [{ workflow: LANE.workflow, version: LANE.version }];
  const signal = { kind: "signal", name: "go", payload: new Uint8Array(30) } as const;
  const messages = NUMBERS.map((n) => {
    return { to: { namespace: "default", id: newRun(n).id }, messageId: `m${n}`, ...signal };
  });
  const ended = { status: "completed", output: new Uint8Array(30), error: null, compensation: null } as const;
  const end = { type: "end", ...ended, unlessBehind: true } as const;
  const start = { starts: NUMBERS.map((n) => aStart(newRun(n))), holdBy: null, replaceError: ERROR };
  const seen = {
    start: await walOf(START, startingOf(start, false, false)),
    claim: await walOf(CLAIM, { ...claim, namespace: "default", handlers }),
    step: await walOf(COMMIT, commits({ transition: HOLD })),
    message: await walOf(DELIVER, deliveryOf({ messages, inboxMax: 10 }, false)),
    end: await walOf(COMMIT, commits({ commit: 1, events: [event(2)], consumed: 1, transition: end })),
  };
  // As measured on PostgreSQL 15; the smallest thing that a row can grow by is eight bytes. Eight bytes of a claim are the time in
  // runs_held, for lists.
  const before = { start: 657, claim: 352, step: 310, message: 452, end: 314 };
  for (const [call, bytes] of Object.entries(before))
    expect(seen[call as keyof typeof seen], call).toBeLessThan(bytes + 7);
});
