import { type Client, connect, type HoldfastError, RunFailedError, signal, workflow } from "holdfast";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Database, openDatabase } from "../src/database/driver.ts";
import { inTransaction, transaction } from "../src/index.ts";
import { silent, temporaryFolder } from "./sqlite-under-test.ts";

let folder: ReturnType<typeof temporaryFolder>;
let app: Database;
let client: Client;

beforeEach(async () => {
  folder = temporaryFolder();
  client = await connect(`file:${folder.file("app.db")}`, { logger: silent });
  app = await openDatabase(folder.file("app.db"));
  app.exec("pragma busy_timeout = 1000");
  app.exec("create table accounts (name text primary key, cents integer not null check (cents >= 0)) strict");
  app.exec("insert into accounts values ('ann', 100), ('bob', 0)");
});

afterEach(async () => {
  app.close();
  await client.close();
  folder.remove();
});

function balances(): Record<string, number> {
  const rows = app.prepare("select name, cents from accounts order by name").all() as { name: string; cents: number }[];
  return Object.fromEntries(rows.map((row) => [row.name, row.cents]));
}

const transfer = workflow("transfer", async (ctx, cents: number) => {
  return transaction(ctx, "move", (tx) => {
    tx.run("update accounts set cents = cents - ? where name = 'ann'", cents);
    tx.run("update accounts set cents = cents + ? where name = 'bob'", cents);
    return tx.get<{ cents: number }>("select cents from accounts where name = 'bob'")?.cents;
  });
});

