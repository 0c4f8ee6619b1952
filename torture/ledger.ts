/**
 * A double-entry ledger in the store's own database: what transaction steps do there is part of their record. Every
 * step books one pair, whatever happens to its process; a second pair, or half of one, would show.
 */
import { isBuiltin } from "node:module";
import { transaction as onPostgres } from "@holdfast/postgres";
import { transaction as onSqlite } from "@holdfast/sqlite";
import type { Context } from "holdfast";
import { askTransaction } from "holdfast/adapter";
import { query } from "./stage.ts";
import { isPostgres, type Place } from "./torture-client.ts";

export interface LedgerEntry {
  readonly run: string;
  readonly op: string;
  readonly account: string;
  readonly cents: number;
}

interface Ledger {
  readonly place: Place | undefined;
  readonly table: string;
  /** Called in the middle of a transaction. */
  readonly inside: () => void;
}

/** The ledger of this process. Without a place, on the memory store, bookings are not recorded. */
let ledger: Ledger = { place: undefined, table: "", inside: () => {} };

export function useLedger(place: Place, inside: () => void = () => {}): void {
  ledger = { place, table: tableOf(place), inside };
}

/** Books a pair; the step fails `failures` times before it succeeds. */
export function book(ctx: Context, op: string, cents: number, failures = 0): Promise<number> {
  const { place, table, inside } = ledger;
  const { runId } = ctx.info;
  const pair = [runId, op, "from", -cents, runId, op, "to", cents];
  const options = { retry: { attempts: 4, fixed: "60ms" } } as const;
  const end = (attempt: number): number => {
    inside();
    if (attempt <= failures) throw new Error(`attempt ${attempt} fails as planned`);
    return cents;
  };
  if (!place) {
    const fn = (_tx: unknown, { attempt }: { readonly attempt: number }): number => end(attempt);
    return askTransaction(ctx, op, { kind: "memory", fn }, options) as Promise<number>;
  }
  if (!isPostgres(place.url)) {
    const insert = `insert into ${table} values (?, ?, ?, ?), (?, ?, ?, ?)`;
    return onSqlite(
      ctx,
      op,
      (tx, { attempt }) => {
        tx.run(insert, ...pair);
        return end(attempt);
      },
      options,
    );
  }
  const insert = `insert into ${table} values ($1, $2, $3, $4), ($5, $6, $7, $8)`;
  return onPostgres(
    ctx,
    op,
    async (tx, { attempt }) => {
      await tx.query(insert, pair);
      return end(attempt);
    },
    options,
  );
}

/** The store must already exist. */
export async function createLedger(place: Place): Promise<void> {
  await sql(place, `create table if not exists ${tableOf(place)} (run text, op text, account text, cents int)`);
}

export async function readLedger(place: Place): Promise<LedgerEntry[]> {
  const rows = await sql(place, `select run, op, account, cents from ${tableOf(place)}`);
  return rows as unknown as LedgerEntry[];
}

/** Deletes what has been judged. */
export async function emptyLedger(place: Place): Promise<void> {
  await sql(place, `delete from ${tableOf(place)}`);
}

function tableOf({ url, schema }: Place): string {
  return isPostgres(url) ? `"${schema}".torture_ledger` : "torture_ledger";
}

async function sql(place: Place, text: string): Promise<readonly Record<string, unknown>[]> {
  if (isPostgres(place.url)) return query(place.url, text);
  const driver = isBuiltin("node:sqlite")
    ? await import("node:sqlite" as string)
    : await import("@photostructure/sqlite");
  const { DatabaseSync } = driver as { DatabaseSync: new (file: string) => SqliteDatabase };
  const db = new DatabaseSync(place.url.replace(/^file:/, ""));
  try {
    db.exec("pragma busy_timeout = 10000");
    return db.prepare(text).all() as Record<string, unknown>[];
  } finally {
    db.close();
  }
}

interface SqliteDatabase {
  exec(sql: string): void;
  prepare(sql: string): { all(): unknown[] };
  close(): void;
}
