/**
 * Brings the schema up to date with numbered migrations, forward only. The first process applies the missing ones in one
 * transaction under an advisory lock; the others wait and find nothing to do. A migration that changes a table waits for its lock
 * only a moment at a time: everything that wants to use the table waits behind it. Code that does not know the newest migration may
 * use the schema if that migration says so (`oldestCode`).
 */
import { type Clock, HoldfastError, type Logger, type MigrateMode } from "holdfast/adapter";
import { type Client, destroyClient, runQuery, runScript } from "./database/driver.ts";
import { quoteName } from "./database/settings.ts";
import { sqlStateOf } from "./errors.ts";
import { INITIAL } from "./migrations/0001-initial.ts";

/**
 * How long a migration runs before it logs a warning, how long it waits for a lock, at a time and in all, how long it lets others
 * pass in between, and how long it may take in all.
 */
const PATIENCE = { noticeMs: 5_000, tryMs: 500, gapMs: 1_000, lockMs: 60_000, wholeMs: 600_000 } as const;
const LOCK_NOT_AVAILABLE = "55P03";

export interface Migration {
  /** 1, 2, 3… without gaps. A released migration is never changed. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  /**
   * The oldest code that may use the schema from then on, by the newest migration that it knows. By default this version: code that
   * does not know the migration is refused when it connects.
   */
  readonly oldestCode?: number;
}

/** Modules, not files read at run time, so that bundlers include them. */
export const MIGRATIONS: readonly Migration[] = [{ version: 1, name: "0001-initial", sql: INITIAL }];

export interface MigrateParams {
  readonly client: Client;
  readonly schema: string;
  readonly mode: MigrateMode;
  readonly where: string;
  readonly log: Logger;
  readonly clock: Clock;
  readonly patience?: Partial<Record<keyof typeof PATIENCE, number>>;
  /** Default: those of this package. */
  readonly migrations?: readonly Migration[];
}

export async function migrate(params: MigrateParams): Promise<void> {
  const { client, schema, migrations = MIGRATIONS } = params;
  const latest = migrations.length;
  const found = await readSchema(client, schema);
  if (isUpToDate(params, found, latest)) return;
  if (params.mode === "check") throw notUpToDate(params, found.version, latest);
  await watched(params, () => applyInTime(params, migrations));
}

/** Whether nothing is missing. Refuses a schema that this code must not use. */
function isUpToDate(params: MigrateParams, { version, oldestCode }: Schema, latest: number): boolean {
  if (version > latest && oldestCode > latest) throw newerThanCode(params, version, latest);
  return version >= latest;
}

/** Tries again while a table is locked, and lets those pass meanwhile who have queued up behind the lock. */
async function applyInTime(params: MigrateParams, migrations: readonly Migration[]): Promise<void> {
  const { clock } = params;
  const { gapMs, lockMs } = patienceOf(params);
  const began = clock.monotonic();
  for (;;) {
    try {
      return await applyMissing(params, migrations);
    } catch (error) {
      if (!(error instanceof TableLocked)) throw error;
      if (clock.monotonic() - began >= lockMs) throw error.cause;
    }
    await new Promise<void>((resolve) => void clock.setTimer(gapMs, resolve));
  }
}

/** Another session has locked a table that a migration changes. */
class TableLocked extends Error {}

function patienceOf({ patience = {} }: MigrateParams): Readonly<Record<keyof typeof PATIENCE, number>> {
  return { ...PATIENCE, ...patience };
}

async function applyMissing(params: MigrateParams, migrations: readonly Migration[]): Promise<void> {
  const { client, schema, where, log } = params;
  const { lockMs, tryMs } = patienceOf(params);
  const latest = migrations.length;
  let changing = false;
  await runScript(client, `begin; set local lock_timeout = ${lockMs}`);
  try {
    await runQuery(client, {
      text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
      values: [`holdfast ${schema}`],
    });
    const found = await readSchema(client, schema);
    const before = isUpToDate(params, found, latest) ? latest : found.version;
    if (before === 0) await createSchema(client, schema);
    await runScript(client, `set local search_path = ${quoteName(schema)}, pg_temp; set local lock_timeout = ${tryMs}`);
    changing = true;
    for (const migration of migrations.slice(before)) await apply(client, migration);
    await runScript(client, "commit");
    if (before < latest) log.info({ where, schema, from: before, to: latest }, "migrated the schema");
  } catch (error) {
    await runScript(client, "rollback").catch(() => {});
    throw changing && sqlStateOf(error) === LOCK_NOT_AVAILABLE ? new TableLocked("", { cause: error }) : error;
  }
}

