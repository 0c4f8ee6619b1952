/**
 * A file with open runs, as a build of an earlier schema has left it: this one opens it, migrates it, and finishes them. It is kept
 * as text: the version of its schema, and its rows. `npm run golden -- --write` writes it anew; see docs/CONTRIBUTING.md.
 */
import { readFileSync, writeFileSync } from "node:fs";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { beginRuns, FINISHED, finishRuns } from "@holdfast/conformance";
import { describe, expect, onTestFinished, test } from "vitest";
import { Connection } from "../../src/database/connection.ts";
import { openDatabase } from "../../src/database/driver.ts";
import { MIGRATIONS, migrate } from "../../src/migrations.ts";
import { temporaryFolder } from "../sqlite-under-test.ts";

const FILE = fileURLToPath(new URL("open-runs.1.sql", import.meta.url));
const SCHEMA = 1;
/** They say on which machine the runs began, and are of no use later. */
const LEFT_OUT = ["holdfast_migrations", "holdfast_workers", "holdfast_hints"];

function aFile(): string {
  const folder = temporaryFolder();
  onTestFinished(() => folder.remove());
  return folder.file("golden.db");
}

if (process.env.HOLDFAST_GOLDEN === "write") {
  test("writes the rows of open runs", { timeout: 60_000 }, async () => {
    // Stacks name the machine and the lines of today.
    Error.stackTraceLimit = 0;
    const file = aFile();
    await beginRuns(`file:${file}`);
    const sql = new Connection(await openDatabase(file));
    const tables = sql.all<{ name: string }>(
      "select name from sqlite_schema where type = 'table' and name like 'holdfast_%' order by name",
    );
    const lines = tables
      .filter(({ name }) => !LEFT_OUT.includes(name))
      .flatMap(({ name }) =>
        sql.all<Record<string, unknown>>(`select * from ${name} order by 1, 2`).map((row) => {
          const values = Object.values(row).map(literal).join(", ");
          return `insert into ${name} (${Object.keys(row).join(", ")}) values (${values});\n`;
        }),
      );
    sql.close();
    expect(MIGRATIONS).toHaveLength(SCHEMA);
    writeFileSync(FILE, lines.join(""));
  });
}

describe("a file with open runs, written with schema 1", () => {
  test("is opened and migrated, and its runs finish", { timeout: 60_000 }, async () => {
    const file = aFile();
    const sql = new Connection(await openDatabase(file));
    migrate(sql, { mode: "auto", file, now: 0, migrations: MIGRATIONS.slice(0, SCHEMA) });
    sql.script(readFileSync(FILE, "utf8"));
    sql.close();
    expect(await finishRuns(`file:${file}`)).toEqual(FINISHED);
  });
});

function literal(value: unknown): string {
  if (value === null) return "null";
  if (value instanceof Uint8Array) return `x'${Buffer.from(value).toString("hex")}'`;
  return typeof value === "string" ? `'${value.replaceAll("'", "''")}'` : String(value);
}
