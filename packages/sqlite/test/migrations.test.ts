import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { Connection } from "../src/database/connection.ts";
import { openDatabase } from "../src/database/driver.ts";
import { isBusy } from "../src/errors.ts";
import { MIGRATIONS, type Migration, migrate } from "../src/migrations.ts";
import { openFile, temporaryFolder } from "./sqlite-under-test.ts";

let folder: ReturnType<typeof temporaryFolder>;

beforeEach(() => {
  folder = temporaryFolder();
});

afterEach(() => folder.remove());

async function connectTo(name: string): Promise<Connection> {
  const connection = new Connection(await openDatabase(folder.file(name)));
  connection.configure("async");
  return connection;
}

/** The whole schema of the file. */
async function schemaAfter(name: string, steps: readonly (readonly Migration[])[]): Promise<unknown> {
  const sql = await connectTo(name);
  for (const migrations of steps) migrate(sql, { mode: "auto", file: name, now: 1, migrations });
  const schema = {
    objects: sql.all("select type, name, tbl_name, sql from sqlite_schema order by type, name"),
    migrations: sql.all("select version, name from holdfast_migrations order by version"),
    health: sql.all("pragma integrity_check"),
  };
  sql.close();
  return schema;
}

const TWO: readonly Migration[] = [
  { version: 1, name: "first", sql: "create table holdfast_a (x integer) strict" },
  {
    version: 2,
    name: "second",
    sql: "alter table holdfast_a add column y text; create index holdfast_a_y on holdfast_a (y)",
  },
];

describe.each([
  ["the released migrations", MIGRATIONS],
  ["two migrations made up for this test", TWO],
])("%s", (_, migrations) => {
  test("lead to the same schema from every earlier version as on a fresh file", async () => {
    const fresh = await schemaAfter("fresh.db", [migrations]);
    for (let version = 1; version < migrations.length; version++) {
      const steps = [migrations.slice(0, version), migrations];
      expect(await schemaAfter(`from-${version}.db`, steps)).toEqual(fresh);
    }
    expect(await schemaAfter("twice.db", [migrations, migrations])).toEqual(fresh);
  });

  test("are numbered without gaps", () => {
    expect(migrations.map(({ version }) => version)).toEqual(migrations.map((_migration, i) => i + 1));
  });
});

test("a file that is newer than the code is refused and left alone", async () => {
  const before = await schemaAfter("newer.db", [[...MIGRATIONS, { version: 2, name: "from the future", sql: "" }]]);
  for (const mode of ["auto", "check"] as const) {
    const sql = await connectTo("newer.db");
    expect(() => migrate(sql, { mode, file: "newer.db", now: 1 })).toThrow(
      expect.objectContaining({
        code: "store_refused",
        message: expect.stringMatching(/newer\.db are at version 2; .* knows only 1\. Update @holdfast\/sqlite/),
      }),
    );
    sql.close();
  }
  expect(await schemaAfter("newer.db", [])).toEqual(before);
  await expect(openFile(folder.file("newer.db"))).rejects.toMatchObject({ code: "store_refused" });
});

test('with "check" a file that is not up to date is refused, and one that is up to date is opened', async () => {
  await expect(openFile(folder.file("app.db"), { migrate: "check" })).rejects.toMatchObject({
    code: "store_refused",
    message: expect.stringMatching(/version 0, .* needs 1, and migrate is "check"\. Connect once with migrate: "auto"/),
  });
  await (await openFile(folder.file("app.db"))).store.close();
  await (await openFile(folder.file("app.db"), { migrate: "check" })).store.close();
});

test("the second process to migrate waits for the lock and finds the work done", async () => {
  const first = await connectTo("race.db");
  const second = await connectTo("race.db");
  first.script("begin immediate");
  const params = { mode: "auto", file: "race.db", now: 1 } as const;
  let refusal: unknown;
  try {
    migrate(second, params);
  } catch (error) {
    refusal = error;
  }
  expect(isBusy(refusal)).toBe(true);
  first.script("rollback");
  migrate(first, params);
  migrate(second, params);
  expect(second.all("select version from holdfast_migrations")).toHaveLength(MIGRATIONS.length);
  first.close();
  second.close();
});

test("a migration that fails leaves nothing behind", async () => {
  const sql = await connectTo("broken.db");
  const broken = [...TWO, { version: 3, name: "broken", sql: "create table holdfast_b (x integer); nonsense" }];
  expect(() => migrate(sql, { mode: "auto", file: "broken.db", now: 1, migrations: broken })).toThrow(/nonsense/);
  expect(sql.all("select name from sqlite_schema")).toEqual([]);
  sql.close();
});

test("the tables live in a program's own file beside the program's tables", async () => {
  const own = await connectTo("app.db");
  own.script("create table orders (id integer primary key); pragma user_version = 42; insert into orders values (7)");
  own.close();
  await (await openFile(folder.file("app.db"))).store.close();
  const after = await connectTo("app.db");
  expect(after.get("pragma user_version")).toEqual({ user_version: 42 });
  expect(after.all("select id from orders")).toEqual([{ id: 7 }]);
  const foreign = "select name from sqlite_schema where name not like 'holdfast_%' and name not like 'sqlite_%'";
  expect(after.all(foreign)).toEqual([{ name: "orders" }]);
  after.close();
});
