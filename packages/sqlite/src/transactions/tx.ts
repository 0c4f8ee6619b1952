import { HoldfastError } from "holdfast/adapter";
import type { Connection } from "../database/connection.ts";
import type { SqlValue, Statement } from "../database/driver.ts";
import { BLANK } from "../database/one-statement.ts";

/** A step's open transaction. Each call is one statement, executed synchronously; text with more than one statement is refused. */
export interface Tx {
  /** Executes a statement and returns what it changed. */
  run(sql: string, ...values: SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number };
  /** The first row, or undefined. */
  get<T = Record<string, unknown>>(sql: string, ...values: SqlValue[]): T | undefined;
  /** All rows. */
  all<T = Record<string, unknown>>(sql: string, ...values: SqlValue[]): T[];
}

const BROKEN = "a statement failed in a way that ended the transaction. Do not catch its error.";
const NOT_HERE = /^(?:begin|commit|end|rollback|savepoint|release|attach|detach|pragma|vacuum)\b/i;

export class SqliteTx implements Tx {
  readonly #sql: Connection;
  #open = true;
  #broken = false;

  constructor(sql: Connection) {
    this.#sql = sql;
  }

  run(sql: string, ...values: SqlValue[]) {
    return this.#use(sql, (statement) => {
      const { changes, lastInsertRowid } = statement.run(...values);
      return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
    });
  }

  get<T>(sql: string, ...values: SqlValue[]): T | undefined {
    return this.#use(sql, (statement) => statement.get(...values)) as T | undefined;
  }

  all<T>(sql: string, ...values: SqlValue[]): T[] {
    return this.#use(sql, (statement) => statement.all(...values)) as T[];
  }

  end(): void {
    this.#open = false;
  }

  /** Throws if SQLite ended the transaction because of an error and the function continued regardless. */
  assertWhole(): void {
    if (this.#broken) throw misused(BROKEN);
  }

  #use<T>(sql: string, use: (statement: Statement) => T): T {
    this.#check(sql);
    try {
      return this.#sql.foreign(sql, use);
    } catch (error) {
      this.#broken = !this.#sql.inTransaction;
      throw error;
    }
  }

  #check(sql: string): void {
    this.assertWhole();
    if (!this.#open) throw misused("tx was used after the transaction ended. Use it only inside the step's function.");
    const word = NOT_HERE.exec(sql.replace(BLANK, ""))?.[0];
    if (word === undefined) return;
    throw misused(
      `${word.toUpperCase()} is not allowed inside a transaction step: the step is already in a transaction.`,
    );
  }
}

function misused(what: string): HoldfastError {
  return new HoldfastError("transaction_misused", `SQLite transaction: ${what}`);
}
