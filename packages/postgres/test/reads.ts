/** What a statement reads, as the server counts it per connection: no plan can hide in a function. */
import type { TestDatabase } from "./test-database.ts";

export interface Reads {
  /** Rows of large tables read by sequential scans. */
  readonly inSequence: number;
  /** The same of the workers: a table of a few rows is quicker to read as a whole. */
  readonly workers: number;
  /** Rows fetched through an index, and index entries read, with or without their rows. */
  readonly byIndex: number;
  readonly entries: number;
}

/** In the open transaction of the test connection: the counts are reported, and reset, when it ends. */
export async function readsOf(
  database: TestDatabase,
  what: string | (() => Promise<void>),
  values: readonly unknown[] = [],
): Promise<Reads> {
  const before = await readsSoFar(database);
  if (typeof what === "string") await database.sql(what, [...values]);
  else await what();
  const after = await readsSoFar(database);
  return {
    inSequence: after.inSequence - before.inSequence,
    workers: after.workers - before.workers,
    byIndex: after.byIndex - before.byIndex,
    entries: after.entries - before.entries,
  };
}

async function readsSoFar(database: TestDatabase): Promise<Reads> {
  const [row] = await database.sql(
    `select coalesce(sum(seq_tup_read) filter (where relname not in ('lanes', 'workers')), 0)::int as "inSequence",
            coalesce(sum(seq_tup_read) filter (where relname = 'workers'), 0)::int as workers,
            coalesce(sum(idx_tup_fetch), 0)::int as "byIndex",
            (select coalesce(sum(pg_stat_get_xact_tuples_returned(indexrelid)), 0)::int
               from pg_stat_user_indexes where schemaname = $1) as entries
       from pg_stat_xact_user_tables where schemaname = $1`,
    [database.schema],
  );
  return row as unknown as Reads;
}

/** Pages that a statement reads, of tables and indexes: entries that an index skips over are counted nowhere else. */
export async function pagesOf(database: TestDatabase, text: string, values: readonly unknown[]): Promise<number> {
  const [row] = await database.sql(`explain (analyze, buffers, format json) ${text}`, [...values]);
  const [plan] = (row?.["QUERY PLAN"] ?? []) as { readonly Plan: Readonly<Record<string, number>> }[];
  const { "Shared Hit Blocks": hit = Number.NaN, "Shared Read Blocks": read = Number.NaN } = plan?.Plan ?? {};
  return hit + read;
}

/** How many records of the write-ahead log a statement writes. Unlike their bytes, they do not depend on when the last checkpoint was. */
export async function recordsOf(database: TestDatabase, text: string, values: readonly unknown[]): Promise<number> {
  const [row] = await database.sql(`explain (analyze, wal, format json) ${text}`, [...values]);
  const [plan] = (row?.["QUERY PLAN"] ?? []) as { readonly Plan: Readonly<Record<string, number>> }[];
  return plan?.Plan["WAL Records"] ?? Number.NaN;
}
