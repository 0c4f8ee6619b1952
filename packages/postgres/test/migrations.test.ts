import { EVENT_TYPES } from "holdfast/adapter";
import { VirtualClock } from "holdfast/testing";
import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { MIGRATIONS, type Migration, migrate } from "../src/migrations.ts";
import { serverUrl, silent, TestDatabase } from "./test-database.ts";

let database: TestDatabase;

beforeEach(async () => {
  database = await TestDatabase.create();
});

afterEach(() => database.drop());

function newClient(): pg.Client {
  const client = new pg.Client({ connectionString: serverUrl() });
  client.on("error", () => {});
  return client;
}

async function migrateTo(
  schema: string,
  migrations: readonly Migration[],
  mode: "auto" | "check" = "auto",
): Promise<void> {
  const client = newClient();
  await client.connect();
  try {
    await migrate({ client, schema, mode, where: "here", log: silent, clock: new VirtualClock(), migrations });
  } finally {
    await client.end();
  }
}

/** Everything that a migration can create, as text, without the name of the schema. */
async function describeSchema(schema: string): Promise<string[]> {
  const rows = await database.sql(
    `select 'column ' || c.relname || '.' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod) || ' ' || a.attnotnull || ' ' || a.attidentity::text || ' '
            || coalesce(pg_get_expr(d.adbin, d.adrelid), '') as line
       from pg_attribute a join pg_class c on c.oid = a.attrelid left join pg_attrdef d on d.adrelid = c.oid and d.adnum = a.attnum
      where c.relnamespace = $1::regnamespace and a.attnum > 0 and not a.attisdropped
     union all
     select 'relation ' || c.relname || ' ' || c.relkind::text || ' ' || coalesce(c.reloptions::text, '') || ' ' || coalesce(c.relacl::text, '')
       from pg_class c where c.relnamespace = $1::regnamespace
     union all select 'index ' || indexdef from pg_indexes where schemaname = $2
     union all select 'constraint ' || conname || ' ' || pg_get_constraintdef(oid) from pg_constraint where connamespace = $1::regnamespace
     union all select 'view ' || viewname || ' ' || definition from pg_views where schemaname = $2
     union all select 'function ' || pg_get_functiondef(oid) || ' ' || coalesce(proacl::text, '') from pg_proc where pronamespace = $1::regnamespace
     union all select 'value ' || t.typname || ' ' || e.enumsortorder || ' ' || e.enumlabel
       from pg_enum e join pg_type t on t.oid = e.enumtypid where t.typnamespace = $1::regnamespace
      order by 1`,
    [`"${schema}"`, schema],
  );
  return rows.map((row) => (row.line as string).replaceAll(`"${schema}"`, "<schema>").replaceAll(schema, "<schema>"));
}

test("the schema is the same from whichever version it was migrated", async () => {
  const migrations = MIGRATIONS;
  const fresh = `${database.schema} fresh`;
  try {
    await migrateTo(fresh, migrations);
    const wanted = await describeSchema(fresh);
    expect(wanted.length).toBeGreaterThan(150);
    for (let from = 0; from < migrations.length; from++) {
      await database.sql(`drop schema if exists "${database.schema}" cascade`);
      await migrateTo(database.schema, migrations.slice(0, from));
      await migrateTo(database.schema, migrations);
      expect(await describeSchema(database.schema)).toEqual(wanted);
    }
  } finally {
    await database.sql(`drop schema if exists "${fresh}" cascade`);
  }
});

test("the first process migrates, the others wait and find it done", async () => {
  await Promise.all(Array.from({ length: 5 }, () => database.open()));
  const rows = await database.sql(`select version, name from ${database.name("schema_versions")} order by version`);
  expect(rows).toEqual(MIGRATIONS.map(({ version, name }) => ({ version, name })));
});

test("what is missing is applied in order, and a migration that fails changes nothing", async () => {
  const first = { version: 1, name: "0001-first", sql: "create table one (a int);" };
  const second = { version: 2, name: "0002-second", sql: "create table two (a int); insert into one values (2);" };
  const broken = { version: 3, name: "0003-third", sql: "create table three (a int); select no_such_function();" };
  await migrateTo(database.schema, [first]);
  await expect(migrateTo(database.schema, [first, second, broken])).rejects.toThrow("no_such_function");
  expect(await database.sql(`select * from ${database.name("one")}`)).toEqual([]);
  await migrateTo(database.schema, [first, second, { ...broken, sql: "insert into two values (3);" }]);
  expect(
    await database.sql(`select a from ${database.name("one")} union all select a from ${database.name("two")}`),
  ).toEqual([{ a: 2 }, { a: 3 }]);
});