/** Logs and limits the wait for a migration: another transaction may hold its locks, or the server may have gone silent. */
async function watched(params: MigrateParams, work: () => Promise<void>): Promise<void> {
  const { client, clock, log, where, schema } = params;
  const { noticeMs, lockMs, wholeMs } = patienceOf(params);
  let tooLong = false;
  const notice = clock.setTimer(noticeMs, () => {
    const advice = `Another process may be migrating, or a transaction may have locked a table; the migration waits up to ${lockMs / 1_000} s for a lock.`;
    log.warn({ where, schema }, `still migrating the schema "${schema}" after ${noticeMs / 1_000} s. ${advice}`);
  });
  const limit = clock.setTimer(wholeMs, () => {
    tooLong = true;
    destroyClient(client);
  });
  try {
    await work();
  } catch (error) {
    if (tooLong) throw unfinished(params, `has not ended within ${wholeMs / 1_000} s`, error);
    if (sqlStateOf(error) !== LOCK_NOT_AVAILABLE) throw error;
    throw unfinished(params, `needs a lock that another session has held for ${lockMs / 1_000} s`, error);
  } finally {
    notice.cancel();
    limit.cancel();
  }
}

function unfinished({ where, schema }: MigrateParams, what: string, cause: unknown): HoldfastError {
  const advice =
    "Nothing was changed. Find the blocking session in pg_stat_activity, end it if it is stuck, and connect again.";
  const message = `PostgreSQL at ${where}: the migration of the schema "${schema}" ${what}. ${advice}`;
  return new HoldfastError("store_unavailable", message, { cause, data: { where, schema } });
}

interface Schema {
  /** 0: not migrated yet. */
  readonly version: number;
  readonly oldestCode: number;
}

/** Asks the catalog first, because a missing table would abort the transaction. */
async function readSchema(client: Client, schema: string): Promise<Schema> {
  const [table] = await runQuery(client, {
    text: `select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where n.nspname = $1 and c.relname = 'schema_versions'`,
    values: [schema],
  });
  if (!table) return { version: 0, oldestCode: 0 };
  const [row] = await runQuery(client, {
    text: `select version, coalesce(oldest_code, version) as oldest_code from ${quoteName(schema)}.schema_versions
            order by version desc limit 1`,
  });
  return { version: (row?.version ?? 0) as number, oldestCode: (row?.oldest_code ?? 0) as number };
}

/** Uses an existing schema, which an administrator may have created: creating one needs a privilege on the database. */
async function createSchema(client: Client, schema: string): Promise<void> {
  const [there] = await runQuery(client, {
    text: "select 1 from pg_catalog.pg_namespace where nspname = $1",
    values: [schema],
  });
  if (!there) await runScript(client, `create schema ${quoteName(schema)}`);
  await runScript(
    client,
    `create table ${quoteName(schema)}.schema_versions (
       version int primary key, name text not null, applied_at timestamptz not null default clock_timestamp(), oldest_code int)`,
  );
}

async function apply(client: Client, { version, name, sql, oldestCode = version }: Migration): Promise<void> {
  await runScript(client, sql);
  await runQuery(client, {
    text: "insert into schema_versions (version, name, oldest_code) values ($1, $2, $3)",
    values: [version, name, oldestCode],
  });
}

function newerThanCode({ where, schema }: MigrateParams, found: number, latest: number): HoldfastError {
  return new HoldfastError(
    "store_refused",
    `PostgreSQL at ${where}: the schema "${schema}" has version ${found}, this program knows versions up to ${latest}. Update @holdfast/postgres before you use this database.`,
    { data: { where, schema, found, latest } },
  );
}

function notUpToDate({ where, schema }: MigrateParams, found: number, latest: number): HoldfastError {
  const what = found === 0 ? "is missing or empty" : `has version ${found} and needs ${latest}`;
  return new HoldfastError(
    "store_refused",
    `PostgreSQL at ${where}: the schema "${schema}" ${what}, and this program may not change it (migrate: "check"). Connect once with migrate: "auto" as a role that may create tables there.`,
    { data: { where, schema, found, needed: latest } },
  );
}
