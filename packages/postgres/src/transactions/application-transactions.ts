/** Holdfast's statements inside the application's own transaction. */
import { HoldfastError } from "holdfast/adapter";
import { connectionOf, ownQuery, type Row, transactionStatus } from "../database/driver.ts";
import type { Statement } from "../database/pool.ts";
import type { ApplicationConnection, TxQuery } from "./tx.ts";

/**
 * Identifies the database and server behind a connection, whatever host name leads to it. Any role may ask, and all connections
 * to a running server get the same answer.
 */
export const WHICH_DATABASE: Statement = {
  name: "which_database",
  text: `select extract(epoch from pg_catalog.pg_postmaster_start_time())::text || ' ' || d.oid as id, d.datname::text as name
           from pg_catalog.pg_database d where d.datname = current_database()`,
  reads: true,
};

/** Runs statements on the application's connections, if they lead to the store's own database. */
export class ApplicationTransactions {
  readonly #whichOurs: () => Promise<readonly Row[]>;
  readonly #where: string;
  /** Connections that are known to lead there: a connection never changes its database. */
  readonly #known = new WeakSet<object>();

  constructor(whichOurs: () => Promise<readonly Row[]>, where: string) {
    this.#whichOurs = whichOurs;
    this.#where = where;
  }

  async run(tx: ApplicationConnection, statement: Statement, values: readonly unknown[]): Promise<readonly Row[]> {
    const connection = connectionOf(tx);
    if (!this.#known.has(connection)) {
      await this.#requireOurs(tx);
      this.#known.add(connection);
    }
    return runInside(tx, statement, values);
  }

  async #requireOurs(tx: ApplicationConnection): Promise<void> {
    const [theirs] = await runInside(tx, WHICH_DATABASE, []);
    const [ours] = await this.#whichOurs();
    if (theirs?.id === ours?.id) return;
    const message = `inTransaction: the connection leads to another database ("${theirs?.name}") than the client's (PostgreSQL at ${this.#where}). Use a connection to the client's database; nothing has happened.`;
    throw new HoldfastError("transaction_misused", message, { data: { database: theirs?.name, where: this.#where } });
  }
}

async function runInside(
  tx: ApplicationConnection,
  { text }: Statement,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  // Without a transaction, each statement would commit on its own.
  if (transactionStatus(tx) === "idle") {
    const message = 'inTransaction: no transaction is open on the connection; call client.query("begin") first.';
    throw new HoldfastError("transaction_misused", message);
  }
  try {
    const { rows } = await tx.query<Row>(ownQuery({ text, values }) as TxQuery);
    return rows;
  } catch (cause) {
    const told = cause instanceof Error ? cause.message : String(cause);
    const message = `inTransaction: ${told}. Roll the transaction back; none of it has happened.`;
    throw new HoldfastError("transaction_failed", message, { cause });
  }
}
