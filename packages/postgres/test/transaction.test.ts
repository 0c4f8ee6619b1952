import process from "node:process";
import { type Client, connect, RunFailedError, signal, type Worker, workflow } from "holdfast";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { inTransaction, type Tx, transaction } from "../src/index.ts";
import { serverUrl, silent, TestDatabase } from "./test-database.ts";
import { type Fault, TestProxy } from "./test-proxy.ts";

let database: TestDatabase;
let proxy: TestProxy | undefined;
let clients: Client[];
let accounts: string;

beforeEach(async () => {
  database = await TestDatabase.create();
  clients = [];
  proxy = undefined;
  await newClient();
  accounts = database.name("accounts");
  await database.sql(`create table ${accounts} (name text primary key, cents int not null check (cents >= 0))`);
  await database.sql(`insert into ${accounts} values ('ann', 100), ('bob', 0)`);
});

afterEach(async () => {
  await proxy?.close();
  await Promise.all(clients.map((client) => client.close()));
  await database.drop();
});

async function newClient(url = database.url()): Promise<Client> {
  const client = await connect(url, { logger: silent });
  clients.push(client);
  return client;
}

async function balances(): Promise<Record<string, number>> {
  const rows = await database.sql(`select name, cents from ${accounts} order by name`);
  return Object.fromEntries(rows.map((row) => [row.name as string, row.cents as number]));
}

async function move(tx: Tx, cents: number): Promise<number> {
  await tx.query(`update ${accounts} set cents = cents - $1 where name = 'ann'`, [cents]);
  const moved = await tx.query<{ cents: number }>(
    `update ${accounts} set cents = cents + $1 where name = 'bob' returning cents`,
    [cents],
  );
  return moved.rows[0]?.cents ?? 0;
}

const transfer = workflow("transfer", (ctx, cents: number) => transaction(ctx, "move", (tx) => move(tx, cents)));

async function startWorker(
  client: Client,
  ...workflows: Parameters<Client["worker"]>[0]["workflows"] & object
): Promise<Worker> {
  const worker = client.worker({ workflows });
  await worker.start();
  return worker;
}

