/** Two builds of Holdfast on one schema: this code, as it knows the migrations so far, and as it knows one more. */
import { relay } from "@holdfast/conformance";
import { type OpenedStore, systemPorts, uuidV7 } from "holdfast/adapter";
import { SeededSource } from "holdfast/testing";
import pg from "pg";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { MIGRATIONS, type Migration, migrate } from "../src/migrations.ts";
import { openWith } from "../src/open-store.ts";
import { serverUrl, silent, TestDatabase } from "./test-database.ts";

const OLD = MIGRATIONS;
/** Expands only: what the old code does stays right. */
const EXPANDS: Migration = {
  version: OLD.length + 1,
  name: "0002-expands",
  sql: "alter table runs add column note text; create table notes (run_no bigint primary key, note text);",
  oldestCode: OLD.length,
};
/** What the old code does would be wrong from then on. */
const BREAKS: Migration = { ...EXPANDS, name: "0002-breaks", oldestCode: OLD.length + 1 };

let database: TestDatabase;
let opened: OpenedStore[];
const random = new SeededSource(1);

beforeEach(async () => {
  database = await TestDatabase.create();
  opened = [];
});

afterEach(async () => {
  for (const { store } of opened) await store.close();
  await database.drop();
});

async function build(...more: readonly Migration[]): Promise<OpenedStore> {
  const store = await openWith(database.url(), { ...systemPorts, log: silent }, [...OLD, ...more]);
  opened.push(store);
  return store;
}

function newId(): string {
  return uuidV7(systemPorts.clock.now(), random.bytes(16));
}

describe("a migration that only expands", () => {
  test("leaves both builds working on the schema at once, each with what the other has written", async () => {
    const old = await build();
    const later = await build(EXPANDS);
    await relay(old.store, later.store, { newId });
    await relay(later.store, old.store, { newId });
    const versions = await database.sql(
      `select version, oldest_code from ${database.name("schema_versions")} order by 1`,
    );
    expect(versions).toEqual([
      { version: 1, oldest_code: 1 },
      { version: 2, oldest_code: 1 },
    ]);
  });

  test("lets a build connect that does not know it, in either mode", async () => {
    const later = await build(EXPANDS);
    const old = await build();
    await relay(old.store, later.store, { newId });
    const params = { schema: database.schema, where: "here", log: silent, clock: systemPorts.clock, migrations: OLD };
    await migrate({ ...params, client: database.admin, mode: "check" });
  });
});

test("a migration that older code must not see has that code refused when it connects", async () => {
  await build(BREAKS);
  await expect(build()).rejects.toMatchObject({
    code: "store_refused",
    message: expect.stringMatching(/has version 2, this program knows versions up to 1\. Update @holdfast\/postgres/),
  });
});

describe("a migration that changes a table which another session has locked", () => {
  async function locked(): Promise<pg.Client> {
    const other = new pg.Client({ connectionString: serverUrl() });
    await other.connect();
    await other.query(`begin; lock table ${database.name("runs")} in access share mode`);
    return other;
  }

  function migrating(patience: { readonly tryMs: number; readonly gapMs: number; readonly lockMs: number }) {
    const params = {
      schema: database.schema,
      mode: "auto",
      where: "here",
      log: silent,
      clock: systemPorts.clock,
    } as const;
    return migrate({ ...params, client: database.admin, migrations: [...OLD, EXPANDS], patience });
  }

  test("gives way again and again, so that workers go on, and succeeds when the lock is gone", async () => {
    const old = await build();
    const other = await locked();
    const done = migrating({ tryMs: 30, gapMs: 1, lockMs: 60_000 });
    try {
      // Behind a migration that waited for its lock in one go, none of this could be written.
      await relay(old.store, old.store, { newId });
    } finally {
      await other.query("rollback");
      await other.end();
    }
    await done;
    await relay(old.store, (await build(EXPANDS)).store, { newId });
  });

  test("is given up in the end, with nothing changed", async () => {
    await build();
    const other = await locked();
    await expect(migrating({ tryMs: 10, gapMs: 1, lockMs: 50 })).rejects.toMatchObject({
      code: "store_unavailable",
      message: expect.stringMatching(/needs a lock that another session has held for 0\.05 s\. Nothing was changed\./),
    });
    await other.query("rollback");
    await other.end();
    expect(await database.sql(`select version from ${database.name("schema_versions")}`)).toHaveLength(OLD.length);
  });
});