describe("a transaction step", () => {
  test("commits its statements and its record together", async () => {
    await client.worker({ workflows: [transfer] }).start();
    const run = await client.start(transfer, 30);
    expect(await run.result()).toBe(30);
    expect(balances()).toEqual({ ann: 70, bob: 30 });
    expect((await run.history()).map((event) => event.type)).toEqual([
      "run_started",
      "step_completed",
      "run_completed",
    ]);
  });

  test("that is asked for wrongly parks its run with the line of the workflow code", async () => {
    const wrong = workflow("wrong", (ctx) => transaction(ctx, "move", undefined as never));
    await client.worker({ workflows: [wrong] }).start();
    const run = await client.start(wrong);
    await expect(run.result()).rejects.toMatchObject({ cause: { code: "workflow_bug" } });
    const { error } = await run.describe();
    expect(error?.message).toMatch(/third argument is not a function\. At \S+\/transaction\.test\.ts:\d+:\d+\. /);
  });

  test("leaves nothing behind when its function throws, and is tried again", async () => {
    let calls = 0;
    const flaky = workflow("flaky", (ctx) =>
      transaction(
        ctx,
        "move",
        (tx, { attempt }) => {
          calls += 1;
          tx.run("update accounts set cents = cents - 10 where name = 'ann'");
          if (attempt < 3) throw new Error("not yet");
          return attempt;
        },
        { retry: { attempts: 3, fixed: "1ms" } },
      ),
    );
    await client.worker({ workflows: [flaky] }).start();
    const run = await client.start(flaky);
    expect(await run.result()).toBe(3);
    expect(calls).toBe(3);
    expect(balances().ann).toBe(90);
    expect((await run.steps())[0]).toMatchObject({ op: "move", attempts: 3 });
  });

  test("fails with the database's own error, and is rolled back", async () => {
    await client.worker({ workflows: [transfer] }).start();
    const failed = await client.run(transfer, 101).catch((error: unknown) => error);
    expect(failed).toBeInstanceOf(RunFailedError);
    expect(String((failed as Error).cause)).toMatch(/CHECK constraint failed/);
    expect(balances()).toEqual({ ann: 100, bob: 0 });
  });

  test("may not return a promise, end the transaction, or be used after its end", async () => {
    let kept: { run(sql: string): unknown } | undefined;
    const bad = workflow("bad", async (ctx) => {
      const told = async (name: string, fn: (tx: never) => unknown): Promise<string> => {
        try {
          return String(await transaction(ctx, name, fn as never));
        } catch (error) {
          return (error as HoldfastError).message;
        }
      };
      return [
        await told("promise", async () => 1),
        await told("commit", ((tx: { run(sql: string): unknown }) => tx.run("/* now */ commit")) as never),
        await told("keep", ((tx: { run(sql: string): unknown }) => {
          kept = tx;
          return 1;
        }) as never),
      ];
    });
    await client.worker({ workflows: [bad] }).start();
    expect(await client.run(bad)).toEqual([
      expect.stringContaining("returned a promise"),
      expect.stringContaining("COMMIT is not allowed inside a transaction step"),
      "1",
    ]);
    expect(() => kept?.run("delete from accounts")).toThrow("tx was used after the transaction ended");
    expect(balances()).toEqual({ ann: 100, bob: 0 });
  });

  test("refuses a text with more than one statement, and nothing of the step happens", async () => {
    const spend = "update accounts set cents = 1 where name = 'ann'";
    const texts = [
      `${spend}; update accounts set cents = 2`,
      `;; /* first */ ${spend} -- ;\n; this is not sql`,
      `${spend};rollback`,
      `${spend}\0; delete from accounts`,
      "select 1 as one; select 2 as two",
      "create trigger t after update on accounts begin select 1; select 2; end; select 3",
    ];
    const many = workflow("many", async (ctx, text: string) =>
      transaction(ctx, "many", (tx) => {
        tx.run("update accounts set cents = 7 where name = 'bob'");
        for (const call of ["get", "all"] as const) expect(() => tx[call](text)).toThrow("more than one statement");
        tx.run(text);
      }),
    );
    await client.worker({ workflows: [many] }).start();
    for (const text of texts) {
      const failure = await client.run(many, text).catch((error: unknown) => error);
      expect(failure).toMatchObject({ cause: { recordedCode: "transaction_misused" } });
      expect((failure as { cause: Error }).cause.message).toContain("Use one call for each statement");
    }
    expect(balances()).toEqual({ ann: 100, bob: 0 });
  });

  test("takes one statement with semicolons in texts, names, comments and triggers, and after its end", async () => {
    const one = workflow("one", (ctx) =>
      transaction(ctx, "one", (tx) => {
        tx.run('create table "a;b" (`c;` text, [d;] text);; -- done; really\n /* and; this');
        tx.run(
          "create trigger copy after insert on \"a;b\" begin update accounts set cents = 3; update accounts set cents = 4 where name = 'bob;'; end;",
        );
        tx.run("insert into \"a;b\" values ('it''s; fine', ?) /* ; */ ;\n", ";");
        return tx.all('; select * from "a;b" -- the end;');
      }),
    );
    await client.worker({ workflows: [one] }).start();
    expect(await client.run(one)).toEqual([{ "c;": "it's; fine", "d;": ";" }]);
    expect(balances()).toEqual({ ann: 3, bob: 3 });
  });

  test("many at once, next to other steps, share few commits and lose nothing", async () => {
    const mixed = workflow("mixed", async (ctx) => {
      const moves = [1, 2, 3, 4, 5].map((n) =>
        transaction(
          ctx,
          `move ${n}`,
          (tx) => tx.run("update accounts set cents = cents + 1 where name = 'bob'").changes,
        ),
      );
      const steps = [1, 2, 3].map((n) => ctx.step(`step ${n}`, () => n));
      return (await Promise.all([...moves, ...steps])).reduce((sum, n) => sum + n, 0);
    });
    await client.worker({ workflows: [mixed] }).start();
    const results = await Promise.all(Array.from({ length: 20 }, () => client.run(mixed)));
    expect(results).toEqual(Array(20).fill(11));
    expect(balances().bob).toBe(100);
  });
});

describe("ctx used inside a transaction", () => {
  test("is refused by name, fails the step without retries and leaves nothing behind", async () => {
    let calls = 0;
    const nested = workflow("nested", (ctx) =>
      transaction(ctx, "move", (tx) => {
        calls += 1;
        tx.run("update accounts set cents = 0 where name = 'ann'");
        void ctx.step("inner", () => 1);
        return calls;
      }),
    );
    await client.worker({ workflows: [nested] }).start();
    const run = await client.start(nested);
    await expect(run.result()).rejects.toMatchObject({
      cause: {
        recordedCode: "inside_step",
        op: "move",
        message: expect.stringContaining('ctx.step("inner") was called inside a step. Steps do the work'),
      },
    });
    expect([calls, await run.status(), balances().ann]).toEqual([1, "failed", 100]);
  });

  test("does not park the run when its function is asynchronous, which is refused by itself", async () => {
    const nested = workflow("nested", (ctx) =>
      transaction(ctx, "move", (async () => {
        await Promise.resolve();
        await ctx.step("inner", () => 1);
      }) as never),
    );
    await client.worker({ workflows: [nested] }).start();
    const run = await client.start(nested);
    await expect(run.result()).rejects.toMatchObject({ cause: { recordedCode: "transaction_misused" } });
    expect(await run.status()).toBe("failed");
  });
});

