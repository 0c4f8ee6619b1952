import { HoldfastError, type MigrateMode } from "holdfast/adapter";
import type { Connection } from "./database/connection.ts";
import { INITIAL } from "./migrations/0001-initial.ts";

export interface Migration {
  /** 1, 2, 3… without gaps. A released migration is never changed. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

export const MIGRATIONS: readonly Migration[] = [{ version: 1, name: "initial", sql: INITIAL }];

export interface MigrateParams {
  readonly mode: MigrateMode;
  readonly file: string;
  readonly now: number;
  readonly migrations?: readonly Migration[];
}

/**
 * Migrates the file to the newest version, or refuses it. The process that gets the write lock applies the missing migrations;
 * the others then find nothing to do. Throws the driver's error if the lock is taken: the caller tries again.
 */
export function migrate(sql: Connection, params: MigrateParams): void {
  const { mode, file, now, migrations = MIGRATIONS } = params;
  const newest = migrations.length;
  if (isUpToDate(sql, params, newest)) return;
  if (mode === "check") {
    throw new HoldfastError(
      "store_refused",
      `SQLite: the tables in ${file} are at version ${versionOf(sql)}, this version of Holdfast needs ${newest}, and migrate is "check". Connect once with migrate: "auto".`,
      { data: { file, needed: newest } },
    );
  }
  sql.script("begin immediate");
  try {
    isUpToDate(sql, params, newest); // a process with a newer version may have migrated it first
    sql.script(
      "create table if not exists holdfast_migrations (version integer primary key, name text not null, applied_at integer not null) strict",
    );
    for (const migration of migrations.slice(versionOf(sql))) {
      sql.script(migration.sql);
      sql.run("insert into holdfast_migrations values (?, ?, ?)", migration.version, migration.name, now);
    }
    sql.script("commit");
  } catch (error) {
    sql.rollback();
    throw error;
  }
}

function isUpToDate(sql: Connection, { file }: MigrateParams, newest: number): boolean {
  const version = versionOf(sql);
  if (version <= newest) return version === newest;
  throw new HoldfastError(
    "store_refused",
    `SQLite: the tables in ${file} are at version ${version}; this version of Holdfast knows only ${newest}. Update @holdfast/sqlite in this program.`,
    { data: { file, version, known: newest } },
  );
}

function versionOf(sql: Connection): number {
  const table = sql.get("select 1 from sqlite_schema where type = 'table' and name = 'holdfast_migrations'");
  if (!table) return 0;
  return sql.get<{ version: number | null }>("select max(version) as version from holdfast_migrations")?.version ?? 0;
}
