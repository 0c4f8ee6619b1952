/** Starts and messages inside the application's own transaction, on its own connection to the same file. */
import { realpathSync } from "node:fs";
import { type Clock, type Hint, HoldfastError, type JoinedCalls, type Random } from "holdfast/adapter";
import type { Call } from "../database/call.ts";
import { Catalog } from "../database/catalog.ts";
import { Connection } from "../database/connection.ts";
import type { SqlValue } from "../database/driver.ts";
import { KnownHolds } from "../database/known-holds.ts";
import { type HintLog, recordHints } from "../hint-log.ts";
import { deliverMessages } from "../inbox.ts";
import type { SchemaGuard } from "../migrations.ts";
import { startRuns } from "../runs/starts.ts";
import type { Transactions } from "./transactions.ts";

/** What Holdfast needs from the application's connection: `node:sqlite` has it, and so do drivers with the same interface. */
export interface ApplicationDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): {
    run(...values: SqlValue[]): { readonly changes: number | bigint; readonly lastInsertRowid: number | bigint };
    get(...values: SqlValue[]): unknown;
    all(...values: SqlValue[]): unknown[];
  };
}

export interface ApplicationTransactionsParams {
  readonly transactions: Transactions;
  readonly hintLog: HintLog;
  readonly clock: Clock;
  readonly random: Random;
  readonly file: string;
  readonly schema: SchemaGuard;
}

/** The first and the longest pause before checking again whether the application has committed. */
const LOOK_MS_FIRST = 2;
const LOOK_MS_MAX = 1_000;
/** After this long, the bell is no longer rung: workers and callers that wait find out by polling within seconds. */
const LOOK_PATIENCE_MS = 60_000;

export class ApplicationTransactions {
  readonly #params: ApplicationTransactionsParams;

  constructor(params: ApplicationTransactionsParams) {
    this.#params = params;
  }

  join(db: ApplicationDatabase): JoinedCalls {
    const database = {
      exec: (text: string) => void db.exec(text),
      prepare: (text: string) => db.prepare(text),
      close() {},
    };
    const sql = new Connection(database, { quick: false });
    this.#requireSameFile(sql);
    const inside = async <T>(body: (call: Call) => T): Promise<T> => {
      requireOpen(sql);
      // No other connection can see uncommitted keys, and a rollback may remove them before the next call: they must not enter
      // the store's catalog, nor any catalog that outlives this call.
      const now = Math.floor(this.#params.clock.now());
      const { schema } = this.#params;
      const known = { catalog: new Catalog(sql), holds: new KnownHolds() };
      const call: Call = { sql, ...known, now, knownSchema: schema.known, hints: [] };
      try {
        schema.checkNow(sql);
        const result = body(call);
        this.#announceOnCommit(sql, call.hints);
        return result;
      } catch (cause) {
        const told = cause instanceof Error ? cause.message : String(cause);
        const message = `inTransaction: ${told}. Roll the transaction back; none of it has happened.`;
        throw new HoldfastError("transaction_failed", message, { cause });
      }
    };
    return {
      start: (params) => inside((call) => startRuns(call, { ...params, holdBy: null })),
      deliver: (params) => inside((call) => deliverMessages(call, params)),
    };
  }

  #requireSameFile(sql: Connection): void {
    const { file } = this.#params;
    const [main] = sql.all<{ name: string; file: string }>("pragma database_list");
    if (main && main.file !== "" && realpathSync(main.file) === realpathSync(file)) return;
    const where = main?.file ? main.file : "a database in memory";
    throw misused(`the connection is on ${where}, but this client is connected to ${file}`);
  }

  /** The application does not report its commit. It has committed once the row is visible from this connection. */
  #announceOnCommit(sql: Connection, hints: readonly Hint[]): void {
    if (hints.length === 0) return;
    const { clock, random, transactions, hintLog } = this.#params;
    const source = Math.floor(random.next() * 2 ** 48);
    const number = recordHints(sql, source, hints);
    const began = clock.monotonic();
    const look = async (waitMs: number): Promise<void> => {
      const seen = await transactions.read((call) =>
        call.sql.get("select 1 from holdfast_hints where number = ? and source = ?", number, source),
      );
      if (seen) hintLog.ring();
      else if (clock.monotonic() - began < LOOK_PATIENCE_MS) later(Math.min(waitMs * 2, LOOK_MS_MAX));
    };
    // The store was closed meanwhile: there is no subscriber left.
    const later = (ms: number): void => void clock.setTimer(ms, () => void look(ms).catch(() => {}));
    later(LOOK_MS_FIRST);
  }
}

function requireOpen(sql: Connection): void {
  try {
    sql.script("begin");
  } catch {
    return; // SQLite refuses to begin a transaction inside a transaction: one is open.
  }
  sql.rollback();
  throw misused('no transaction is open on the connection; call db.exec("begin immediate") first');
}

function misused(what: string): HoldfastError {
  return new HoldfastError("transaction_misused", `inTransaction: ${what}.`);
}