describe("a transaction step", () => {
  test("commits its statements and its record together", async () => {
    const client = await newClient();
    await startWorker(client, transfer);
    const run = await client.start(transfer, 30);
    expect(await run.result()).toBe(30);
    expect(await balances()).toEqual({ ann: 70, bob: 30 });
    expect((await run.history()).map((event) => event.type)).toEqual([
      "run_started",
      "step_completed",
      "run_completed",
    ]);
  });

  test("that is asked for wrongly parks its run with the line of the workflow code", async () => {
    const client = await newClient();
    const wrong = workflow("wrong", (ctx) => transaction(ctx, "move", undefined as never));
    await startWorker(client, wrong);
    const run = await client.start(wrong);
    await expect(run.result()).rejects.toMatchObject({ cause: { code: "workflow_bug" } });
    const { error } = await run.describe();
    expect(error?.message).toMatch(/third argument is not a function\. At \S+\/transaction\.test\.ts:\d+:\d+\. /);
  });

  test("leaves nothing behind when its function throws, and is tried again", async () => {
    const flaky = workflow("flaky", (ctx) =>
      transaction(
        ctx,
        "move",
        async (tx, { attempt }) => {
          await move(tx, 10);
          if (attempt < 3) throw new Error("not yet");
          return attempt;
        },
        { retry: { attempts: 3, fixed: "1ms" } },
      ),
    );
    const client = await newClient();
    await startWorker(client, flaky);
    const run = await client.start(flaky);
    expect(await run.result()).toBe(3);
    expect(await balances()).toEqual({ ann: 90, bob: 10 });
    expect((await run.steps())[0]).toMatchObject({ op: "move", attempts: 3 });
  });

  test("fails with the database's own error, and is rolled back", async () => {
    const client = await newClient();
    await startWorker(client, transfer);
    const failed = await client.run(transfer, 101).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(RunFailedError);
    expect(String((failed as Error).cause)).toMatch(/violates check constraint/);
    expect(await balances()).toEqual({ ann: 100, bob: 0 });
  });

  test("that is refused at commit fails with that error, and is rolled back", async () => {
    await database.sql(
      `alter table ${accounts} add column owner text references ${accounts} deferrable initially deferred`,
    );
    const orphan = workflow("orphan", (ctx) =>
      transaction(ctx, "orphan", (tx) => tx.query(`update ${accounts} set owner = 'nobody'`).then(() => 1)),
    );
    const client = await newClient();
    await startWorker(client, orphan);
    const failed = await client.run(orphan).catch((error: unknown) => error);
    expect(String((failed as Error).cause)).toMatch(/violates foreign key constraint/);
    expect(await database.sql(`select 1 from ${accounts} where owner is not null`)).toEqual([]);
  });

  test("may not end its transaction, go on after an error, or be used after its end", async () => {
    let kept: Tx | undefined;
    const bad = workflow("bad", async (ctx) => {
      const told = (name: string, fn: (tx: Tx) => Promise<unknown>): Promise<unknown> =>
        transaction(ctx, name, fn).catch((error: Error) => error.message);
      return [
        await told("commit", (tx) => tx.query("commit").then(() => 1)),
        await told("deallocate", (tx) => tx.query("deallocate all").then(() => 1)),
        await told("swallow", (tx) => tx.query("select 1 / 0").catch(() => "fine")),
        await told("keep", async (tx) => {
          kept = tx;
          return 1;
        }),
      ];
    });
    const client = await newClient();
    await startWorker(client, bad);
    expect(await client.run(bad)).toEqual([
      expect.stringContaining("ended the transaction itself"),
      expect.stringContaining("dropped the prepared statements"),
      expect.stringContaining("continued after a statement had failed"),
      1,
    ]);
    await expect(kept?.query(`delete from ${accounts}`)).rejects.toThrow("tx was used after the transaction ended");
    expect(await balances()).toEqual({ ann: 100, bob: 0 });
  });

  test("many at once, next to other steps, each happen once", async () => {
    const mixed = workflow("mixed", async (ctx) => {
      const add = (tx: Tx) => tx.query(`update ${accounts} set cents = cents + 1 where name = 'bob'`).then(() => 1);
      const moves = [1, 2, 3].map((n) => transaction(ctx, `move ${n}`, add));
      const steps = [1, 2, 3].map((n) => ctx.step(`step ${n}`, () => n));
      return (await Promise.all([...moves, ...steps])).reduce((sum, n) => sum + n, 0);
    });
    const client = await newClient();
    await startWorker(client, mixed);
    expect(await Promise.all(Array.from({ length: 20 }, () => client.run(mixed)))).toEqual(Array(20).fill(9));
    expect((await balances()).bob).toBe(60);
  });

  const faults: readonly [string, Fault][] = [
    ["commit", "not answered"],
    ["commit", "half answered"],
    ["commit", "not sent"],
    ["record_outcome", "not answered"],
    ["record_outcome", "half sent"],
  ];
  test.each(faults)("happens once when the connection breaks at %s: %s", async (call, fault) => {
    proxy = await TestProxy.start(serverUrl());
    const client = await newClient(proxy.through(database.url()));
    await startWorker(client, transfer);
    const struck = proxy.strike(call, fault);
    const run = await client.start(transfer, 30);
    await struck;
    expect(await run.result()).toBe(30);
    expect(await balances()).toEqual({ ann: 70, bob: 30 });
    expect((await run.history()).filter((event) => event.type === "step_completed")).toHaveLength(1);
  });

  test("does not happen when the run was lost in the middle of it", async () => {
    let entered = (): void => {};
    let leave = (): void => {};
    const inside = new Promise<void>((resolve) => (entered = resolve));
    const left = new Promise<void>((resolve) => (leave = resolve));
    const slow = workflow("slow", (ctx) =>
      transaction(ctx, "move", async (tx) => {
        const moved = await move(tx, 30);
        entered();
        await left;
        return moved;
      }),
    );
    const client = await newClient();
    await startWorker(client, slow);
    const run = await client.start(slow);
    await inside;
    await run.terminate("by an operator");
    leave();
    await expect(run.result()).rejects.toThrow("terminated");
    await client.close();
    expect(await balances()).toEqual({ ann: 100, bob: 0 });
  });

  test("that runs out of time has not happened, and says so for certain", async () => {
    const slow = workflow("slow", (ctx) =>
      transaction(ctx, "move", (tx) => move(tx, 30).then(() => new Promise<number>(() => {})), {
        timeout: "50ms",
        retry: "none",
      }),
    );
    const client = await newClient();
    await startWorker(client, slow);
    const run = await client.start(slow);
    await expect(run.result()).rejects.toThrow("took longer than 50ms");
    expect(await balances()).toEqual({ ann: 100, bob: 0 });
    expect((await run.history()).find((event) => event.type === "step_failed")).not.toHaveProperty("meta.unknown");
  });

  test("starts another run with its commit", async () => {
    const client = await newClient();
    const parent = workflow("parent", (ctx) =>
      transaction(ctx, "order", async (tx) => {
        await inTransaction(client, tx).start(transfer, 5, { id: "child" });
        return move(tx, 1);
      }),
    );
    await startWorker(client, transfer, parent);
    expect(await client.run(parent)).toBe(1);
    expect(await client.get(transfer, "child").result()).toBe(6);
  });
});