describe("inTransaction", () => {
  const go = signal<number>("go");
  const waiting = workflow("waiting", async (ctx) => ctx.receive(go));

  test("starts and signals with the application's commit, or not at all", async () => {
    await client.worker({ workflows: [transfer, waiting] }).start();
    const run = await client.start(waiting, undefined, { id: "w" });
    app.exec("begin immediate");
    app.exec("update accounts set cents = 50 where name = 'ann'");
    await inTransaction(client, app).start(transfer, 5, { id: "never" });
    await inTransaction(client, app).get("w").signal(go, 1);
    app.exec("rollback");
    await expect(client.get("never").describe()).rejects.toThrow("There is no run");
    app.exec("begin immediate");
    app.exec("update accounts set cents = 60 where name = 'ann'");
    const started = await inTransaction(client, app).start(transfer, 5, { id: "once" });
    await inTransaction(client, app).get("w").signal(go, 2);
    app.exec("commit");
    expect(await started.result()).toBe(5);
    expect(await run.result()).toBe(2);
    expect(balances()).toEqual({ ann: 55, bob: 5 });
  });

  test("sends a signal without payload, which gives true, also in a run that another one continues as", async () => {
    const mixed = signal<unknown>("mixed");
    const relay = workflow("relay", async (ctx, seen: unknown[]): Promise<unknown[]> => {
      const all = [...seen, await ctx.receive(mixed)];
      return all.length === 4 ? all : ctx.continueAsNew(all);
    });
    app.exec("begin immediate");
    const run = await inTransaction(client, app).start(relay, [], { id: "relay" });
    const handle = inTransaction(client, app).get("relay");
    await handle.signal(mixed);
    for (const payload of [null, false, undefined]) await handle.signal(mixed, payload);
    app.exec("commit");
    await client.worker({ workflows: [relay] }).start();
    expect(await run.result()).toEqual([true, null, false, true]);
  });

  test("refuses at once what cannot be part of the transaction, and leaves the run alone", async () => {
    await client.start(waiting, undefined, { id: "w" });
    app.exec("begin immediate");
    const inside = inTransaction(client, app);
    const started = await inside.start(waiting, undefined, { id: "new" });
    for (const handle of [inside.get("w"), inside.get(waiting, "w"), inside.get("missing"), started])
      for (const call of ["terminate", "retry", "pause", "resume"] as const)
        await expect(handle[call]()).rejects.toMatchObject({
          code: "not_supported",
          message: expect.stringMatching(new RegExp(`^inTransaction: ${call}\\(\\) .*after the commit.*hf\\.get`)),
        });
    await expect(started.fork({ before: 1 })).rejects.toMatchObject({ code: "not_supported" });
    expect(await inside.get("w").status()).toBe("pending");
    await inside.get("w").cancel();
    app.exec("rollback");
    expect(await client.get("w").status()).toBe("pending");
    await client.get("w").terminate();
    expect(await client.get("w").status()).toBe("terminated");
  });

  test("knows every call of a run handle as part of the transaction, as a read, or as refused", async () => {
    app.exec("begin immediate");
    const handle = await inTransaction(client, app).start(waiting);
    app.exec("rollback");
    const joined = ["cancel", "signal"];
    const reads = ["describe", "history", "result", "runId", "status", "steps"];
    const refused = ["fork", "pause", "query", "resume", "retry", "terminate", "update"];
    const inner = ["another", "constructor", "during"];
    const calls = Object.getOwnPropertyNames(Object.getPrototypeOf(handle)).filter((name) => !inner.includes(name));
    expect(calls.sort()).toEqual([...joined, ...reads, ...refused].sort());
  });

  test("is refused for anything but a client and a connection", async () => {
    const invalid = (part: string) =>
      expect.objectContaining({ code: "invalid_option", message: expect.stringContaining(part) });
    for (const wrong of [null, undefined, {}, "hf", connect])
      expect(() => inTransaction(wrong as never, app)).toThrow(invalid("inTransaction: the client is"));
    for (const wrong of [null, undefined, "app.db"])
      expect(() => inTransaction(client, wrong as never)).toThrow(invalid("inTransaction: the connection is"));
    expect(() => inTransaction(client, {} as never)).toThrow(
      invalid("inTransaction: the connection has no exec, prepare"),
    );
  });

  test("is refused without an open transaction, and for another file", async () => {
    await expect(inTransaction(client, app).start(transfer, 1)).rejects.toThrow("no transaction is open");
    const other = await openDatabase(folder.file("other.db"));
    expect(() => inTransaction(client, other)).toThrow("the connection is on");
    other.close();
  });
});
