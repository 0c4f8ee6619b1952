/** What can go wrong around a transaction step on PostgreSQL: its connection, its session, its store, and what its function does. */
import process from "node:process";
import { outcomeMessageId, type Store, type TransactParams } from "holdfast/adapter";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { Tx } from "../src/index.ts";
import { firstCommit, idOf, newRun, register, start } from "./sample-runs.ts";
import { serverUrl, TestDatabase } from "./test-database.ts";
import { TestProxy } from "./test-proxy.ts";

const worker = idOf(1);
const runId = idOf(10);
let database: TestDatabase;
let proxy: TestProxy;
let notes: string;

beforeEach(async () => {
  database = await TestDatabase.create();
  proxy = await TestProxy.start();
});

afterEach(async () => {
  await proxy.close();
  await database.drop();
});

type TransactingStore = Store & Required<Pick<Store, "transact">>;

/** A store that holds run 10, reached through the proxy. */
async function open(parameters: Readonly<Record<string, string>> = {}): Promise<TransactingStore> {
  const { store } = await database.open({ url: proxy.through(database.url(parameters)) });
  await register(store, worker);
  await start(store, [newRun(10)], worker);
  notes = database.name("notes");
  await database.sql(`create table ${notes} (text text)`);
  return store as TransactingStore;
}

function step(op: string, work: (tx: Tx) => unknown, fields: Partial<TransactParams> = {}): TransactParams {
  return {
    namespace: "default",
    workerId: worker,
    runId,
    epoch: 1,
    op,
    messageId: outcomeMessageId(runId, op),
    again: false,
    signal: new AbortController().signal,
    work: async (tx) => new TextEncoder().encode(JSON.stringify((await work(tx as Tx)) ?? null)),
    ...fields,
  };
}

const write = (text: string) => (tx: Tx) => tx.query(`insert into ${notes} values ($1)`, [text]).then(() => text);

async function written(): Promise<unknown[]> {
  return (await database.sql(`select text from ${notes} order by text`)).map((row) => row.text);
}

async function delivered(): Promise<unknown> {
  const [row] = await database.sql(`select delivered from ${database.name("runs")} where run_id = $1`, [runId]);
  return row?.delivered;
}

describe("the connection of a transaction step", () => {
  test("that has gone silent costs one attempt, and the next one gets another", async () => {
    const store = await open({ statement_timeout: "100" });
    await store.transact(step("first", write("first")));
    proxy.goSilent();
    proxy.heal();
    await expect(store.transact(step("second", write("second")))).rejects.toMatchObject({ code: "store_unavailable" });
    expect(await store.transact(step("second", write("second")))).toMatchObject({ outcome: "recorded" });
    expect(await written()).toEqual(["first", "second"]);
  });

  test("that goes silent at its commit leaves the outcome unknown, and asking again finds it", async () => {
    const store = await open({ statement_timeout: "100" });
    const silenced = proxy.strike("commit", "silent");
    const sent = store.transact(step("move", write("once")));
    sent.catch(() => {});
    await silenced;
    await expect(sent).rejects.toMatchObject({ code: "store_outcome_unknown" });
    const again = await store.transact(step("move", write("once"), { again: true }));
    expect(again).toMatchObject({ outcome: "recorded", message: { number: 1, name: "move" } });
    expect(await written()).toEqual(["once"]);
    expect(await delivered()).toBe(1);
  });

  test("is not handed on with what a function has set", async () => {
    const store = await open({ transactions: "1" });
    await store.transact(
      step("sets", async (tx) => {
        await tx.query("set search_path to nowhere");
        await tx.query("set statement_timeout to '7s'");
      }),
    );
    let found: unknown;
    await store.transact(
      step("asks", async (tx) => {
        const text = "select current_setting('search_path') as path, current_setting('statement_timeout') as timeout";
        found = (await tx.query(text)).rows[0];
      }),
    );
    expect(found).toEqual({ path: '"$user", public', timeout: "1min" });
  });
});

