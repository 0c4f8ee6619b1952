import type { Durability } from "holdfast/adapter";
import type { Columns, Database, SqlValue, Statement } from "./driver.ts";
import { requireOneStatement } from "./one-statement.ts";

/** SQLite itself never waits for a lock: it would sleep, which blocks the event loop, with the runs and heartbeats of this process. */
const BUSY_WAIT_MS = 0;
const CACHE_KIB = 32 * 1024;
/** A burst may let the log grow; afterwards it is truncated to this size. */
const LOG_BYTES_KEPT = 64 * 1024 * 1024;

const FOREIGN_STATEMENTS_MAX = 200;

/** `quick`: the driver allows `get` on a statement that returns no rows. Some drivers that applications use refuse it. */
export interface ConnectionOptions {
  readonly quick: boolean;
}

/**
 * A connection with its prepared statements. Everything is synchronous.
 *
 * A small statement spends most of its time between JavaScript and SQLite, and most of that on the object that the driver
 * creates for the answer. Statements that run once per run of a flush therefore use `columns` and `execute`.
 */
export class Connection {
  readonly #db: Database;
  readonly #quick: boolean;
  readonly #statements = new Map<string, Statement>();
  /** Kept apart from the others: whether rows are arrays is a setting of the statement. */
  readonly #columnStatements = new Map<string, ColumnStatement>();
  readonly #foreign = new Map<string, Statement>();

  constructor(db: Database, { quick }: ConnectionOptions = { quick: true }) {
    this.#db = db;
    this.#quick = quick;
  }

  /** Settings that every connection needs first. Returns the journal mode that SQLite could set. */
  configure(durability: Durability): string | undefined {
    this.#db.exec(`pragma busy_timeout = ${BUSY_WAIT_MS}`);
    const mode = this.get<{ journal_mode: string }>("pragma journal_mode = wal")?.journal_mode;
    // "normal" leaves commits in the operating system's cache until the next checkpoint; the file stays consistent.
    this.#db.exec(`pragma synchronous = ${durability === "async" ? "normal" : "full"}`);
    if (durability === "sync") this.#db.exec("pragma fullfsync = on"); // macOS: flushes the disk's own cache as well
    this.#db.exec(`pragma cache_size = -${CACHE_KIB}`);
    this.#db.exec(`pragma journal_size_limit = ${LOG_BYTES_KEPT}`);
    return mode;
  }

  get<T>(sql: string, ...values: SqlValue[]): T | undefined {
    return this.#prepare(sql).get(...values) as T | undefined;
  }

  all<T>(sql: string, ...values: SqlValue[]): T[] {
    return this.#prepare(sql).all(...values) as T[];
  }

  /** The first row. */
  columns(sql: string, ...values: SqlValue[]): Columns | undefined {
    const { statement, arrays } = this.#prepareColumns(sql);
    const row = statement.get(...values);
    return arrays || row === undefined ? (row as Columns | undefined) : columnsOf(row);
  }

  allColumns(sql: string, ...values: SqlValue[]): Columns[] {
    const { statement, arrays } = this.#prepareColumns(sql);
    const rows = statement.all(...values);
    return arrays ? (rows as Columns[]) : rows.map(columnsOf);
  }

  /** For statements that return no rows. */
  execute(sql: string, ...values: SqlValue[]): void {
    if (this.#quick) this.#prepare(sql).get(...values);
    else this.#prepare(sql).run(...values);
  }

  /** Returns how many rows were changed. */
  run(sql: string, ...values: SqlValue[]): number {
    return Number(this.#prepare(sql).run(...values).changes);
  }

  /** Returns the integer key of the inserted row. */
  insert(sql: string, ...values: SqlValue[]): number {
    return Number(this.#prepare(sql).run(...values).lastInsertRowid);
  }

  /** The same for a statement that may insert nothing; null if it did not. */
  insertIfNew(sql: string, ...values: SqlValue[]): number | null {
    const { changes, lastInsertRowid } = this.#prepare(sql).run(...values);
    return Number(changes) === 0 ? null : Number(lastInsertRowid);
  }

  /** One statement of the application. Its text may be new every time, so only a few are cached. */
  foreign<T>(sql: string, use: (statement: Statement) => T): T {
    const known = this.#foreign.get(sql);
    if (known) return use(known);
    const statement = this.#db.prepare(sql);
    requireOneStatement(sql, (part) => this.#prepares(part));
    if (this.#foreign.size >= FOREIGN_STATEMENTS_MAX) this.#foreign.clear();
    this.#foreign.set(sql, statement);
    return use(statement);
  }

  /** Several statements at once, without parameters. */
  script(sql: string): void {
    this.#db.exec(sql);
  }

  /** Some errors make SQLite end the transaction; later statements would then commit one by one. */
  get inTransaction(): boolean {
    if (this.#db.isTransaction !== undefined) return this.#db.isTransaction;
    try {
      this.#db.exec("begin");
    } catch {
      return true;
    }
    this.rollback();
    return false;
  }

  /** Ends the open transaction, if SQLite has not already ended it because of an error. */
  rollback(): void {
    try {
      this.#db.exec("rollback");
    } catch {
      // No transaction was open.
    }
  }

  /** The texts of all statements so far. */
  statements(): string[] {
    return [...this.#statements.keys(), ...this.#columnStatements.keys()];
  }

  close(): void {
    // The last connection to close moves the log into the file, but @photostructure/sqlite keeps a closed connection alive
    // until its statements are garbage-collected. While other connections are in use, this does nothing.
    try {
      this.#db.exec("pragma wal_checkpoint(truncate)");
    } catch {
      // A damaged file or a full disk: the log stays, and the next connection to open the file reads it.
    }
    this.#statements.clear();
    this.#columnStatements.clear();
    this.#foreign.clear();
    this.#db.close();
  }

  #prepare(sql: string): Statement {
    const known = this.#statements.get(sql);
    if (known) return known;
    const statement = this.#db.prepare(sql);
    this.#statements.set(sql, statement);
    return statement;
  }

  #prepares(sql: string): boolean {
    try {
      this.#db.prepare(sql);
      return true;
    } catch {
      return false;
    }
  }

  #prepareColumns(sql: string): ColumnStatement {
    const known = this.#columnStatements.get(sql);
    if (known) return known;
    const statement = this.#db.prepare(sql);
    const arrays = statement.setReturnArrays !== undefined;
    statement.setReturnArrays?.(true);
    const prepared = { statement, arrays };
    this.#columnStatements.set(sql, prepared);
    return prepared;
  }
}

interface ColumnStatement {
  readonly statement: Statement;
  /** Whether the driver can return rows as arrays. */
  readonly arrays: boolean;
}

/** Drivers set the properties of a row in the order of its columns. */
function columnsOf(row: unknown): Columns {
  return Object.values(row as Record<string, SqlValue>);
}
