/**
 * A schema with open runs, as a build of an earlier version has left it: this one opens it, migrates it, and finishes them. It is
 * kept as text: the version of the schema, and its rows. `npm run golden -- --write` writes it anew; see docs/CONTRIBUTING.md.
 */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { beginRuns, FINISHED, finishRuns } from "@holdfast/conformance";
import { systemPorts } from "holdfast/adapter";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { MIGRATIONS, migrate } from "../../src/migrations.ts";
import { silent, TestDatabase } from "../test-database.ts";

const FILE = fileURLToPath(new URL("open-runs.1.sql", import.meta.url));
const SCHEMA = 1;
/** They say on which machine the runs began, and are of no use later. */
const LEFT_OUT = ["schema_versions", "workers"];

async function aDatabase(): Promise<TestDatabase> {
  const database = await TestDatabase.create();
  onTestFinished(() => database.drop());
  return database;
}

if (process.env.HOLDFAST_GOLDEN === "write") {
  test("writes the rows of open runs", { timeout: 60_000 }, async () => {
    // Stacks name the machine and the lines of today.
    Error.stackTraceLimit = 0;
    const database = await aDatabase();
    await beginRuns(database.url());
    const lines: string[] = [];
    for (const [table, columns] of await tablesOf(database)) {
      const values = columns.map((column) => `quote_nullable(${pg.escapeIdentifier(column)}::text)`);
      const { rows } = await database.admin.query<{ row: string }>(
        `select concat_ws(', ', ${values.join(", ")}) as row from ${nameIn(database, table)} order by 1`,
      );
      const names = columns.map((column) => pg.escapeIdentifier(column)).join(", ");
      for (const { row } of rows)
        lines.push(`insert into ${table} (${names}) overriding system value values (${row});\n`);
    }
    expect(MIGRATIONS).toHaveLength(SCHEMA);
    writeFileSync(FILE, lines.join(""));
  });
}

describe("a schema with open runs, of version 1", () => {
  test("is opened and migrated, and its runs finish", { timeout: 60_000 }, async () => {
    const database = await aDatabase();
    const { schema, admin } = database;
    const { clock } = systemPorts;
    const migrations = MIGRATIONS.slice(0, SCHEMA);
    await migrate({ client: admin, schema, mode: "auto", where: "here", log: silent, clock, migrations });
    await admin.query(`set search_path = ${pg.escapeIdentifier(schema)}`);
    await admin.query(readFileSync(FILE, "utf8"));
    await continueIdentities(database);
    expect(await finishRuns(database.url())).toEqual(FINISHED);
  });
});

function nameIn({ schema }: TestDatabase, table: string): string {
  return `${pg.escapeIdentifier(schema)}.${pg.escapeIdentifier(table)}`;
}

async function tablesOf({ admin, schema }: TestDatabase): Promise<Map<string, string[]>> {
  const { rows } = await admin.query<{ table: string; columns: string[] }>(
    `select t.table_name as table, array_agg(c.column_name::text order by c.ordinal_position) as columns
       from information_schema.tables t join information_schema.columns c using (table_schema, table_name)
      where t.table_schema = $1 and t.table_type = 'BASE TABLE' and t.table_name <> all ($2)
      group by 1 order by 1`,
    [schema, LEFT_OUT],
  );
  return new Map(rows.map(({ table, columns }) => [table, columns]));
}

/** Numbers that the server gives out go on behind those of the rows. */
async function continueIdentities({ admin, schema }: TestDatabase): Promise<void> {
  const { rows } = await admin.query<{ table: string; column: string }>(
    `select table_name as table, column_name as column from information_schema.columns
      where table_schema = $1 and is_identity = 'YES'`,
    [schema],
  );
  for (const { table, column } of rows)
    await admin.query(
      `select setval(pg_get_serial_sequence($1, $2), (select coalesce(max(${column}), 0) + 1 from ${table}), false)`,
      [`${pg.escapeIdentifier(schema)}.${table}`, column],
    );
}
