/**
 * Lets a process die between the statements of a migration: the store's driver ends the process before the n-th one.
 */
import process from "node:process";
import { isPostgres, type Place } from "./torture-client.ts";

type Pass = (text: string) => void;

/** Migrates the store, or dies on the way. */
export async function migrateMortally(place: Place, dieAtStatement: number): Promise<void> {
  let passed = 0;
  const pass: Pass = (text) => {
    // Statements before the transaction only read.
    if (passed === 0 && !/^\s*begin/i.test(text)) return;
    passed += 1;
    if (passed === dieAtStatement) process.kill(process.pid, "SIGKILL");
  };
  if (isPostgres(place.url)) await watchPostgres(pass);
  else await migrateSqlite(place.url.replace(/^file:/, ""), pass);
}

/** The store migrates when it is opened. */
async function watchPostgres(pass: Pass): Promise<void> {
  const { default: pg } = await import("pg");
  const original = pg.Client.prototype.query as (this: unknown, ...given: unknown[]) => unknown;
  Reflect.set(pg.Client.prototype, "query", function (this: unknown, ...given: unknown[]): unknown {
    pass((given[0] as { text?: string }).text ?? String(given[0]));
    return original.apply(this, given);
  });
}

/** The methods of this driver cannot be replaced, so its migration is called with a wrapped driver. */
async function migrateSqlite(file: string, pass: Pass): Promise<void> {
  const { openDatabase } = await import("../packages/sqlite/src/database/driver.ts");
  const { Connection } = await import("../packages/sqlite/src/database/connection.ts");
  const { migrate } = await import("../packages/sqlite/src/migrations.ts");
  const database = await openDatabase(file);
  const connection = new Connection({
    exec(sql) {
      for (const part of inTwo(sql)) {
        pass(part);
        database.exec(part);
      }
    },
    prepare(sql) {
      pass(sql);
      return database.prepare(sql);
    },
    close: () => database.close(),
  });
  connection.configure("sync");
  migrate(connection, { mode: "auto", file, now: Date.now() });
  connection.close();
}

/** A long script can also be cut off in its middle. */
function inTwo(sql: string): readonly string[] {
  const statements = sql.split(/(?<=;)\n/);
  const half = Math.ceil(statements.length / 2);
  return statements.length === 1 ? [sql] : [statements.slice(0, half).join("\n"), statements.slice(half).join("\n")];
}