/** Migrates while another session holds the lock that migrations take, and lets that much time pass. */
async function migrateBehindLock(wait: "5s" | "10 minutes") {
  const [client, other] = [newClient(), newClient()];
  await Promise.all([client.connect(), other.connect()]);
  const clock = new VirtualClock();
  const warnings: string[] = [];
  const log = { ...silent, warn: (_fields: object, message: string) => void warnings.push(message) };
  const { schema } = database;
  try {
    await other.query("select pg_advisory_lock(hashtextextended($1, 0))", [`holdfast ${schema}`]);
    const patience = { noticeMs: 5_000, lockMs: wait === "5s" ? 1_500 : 60_000, wholeMs: 600_000 };
    const migrating = migrate({ client, schema, mode: "auto", where: "here", log, clock, patience }).catch(
      (error: unknown) => error,
    );
    const waiting = "select 1 from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'";
    const { processID } = client as unknown as { readonly processID: number };
    while ((await other.query(waiting, [processID])).rowCount === 0);
    await clock.advance(wait);
    return { error: await migrating, warnings };
  } finally {
    await Promise.all([client, other].map((one) => one.end().catch(() => {})));
  }
}

test("a lock that another session keeps is logged, and finally an error that says what to do", async () => {
  const { error, warnings } = await migrateBehindLock("5s");
  expect(error).toMatchObject({
    code: "store_unavailable",
    message: expect.stringMatching(
      /^PostgreSQL at here: the migration of the schema ".*" needs a lock that another session has held for 1\.5 s\. Nothing was changed\. Find the blocking session in pg_stat_activity/,
    ),
  });
  expect(warnings).toEqual([expect.stringMatching(/^still migrating the schema ".*" after 5 s\. Another process/)]);
});

test("a migration that does not end is given up as a whole", async () => {
  const { error } = await migrateBehindLock("10 minutes");
  expect(error).toMatchObject({
    code: "store_unavailable",
    message: expect.stringContaining("has not ended within 600 s. Nothing was changed."),
  });
});

test("migrations are numbered without gaps", () => {
  expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, index) => index + 1));
  for (const { version, name } of MIGRATIONS) expect(Number.parseInt(name, 10)).toBe(version);
});

test("a schema that is newer than the code is refused, in either mode", async () => {
  await database.open();
  await database.sql(`insert into ${database.name("schema_versions")} (version, name) values (999, 'future')`);
  for (const mode of ["auto", "check"] as const) {
    await expect(database.open({ migrate: mode })).rejects.toMatchObject({
      code: "store_refused",
      message: expect.stringMatching(
        /has version 999, this program knows versions up to \d+\. Update @holdfast\/postgres/,
      ),
    });
  }
});

test("check refuses a schema that is missing or old, and changes nothing", async () => {
  await expect(database.open({ migrate: "check" })).rejects.toMatchObject({
    code: "store_refused",
    message: expect.stringContaining('is missing or empty, and this program may not change it (migrate: "check")'),
  });
  expect(await database.sql("select 1 from pg_namespace where nspname = $1", [database.schema])).toEqual([]);
  const later = { version: 2, name: "0002-later", sql: "" };
  await migrateTo(database.schema, MIGRATIONS.slice(0, 1));
  await expect(migrateTo(database.schema, [...MIGRATIONS.slice(0, 1), later], "check")).rejects.toMatchObject({
    code: "store_refused",
    message: expect.stringContaining("has version 1 and needs 2"),
  });
  await database.open({ migrate: "check" });
});

test("the views know every type of event", async () => {
  await database.open();
  const names = await database.sql(
    `select ${database.name("event_type_name")}(i::smallint) as name from generate_series(0, $1) i order by i`,
    [EVENT_TYPES.length],
  );
  expect(names.map(({ name }) => name)).toEqual([...EVENT_TYPES, null]);
});
