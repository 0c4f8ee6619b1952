/**
 * Brings the schema up to date with numbered migrations, forward only. The first process applies the missing ones in one
 * transaction under an advisory lock; the others wait and find nothing to do.
 */
import { type Clock, HoldfastError, type Logger, type MigrateMode } from "holdfast/adapter";
import { type Client, destroyClient, runQuery, runScript } from "./database/driver.ts";
import { quoteName } from "./database/settings.ts";
import { sqlStateOf } from "./errors.ts";
import { INITIAL } from "./migrations/0001-initial.ts";

/** How long a migration runs before it logs a warning, how long it waits for a lock, and how long it may take in all. */
const PATIENCE = { noticeMs: 5_000, lockMs: 60_000, wholeMs: 600_000 } as const;
const LOCK_NOT_AVAILABLE = "55P03";

export interface Migration {
  /** 1, 2, 3… without gaps. A released migration is never changed. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
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
  readonly patience?: { readonly noticeMs: number; readonly lockMs: number; readonly wholeMs: number };
  /** Default: those of this package. */
  readonly migrations?: readonly Migration[];
}

export async function migrate(params: MigrateParams): Promise<void> {
  const { client, schema, migrations = MIGRATIONS } = params;
  const latest = migrations.length;
  const found = await readVersion(client, schema);
  if (found === latest) return;
  if (found > latest) throw newerThanCode(params, found, latest);
  if (params.mode === "check") throw notUpToDate(params, found, latest);
  await watched(params, () => applyMissing(params, migrations));
}

async function applyMissing(params: MigrateParams, migrations: readonly Migration[]): Promise<void> {
  const { client, schema, where, log, patience = PATIENCE } = params;
  const latest = migrations.length;
  await runScript(client, `begin; set local lock_timeout = ${patience.lockMs}`);
  try {
    await runQuery(client, {
      text: "select pg_advisory_xact_lock(hashtextextended($1, 0))",
      values: [`holdfast ${schema}`],
    });
    const before = await readVersion(client, schema);
    if (before > latest) throw newerThanCode(params, before, latest);
    if (before === 0) await createSchema(client, schema);
    await runScript(client, `set local search_path = ${quoteName(schema)}, pg_temp`);
    for (const migration of migrations.slice(before)) await apply(client, migration);
    await runScript(client, "commit");
    if (before < latest) log.info({ where, schema, from: before, to: latest }, "migrated the schema");
  } catch (error) {
    await runScript(client, "rollback").catch(() => {});
    throw error;
  }
}

/** Logs and limits the wait for a migration: another transaction may hold its locks, or the server may have gone silent. */
async function watched(params: MigrateParams, work: () => Promise<void>): Promise<void> {
  const { client, clock, log, where, schema, patience = PATIENCE } = params;
  const { noticeMs, lockMs, wholeMs } = patience;
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

/** 0: not migrated yet. Asks the catalog first, because a missing table would abort the transaction. */
async function readVersion(client: Client, schema: string): Promise<number> {
  const [table] = await runQuery(client, {
    text: `select 1 from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid = c.relnamespace
            where n.nspname = $1 and c.relname = 'schema_versions'`,
    values: [schema],
  });
  if (!table) return 0;
  const [row] = await runQuery(client, {
    text: `select coalesce(max(version), 0) as version from ${quoteName(schema)}.schema_versions`,
  });
  return row?.version as number;
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
       version int primary key, name text not null, applied_at timestamptz not null default clock_timestamp())`,
  );
}

async function apply(client: Client, { version, name, sql }: Migration): Promise<void> {
  await runScript(client, sql);
  await runQuery(client, {
    text: "insert into schema_versions (version, name) values ($1, $2)",
    values: [version, name],
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
    { data: { where, schema, found, latest } },
  );
}
