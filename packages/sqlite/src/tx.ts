import { HoldfastError } from "holdfast/adapter";
import type { Connection } from "./connection.ts";
import type { SqlValue } from "./driver.ts";

/** The open transaction of a step. Each call is one statement, and everything happens at once. */
export interface Tx {
  run(sql: string, ...values: SqlValue[]): { readonly changes: number; readonly lastInsertRowid: number };
  get<T = Record<string, unknown>>(sql: string, ...values: SqlValue[]): T | undefined;
  all<T = Record<string, unknown>>(sql: string, ...values: SqlValue[]): T[];
}

/** Spaces and comments before the first word of a statement. */
const LEADING = /^(?:\s+|--[^\n]*(?:\n|$)|\/\*[\s\S]*?\*\/|;)*/;
const NOT_HERE = /^(?:begin|commit|end|rollback|savepoint|release|attach|detach|pragma|vacuum)\b/i;

export class SqliteTx implements Tx {
  readonly #sql: Connection;
  #open = true;

  constructor(sql: Connection) {
    this.#sql = sql;
  }

  run(sql: string, ...values: SqlValue[]) {
    this.#check(sql);
    return this.#sql.foreign(sql, (statement) => {
      const { changes, lastInsertRowid } = statement.run(...values);
      return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) };
    });
  }

  get<T>(sql: string, ...values: SqlValue[]): T | undefined {
    this.#check(sql);
    return this.#sql.foreign(sql, (statement) => statement.get(...values)) as T | undefined;
  }

  all<T>(sql: string, ...values: SqlValue[]): T[] {
    this.#check(sql);
    return this.#sql.foreign(sql, (statement) => statement.all(...values)) as T[];
  }

  end(): void {
    this.#open = false;
  }

  #check(sql: string): void {
    if (!this.#open) throw misused("it was used after its end. Use tx only inside the function that it is given to.");
    const word = NOT_HERE.exec(sql.replace(LEADING, ""))?.[0];
    if (word === undefined) return;
    throw misused(`"${word.toUpperCase()}" is not for here. The transaction begins and ends by itself.`);
  }
}

function misused(what: string): HoldfastError {
  return new HoldfastError("transaction_misused", `SQLite transaction: ${what}`);
}