describe("ctx used inside a transaction", () => {
  test.each([
    ["at once", false],
    ["after an await", true],
  ])("%s is refused by name, fails the step without retries and leaves nothing behind", async (_title, late) => {
    let calls = 0;
    const nested = workflow("nested", (ctx) =>
      transaction(ctx, "move", async (tx) => {
        calls += 1;
        if (late) await move(tx, 30);
        await ctx.step("inner", () => 1);
      }),
    );
    const client = await newClient();
    await startWorker(client, nested);
    const run = await client.start(nested);
    await expect(run.result()).rejects.toMatchObject({
      cause: {
        recordedCode: "inside_step",
        op: "move",
        message: expect.stringContaining('ctx.step("inner") was called inside a step. Steps do the work'),
      },
    });
    expect([calls, await run.status(), (await balances()).ann]).toEqual([1, "failed", 100]);
  });
});

describe("inTransaction", () => {
  const go = signal<number>("go");
  const waiting = workflow("waiting", async (ctx) => ctx.receive(go));
  let app: pg.Client;

  beforeEach(async () => {
    app = new pg.Client({ connectionString: serverUrl() });
    await app.connect();
  });
  afterEach(() => app.end());

  test("starts and signals with the application's commit, or not at all", async () => {
    const client = await newClient();
    await startWorker(client, transfer, waiting);
    const run = await client.start(waiting, undefined, { id: "w" });
    await app.query("begin");
    await app.query(`update ${accounts} set cents = 50 where name = 'ann'`);
    await inTransaction(client, app).start(transfer, 5, { id: "never" });
    await inTransaction(client, app).get("w").signal(go, 1);
    await app.query("rollback");
    await expect(client.get("never").describe()).rejects.toThrow("There is no run");
    await app.query("begin");
    await app.query(`update ${accounts} set cents = 60 where name = 'ann'`);
    const started = await inTransaction(client, app).start(transfer, 5, { id: "once" });
    await inTransaction(client, app).get("w").signal(go, 2);
    await app.query("commit");
    expect(await started.result()).toBe(5);
    expect(await run.result()).toBe(2);
    expect(await balances()).toEqual({ ann: 55, bob: 5 });
  });

  test("sends a signal without payload, which gives true, also in a run that another one continues as", async () => {
    const mixed = signal<unknown>("mixed");
    const relay = workflow("relay", async (ctx, seen: unknown[]): Promise<unknown[]> => {
      const all = [...seen, await ctx.receive(mixed)];
      return all.length === 4 ? all : ctx.continueAsNew(all);
    });
    const client = await newClient();
    await app.query("begin");
    const run = await inTransaction(client, app).start(relay, [], { id: "relay" });
    const handle = inTransaction(client, app).get("relay");
    await handle.signal(mixed);
    for (const payload of [null, false, undefined]) await handle.signal(mixed, payload);
    await app.query("commit");
    await startWorker(client, relay);
    expect(await run.result()).toEqual([true, null, false, true]);
  });

  test("refuses at once what cannot be part of the transaction, and leaves the run alone", async () => {
    const client = await newClient();
    await client.start(waiting, undefined, { id: "w" });
    await app.query("begin");
    const inside = inTransaction(client, app);
    await inside.get("w").signal(go, 1);
    const started = await inside.start(waiting, undefined, { id: "new" });
    for (const handle of [inside.get("w"), inside.get(waiting, "w"), inside.get("missing"), started])
      for (const call of ["terminate", "retry", "resume"] as const)
        await expect(handle[call]()).rejects.toMatchObject({
          code: "not_supported",
          message: expect.stringMatching(new RegExp(`^inTransaction: ${call}\\(\\) .*after the commit.*hf\\.get`)),
        });
    expect(await inside.get("w").status()).toBe("pending");
    await inside.get("w").cancel();
    await app.query("rollback");
    expect(await client.get("w").status()).toBe("pending");
    await client.get("w").terminate();
    expect(await client.get("w").status()).toBe("terminated");
  });

  test("is refused for anything but a client and a connection", async () => {
    const client = await newClient();
    const invalid = (part: string) =>
      expect.objectContaining({ code: "invalid_option", message: expect.stringContaining(part) });
    for (const wrong of [null, undefined, {}, "hf", connect])
      expect(() => inTransaction(wrong as never, app)).toThrow(invalid("inTransaction: the client is"));
    for (const wrong of [null, undefined, "postgres:"])
      expect(() => inTransaction(client, wrong as never)).toThrow(invalid("inTransaction: the connection is"));
    expect(() => inTransaction(client, {} as never)).toThrow(invalid("inTransaction: the connection has no query"));
    const pool = new pg.Pool({ connectionString: serverUrl() });
    expect(() => inTransaction(client, pool as never)).toThrow(invalid("inTransaction: the connection is a pool"));
    await pool.end();
  });

  test("is refused without an open transaction, and says when the transaction has failed", async () => {
    const client = await newClient();
    await expect(inTransaction(client, app).start(transfer, 1)).rejects.toThrow("no transaction is open");
    await app.query("begin");
    await expect(app.query("select 1 / 0")).rejects.toThrow("division by zero");
    await expect(inTransaction(client, app).start(transfer, 1)).rejects.toMatchObject({ code: "transaction_failed" });
    await app.query("rollback");
  });

  test("is refused on a connection to another database, also to one that has a Holdfast of its own", async () => {
    const name = `hf_test_other_${process.pid}`;
    await database.sql(`create database ${name}`);
    const url = new URL(database.url());
    url.pathname = `/${name}`;
    const client = await newClient();
    const theirs = await connect(url.toString(), { logger: silent });
    const other = new pg.Client({
      connectionString: serverUrl((server) => Object.assign(server, { pathname: url.pathname })),
    });
    try {
      await other.connect();
      await client.start(waiting, undefined, { id: "w" });
      await theirs.start(waiting, undefined, { id: "w" });
      await other.query("begin");
      const message = new RegExp(`another database \\("${name}"\\)`);
      const refusal = { code: "transaction_misused", message: expect.stringMatching(message) };
      await expect(inTransaction(client, other).start(transfer, 1, { id: "t" })).rejects.toMatchObject(refusal);
      await expect(inTransaction(client, other).get("w").signal(go, 1)).rejects.toMatchObject(refusal);
      await inTransaction(theirs, other).start(transfer, 1, { id: "theirs" });
      await other.query("commit");
      expect([await client.count(), await theirs.count()]).toEqual([1, 2]);
    } finally {
      await other.end();
      await theirs.close();
      await database.sql(`drop database ${name}`);
    }
  });

  test("knows its database on a connection with settings of its own, and by another name of the server", async () => {
    const client = await newClient();
    proxy = await TestProxy.start();
    const far = new pg.Client({ connectionString: proxy.through(serverUrl()) });
    await far.connect();
    try {
      await far.query(
        "set timezone to 'Asia/Tokyo'; set datestyle to 'German, DMY'; set search_path to nowhere; begin",
      );
      const started = await inTransaction(client, far).start(transfer, 1, { id: "t" });
      await far.query("commit");
      expect(started.created).toBe(true);
    } finally {
      await far.end();
    }
  });

  test("asks once where a connection leads, whatever is done on it", async () => {
    const client = await newClient();
    const texts: string[] = [];
    const query = app.query.bind(app) as (...values: unknown[]) => unknown;
    app.query = ((...values: unknown[]) => {
      texts.push(String((values[0] as { text?: string }).text ?? values[0]));
      return query(...values);
    }) as never;
    for (const id of ["a", "b"]) {
      await app.query("begin");
      await inTransaction(client, app).start(waiting, undefined, { id });
      await inTransaction(client, app).get(id).signal(go, 1);
      await app.query("commit");
    }
    expect(texts.filter((text) => text.includes("pg_database"))).toHaveLength(1);
    expect(texts).toHaveLength(9);
  });
});