describe("a function", () => {
  test("that leaves another role behind gets an error, instead of being called forever", async () => {
    const store = await open();
    await database.sql("drop role if exists hf_test_tenant");
    await database.sql("create role hf_test_tenant");
    try {
      const acting = store.transact(step("acts", (tx) => tx.query("set local role hf_test_tenant")));
      await expect(acting).rejects.toMatchObject({
        code: "transaction_misused",
        message: expect.stringContaining("reset role"),
      });
      const back = store.transact(
        step("acts", async (tx) => {
          await tx.query("set local role hf_test_tenant");
          await tx.query("reset role");
        }),
      );
      expect(await back).toMatchObject({ outcome: "recorded" });
    } finally {
      await database.sql("drop role hf_test_tenant");
    }
  });

  test("that leaves its transaction idle for too long gets an error, instead of being called forever", async () => {
    const store = await open();
    const idle = store.transact(
      step("idles", async (tx) => {
        await write("never")(tx);
        await tx.query("set local idle_in_transaction_session_timeout to '50ms'");
        await new Promise<void>((resolve) => (tx as unknown as NodeJS.EventEmitter).once("end", resolve));
        return tx.query("select 1");
      }),
    );
    await expect(idle).rejects.toMatchObject({
      code: "transaction_misused",
      message: expect.stringContaining("idle"),
    });
    expect(await written()).toEqual([]);
  });

  test("that finds a server which only reads fails, and the next attempt gets another connection", async () => {
    const store = await open({ transactions: "1" });
    const pidOf = async (tx: Tx) => (await tx.query("select pg_backend_pid() as pid")).rows[0]?.["pid"];
    const processes: unknown[] = [];
    const reading = store.transact(
      step("reads", async (tx) => {
        processes.push(await pidOf(tx));
        await tx.query("set transaction read only");
        return write("never")(tx);
      }),
    );
    await expect(reading).rejects.toMatchObject({ code: "25006" });
    await store.transact(step("writes", async (tx) => processes.push(await pidOf(tx))));
    expect(new Set(processes).size).toBe(2);
  });

  test("that makes its transaction read-only gets an error, instead of being called forever", async () => {
    const store = await open();
    let calls = 0;
    const reading = store.transact(
      step("reports", async (tx) => {
        calls += 1;
        await tx.query("set transaction read only");
        return (await tx.query("select 1 as one")).rows;
      }),
    );
    await expect(reading).rejects.toMatchObject({
      code: "transaction_misused",
      message: expect.stringMatching(/"reports".*made the transaction read-only.*cannot record/),
    });
    expect(calls).toBe(1);
    expect(await store.transact(step("reports", write("next")))).toMatchObject({ outcome: "recorded" });
    expect(await written()).toEqual(["next"]);
  });

  test("that only reads finds an outage, not a fault of its own, while the database as a whole is read-only", async () => {
    const name = `hf_test_read_only_${process.pid}`;
    const other = database;
    await other.sql(`create database ${name}`);
    database = await TestDatabase.create(serverUrl((url) => Object.assign(url, { pathname: `/${name}` })));
    try {
      const store = await open({ transactions: "1" });
      await other.sql(`alter database ${name} set default_transaction_read_only = on`);
      const asked = store.transact(step("reads", (tx) => tx.query("select 1").then(() => null)));
      await expect(asked).rejects.toMatchObject({ code: "store_unavailable", data: { sqlState: "25006" } });
      await other.sql(`alter database ${name} reset default_transaction_read_only`);
      expect(await store.transact(step("reads", write("after")))).toMatchObject({ outcome: "recorded" });
      expect(await written()).toEqual(["after"]);
    } finally {
      await database.drop();
      database = other;
      await other.sql(`drop database ${name}`);
    }
  });

  test("cannot use its transaction after the end by a method that it has kept", async () => {
    const store = await open();
    let kept: Tx["query"] | undefined;
    await store.transact(
      step("keeps", (tx) => {
        kept = tx.query;
      }),
    );
    await expect(kept?.(`insert into ${notes} values ('late')`)).rejects.toMatchObject({ code: "transaction_misused" });
    expect(await written()).toEqual([]);
  });

  test("that throws while a statement of its own is under way leaves nothing behind", async () => {
    const store = await open({ transactions: "1" });
    const hasty = store.transact(
      step("hasty", (tx) => {
        tx.query(`insert into ${notes} values ('hasty')`).catch(() => {});
        throw new Error("no");
      }),
    );
    await expect(hasty).rejects.toThrow("no");
    await store.transact(step("next", write("next")));
    expect(await written()).toEqual(["next"]);
  });
});

