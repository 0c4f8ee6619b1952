// A transaction step's connection used by others: drizzle, Kysely and functions written for `pg`. Half of the test is that it
// compiles without a cast.
import { eq, sql } from "drizzle-orm";
import { drizzle } from "drizzle-orm/node-postgres";
import { integer, pgSchema, text } from "drizzle-orm/pg-core";
import { type Client, connect, workflow } from "holdfast";
import { Kysely, PostgresDialect } from "kysely";
import pg, { type ClientBase, type PoolClient } from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { inTransaction, type Tx, transaction } from "../src/index.ts";
import { serverUrl, silent, TestDatabase } from "./test-database.ts";

let database: TestDatabase;
let client: Client;

beforeEach(async () => {
  database = await TestDatabase.create();
  client = await connect(database.url(), { logger: silent });
  await database.sql(`create table ${database.name("accounts")} (name text primary key, cents int not null)`);
  await database.sql(`insert into ${database.name("accounts")} values ('ann', 100)`);
});

afterEach(async () => {
  await client.close();
  await database.drop();
});

/** Runs the function in a transaction step, once to completion and once into an error, and returns what is in the table then. */
async function inStep(change: (tx: Tx, cents: number) => Promise<number | undefined>): Promise<unknown> {
  const step = workflow("step", async (ctx, cents: number) =>
    transaction(
      ctx,
      "change",
      async (tx) => {
        const now = await change(tx, cents);
        if (cents < 0) throw new Error("rolled back");
        return now;
      },
      { retry: "none" },
    ),
  );
  await client.worker({ workflows: [step] }).start();
  const result = await client.run(step, 5);
  await expect(client.run(step, -50)).rejects.toMatchObject({ cause: { message: "rolled back" } });
  const rows = await database.sql(`select cents from ${database.name("accounts")}`);
  return [result, ...rows.map((row) => row.cents)];
}

test("drizzle takes the connection of a transaction step", async () => {
  const accounts = pgSchema(database.schema).table("accounts", {
    name: text().primaryKey(),
    cents: integer().notNull(),
  });
  const seen = await inStep(async (tx, cents) => {
    const db = drizzle(tx);
    const [row] = await db
      .update(accounts)
      .set({ cents: sql`${accounts.cents} + ${cents}` })
      .where(eq(accounts.name, "ann"))
      .returning();
    return row?.cents;
  });
  expect(seen).toEqual([105, 105]);
});

test("Kysely takes the connection of a transaction step, which its pool may release", async () => {
  interface Tables {
    readonly accounts: { readonly name: string; readonly cents: number };
  }
  const seen = await inStep(async (tx, cents) => {
    const pool = { connect: async () => tx, end: async () => {} };
    const db = new Kysely<Tables>({ dialect: new PostgresDialect({ pool }) }).withSchema(database.schema);
    const row = await db
      .updateTable("accounts")
      .set((e) => ({ cents: e("cents", "+", cents) }))
      .where("name", "=", "ann")
      .returning("cents")
      .executeTakeFirst();
    return row?.cents;
  });
  expect(seen).toEqual([105, 105]);
});

test("functions that are written for a connection of pg take it", async () => {
  const add = async (connection: ClientBase, cents: number): Promise<void> => {
    await connection.query({ text: `update ${database.name("accounts")} set cents = cents + $1`, values: [cents] });
  };
  const read = async (connection: PoolClient): Promise<number> => {
    const { rows } = await connection.query<{ cents: number }>(`select cents from ${database.name("accounts")}`);
    connection.release();
    return rows[0]?.cents ?? 0;
  };
  const seen = await inStep(async (tx, cents) => {
    await add(tx, cents);
    return read(tx);
  });
  expect(seen).toEqual([105, 105]);
});

test("inTransaction takes any connection of pg that is in a transaction", async () => {
  const echo = workflow("echo", async (_ctx, n: number) => n);
  await client.worker({ workflows: [echo] }).start();
  const pool = new pg.Pool({ connectionString: serverUrl() });
  const lone = new pg.Client({ connectionString: serverUrl() });
  await lone.connect();
  const pooled = await pool.connect();
  try {
    for (const connection of [lone, pooled]) {
      await connection.query("begin");
      await inTransaction(client, connection).start(echo, 1);
      await connection.query("commit");
    }
    const nested = workflow("nested", (ctx) =>
      transaction(ctx, "start", async (tx) => (await inTransaction(client, tx).start(echo, 2)).id),
    );
    await client.worker({ workflows: [nested] }).start();
    expect(await client.get(echo, await client.run(nested)).result()).toBe(2);
    expect(await client.count({ workflow: "echo" })).toBe(3);
  } finally {
    pooled.release();
    await Promise.all([lone.end(), pool.end()]);
  }
});

test("the connection itself stays Holdfast's: release does nothing, connect is refused", async () => {
  const seen = await inStep(async (tx, cents) => {
    tx.release();
    expect(() => tx.connect()).toThrow(/connect\(\) is not allowed/);
    const { rows } = await tx.query<{ cents: number }>(
      `update ${database.name("accounts")} set cents = cents + $1 returning cents`,
      [cents],
    );
    return rows[0]?.cents;
  });
  expect(seen).toEqual([105, 105]);
});
