/** What can go wrong around a transaction step on SQLite, where many share one commit. */
import { type Client, connect, type HoldfastError, RunFailedError, workflow } from "holdfast";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Database, openDatabase } from "../src/database/driver.ts";
import { inTransaction, type Tx, transaction } from "../src/index.ts";
import { silent, temporaryFolder } from "./sqlite-under-test.ts";

let folder: ReturnType<typeof temporaryFolder>;
let app: Database;
let client: Client;

beforeEach(async () => {
  folder = temporaryFolder();
  client = await connect(`file:${folder.file("app.db")}`, { logger: silent });
  app = await openDatabase(folder.file("app.db"));
  app.exec("pragma busy_timeout = 1000");
  app.exec("create table owners (name text primary key) strict");
  app.exec(
    "create table notes (text text primary key, owner text references owners deferrable initially deferred) strict",
  );
});

afterEach(async () => {
  app.close();
  await client.close();
  folder.remove();
});

function notes(): string[] {
  return (app.prepare("select text from notes order by text").all() as { text: string }[]).map(({ text }) => text);
}

/** Runs of one step each, started together, so that their transactions are requested at the same time. */
async function together(steps: Readonly<Record<string, (tx: Tx) => unknown>>): Promise<Record<string, unknown>> {
  const one = workflow("one", (ctx, name: string) =>
    transaction(ctx, name, steps[name] as (tx: Tx) => string, { retry: "none" }),
  );
  await client.worker({ workflows: [one] }).start();
  const names = Object.keys(steps);
  const runs = await client.startMany(names.map((input) => ({ workflow: one, input })));
  const results = await Promise.all(runs.map((run) => run.result().catch((error: HoldfastError) => error)));
  return Object.fromEntries(names.map((name, i) => [name, results[i]]));
}

const write = (text: string) => (tx: Tx) => {
  tx.run("insert into notes (text) values (?)", text);
  return text;
};

describe("a transaction step that shares its commit with others", () => {
  test("and is refused at that commit fails alone, with the database's own error", async () => {
    const results = await together({
      first: write("first"),
      orphan: (tx) => tx.run("insert into notes values ('orphan', 'nobody')").changes,
      last: write("last"),
    });
    expect(results).toMatchObject({ first: "first", last: "last" });
    expect(results.orphan).toBeInstanceOf(RunFailedError);
    expect(String((results.orphan as Error).cause)).toMatch(/Error: FOREIGN KEY constraint failed/);
    expect(notes()).toEqual(["first", "last"]);
  });

  test("and makes SQLite end the transaction of all fails alone", async () => {
    app.exec("insert into notes (text) values ('known')");
    const results = await together({
      first: write("first"),
      clash: (tx) => tx.run("insert or rollback into notes (text) values ('known')").changes,
      last: write("last"),
    });
    expect(results).toMatchObject({ first: "first", last: "last" });
    expect(String((results.clash as Error).cause)).toMatch(/UNIQUE constraint failed/);
    expect(notes()).toEqual(["first", "known", "last"]);
  });

  test("and continues after SQLite has ended the transaction leaves nothing behind, and gets an error that says so", async () => {
    app.exec("insert into notes (text) values ('known')");
    const results = await together({
      first: write("first"),
      clash: (tx) => {
        tx.run("insert into notes (text) values ('before')");
        try {
          tx.run("insert or rollback into notes (text) values ('known')");
        } catch {
          // As if nothing had happened.
        }
        try {
          tx.run("insert into notes (text) values ('after')");
        } catch {
          // And once more.
        }
        return "fine";
      },
      last: write("last"),
    });
    expect(results).toMatchObject({ first: "first", last: "last" });
    expect((results.clash as Error).cause).toMatchObject({ recordedCode: "transaction_misused" });
    expect(notes()).toEqual(["first", "known", "last"]);
  });

  test("and whose function throws leaves the others alone", async () => {
    const results = await together({
      first: write("first"),
      thrower: (tx) => {
        write("thrown")(tx);
        throw new Error("no");
      },
      last: write("last"),
    });
    expect(results).toMatchObject({ first: "first", last: "last" });
    expect(notes()).toEqual(["first", "last"]);
  });
});

describe("a transaction step", () => {
  test("waits for another process's lock without counting that as an attempt", async () => {
    app.exec("begin immediate");
    const asked = workflow("asked", (ctx) => transaction(ctx, "write", write("at last"), { retry: "none" }));
    const worker = client.worker({ workflows: [asked] });
    app.exec("commit");
    await worker.start();
    const run = await client.start(asked);
    app.exec("begin immediate");
    await expect(run.result({ timeout: "50ms" }).catch((error: HoldfastError) => error.code)).resolves.toMatch(
      /result_timeout/,
    );
    app.exec("commit");
    expect(await run.result()).toBe("at last");
    expect((await run.steps())[0]).toMatchObject({ attempts: 1 });
  });

  test("that is asked for when the store closes has happened or not, and is found out by the next worker", async () => {
    const slow = workflow("slow", (ctx) => transaction(ctx, "write", write("once")));
    await client.worker({ workflows: [slow] }).start();
    await client.start(slow, undefined, { id: "r" });
    await client.close();
    client = await connect(`file:${folder.file("app.db")}`, { logger: silent });
    await client.worker({ workflows: [slow] }).start();
    expect(await client.get("r").result()).toBe("once");
    expect(notes()).toEqual(["once"]);
  });
});

describe("inTransaction", () => {
  const hello = workflow("hello", async (_ctx, name: string) => `hello ${name}`);

  test("on a client that is kept knows nothing of what was rolled back", async () => {
    const inside = inTransaction(client, app);
    for (const end of ["rollback", "commit"]) {
      app.exec("begin immediate");
      await inside.start(hello, end, { id: "r", queue: "new" });
      app.exec(end);
      // Another connection's names get the keys that the rollback freed.
      await client.start(hello, "other", { id: `other ${end}`, queue: `other ${end}` });
    }
    await client.worker({ workflows: [hello], queues: ["new"] }).start();
    expect(await client.get("r").result({ timeout: "5s" })).toBe("hello commit");
  });
});