describe("a transaction step that waits for a free connection", () => {
  /** Occupies the only connection until it is released. */
  async function occupied(): Promise<{
    readonly store: TransactingStore;
    leave(): void;
    readonly done: Promise<unknown>;
  }> {
    const store = await open({ transactions: "1" });
    let leave = (): void => {};
    let entered = (): void => {};
    const inside = new Promise<void>((resolve) => {
      entered = resolve;
    });
    const left = new Promise<void>((resolve) => {
      leave = resolve;
    });
    const done = store.transact(
      step("long", async (tx) => {
        await write("long")(tx);
        entered();
        await left;
      }),
    );
    await inside;
    return { store, leave, done };
  }

  test("gets one as soon as there is one", async () => {
    const { store, leave, done } = await occupied();
    const next = store.transact(step("next", write("next")));
    leave();
    expect(await Promise.all([done, next])).toMatchObject([{ outcome: "recorded" }, { outcome: "recorded" }]);
    expect(await written()).toEqual(["long", "next"]);
  });

  test("can be given up, and the one behind it gets its turn", async () => {
    const { store, leave, done } = await occupied();
    const patience = new AbortController();
    const hopeless = store.transact(step("hopeless", write("hopeless"), { signal: patience.signal }));
    const next = store.transact(step("next", write("next")));
    patience.abort(new Error("enough"));
    await expect(hopeless).rejects.toThrow("enough");
    leave();
    expect(await Promise.all([done, next])).toMatchObject([{ outcome: "recorded" }, { outcome: "recorded" }]);
    expect(await written()).toEqual(["long", "next"]);
  });

  test("is refused for good when the store is closed, and so is one that wants to know what has happened", async () => {
    const { store, leave, done } = await occupied();
    const waiting = store.transact(step("waiting", write("waiting"), { again: true }));
    waiting.catch(() => {});
    await store.close();
    leave();
    expect(await done).toMatchObject({ outcome: "recorded" });
    await expect(waiting).rejects.toMatchObject({ code: "client_closed" });
    const asked = store.transact(step("long", write("long"), { again: true }));
    await expect(asked).rejects.toMatchObject({ code: "client_closed" });
  });
});

test("flushes of the same run go on while its transaction step is at work", async () => {
  const store = await open();
  let flushed: unknown;
  await store.transact(
    step("long", async (tx) => {
      await write("long")(tx);
      flushed = (await store.runs.commit({ commits: [firstCommit(10)] })).outcomes[0];
    }),
  );
  expect(flushed).toMatchObject({ outcome: "written", held: true });
  expect(await written()).toEqual(["long"]);
});

test("two holders of one run: only the one that the store knows gets its work done", async () => {
  const store = await open();
  let taken = false;
  const old = store.transact(
    step("move", async (tx) => {
      await write("by the old holder")(tx);
      await store.runs.releaseIfHeld({ namespace: "default", workerId: worker, runs: [{ runId, epoch: 1 }] });
      taken = true;
    }),
  );
  expect(await old).toEqual({ outcome: "lost" });
  expect(taken).toBe(true);
  expect(await written()).toEqual([]);
});
