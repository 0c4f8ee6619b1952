/**
 * Brings the tables of a file up to date with numbered migrations, forward only. The code that works on them is in the processes:
 * one that does not know the newest migration may go on only if that migration says so (`oldestCode`).
 */
import { HoldfastError, type MigrateMode } from "holdfast/adapter";
import { OFFLINE } from "./database/codes.ts";
import type { Connection } from "./database/connection.ts";
import { INITIAL } from "./migrations/0001-initial.ts";

export interface Migration {
  /** 1, 2, 3… without gaps. A released migration is never changed. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /**
   * The oldest code that may use the tables from then on, by the newest migration that it knows. By default this version: code
   * that does not know the migration must not touch the file any more.
   */
  readonly oldestCode?: number;
}

export const MIGRATIONS: readonly Migration[] = [{ version: 1, name: "initial", sql: INITIAL }];

export interface MigrateParams {
  readonly mode: MigrateMode;
  readonly file: string;
  readonly now: number;
  readonly migrations?: readonly Migration[];
}

const CREATE = `
  create table if not exists holdfast_migrations (
    version integer primary key, name text not null, applied_at integer not null, oldest_code integer not null) strict`;
const NEWEST = "select version, oldest_code as oldestCode from holdfast_migrations order by version desc limit 1";
const OLDER_WORKER = `
  select name, pid, known_schema as knows from holdfast_workers
  where status < ? and lease_expires_at > ? and known_schema < ? order by known_schema limit 1`;

/**
 * Migrates the file to the newest version, or refuses it. The process that gets the write lock applies the missing migrations;
 * the others then find nothing to do. Throws the driver's error if the lock is taken: the caller tries again.
 */
export function migrate(sql: Connection, params: MigrateParams): void {
  const { mode, file, now, migrations = MIGRATIONS } = params;
  const newest = migrations.length;
  if (isUpToDate(sql, params, newest)) return;
  if (mode === "check") {
    const found = schemaOf(sql).version;
    throw new HoldfastError(
      "store_refused",
      `SQLite: the tables in ${file} are at version ${found}, this version of Holdfast needs ${newest}, and migrate is "check". Connect once with migrate: "auto".`,
      { data: { file, found, needed: newest } },
    );
  }
  sql.script("begin immediate");
  try {
    // A process with a newer version may have migrated it first.
    const missing = isUpToDate(sql, params, newest) ? [] : migrations.slice(schemaOf(sql).version);
    if (missing.length < newest) requireNoOlderWorker(sql, params, missing);
    sql.script(CREATE);
    for (const migration of missing) {
      const { version, name, oldestCode = version } = migration;
      sql.script(migration.sql);
      sql.run("insert into holdfast_migrations values (?, ?, ?, ?)", version, name, now, oldestCode);
    }
    sql.script("commit");
  } catch (error) {
    sql.rollback();
    throw error;
  }
}

/** Whether a write may go on: another build may have migrated the file since this process opened it. */
export class SchemaGuard {
  /** The newest migration that this code knows. */
  readonly known: number;
  readonly #file: string;
  /** SQLite's own count of changes to the tables of the file when that was last found out. */
  #cookie: unknown;

  constructor(file: string, migrations: readonly Migration[]) {
    this.#file = file;
    this.known = migrations.length;
  }

  /** In every write, before it reads anything. Costs one look at the first page, which the transaction has read anyway. */
  check(sql: Connection): void {
    const cookie = sql.columns("pragma schema_version")?.[0];
    if (cookie === this.#cookie) return;
    this.checkNow(sql);
    this.#cookie = cookie;
  }

  /** The same on a connection of the application, which may have changes of its own that it has not committed. */
  checkNow(sql: Connection): void {
    const { version, oldestCode } = schemaOf(sql);
    if (oldestCode <= this.known) return;
    const message = `SQLite: ${this.#file} was migrated to version ${version} by a newer version of Holdfast, and this program, which knows only ${this.known}, may no longer write to it. Update @holdfast/sqlite and restart this program.`;
    const data = { file: this.#file, version, known: this.known, lasting: true };
    throw new HoldfastError("store_unavailable", message, { data });
  }
}

/** Workers that are dead or have stopped do not count: they check the version before they write again. */
function requireNoOlderWorker(sql: Connection, { file, now }: MigrateParams, missing: readonly Migration[]): void {
  const oldest = Math.max(0, ...missing.map(({ version, oldestCode = version }) => oldestCode));
  if (!hasTable(sql, "holdfast_workers")) return;
  const worker = sql.get<{ name: string; pid: number | null; knows: number }>(OLDER_WORKER, OFFLINE, now, oldest);
  if (!worker) return;
  const { name, pid, knows } = worker;
  const which = `worker "${name}"${pid === null ? "" : ` (process ${pid})`}`;
  throw new HoldfastError(
    "store_refused",
    `SQLite: ${file} cannot be migrated while ${which} runs on it: its version of Holdfast knows the tables up to version ${knows}, and must not use the new ones. Stop it, and all others of its version, and start this program again.`,
    { data: { file, worker: name, knows, needed: oldest } },
  );
}

function isUpToDate(sql: Connection, { file }: MigrateParams, newest: number): boolean {
  const { version, oldestCode } = schemaOf(sql);
  if (version <= newest) return version === newest;
  if (oldestCode <= newest) return true;
  throw new HoldfastError(
    "store_refused",
    `SQLite: the tables in ${file} are at version ${version}; this version of Holdfast knows only ${newest}. Update @holdfast/sqlite in this program.`,
    { data: { file, version, known: newest } },
  );
}

interface Schema {
  readonly version: number;
  readonly oldestCode: number;
}

function schemaOf(sql: Connection): Schema {
  const newest = hasTable(sql, "holdfast_migrations") ? sql.get<Schema>(NEWEST) : undefined;
  return newest ?? { version: 0, oldestCode: 0 };
}

function hasTable(sql: Connection, name: string): boolean {
  return sql.get("select 1 from sqlite_schema where type = 'table' and name = ?", name) !== undefined;
}
