/** Statements of Holdfast's inside a transaction of the application's own. */
import { HoldfastError } from "holdfast/adapter";
import { ownQuery, type Row, transactionStatus } from "./driver.ts";
import type { Statement } from "./pool.ts";
import type { ApplicationConnection, TxQuery } from "./tx.ts";

export async function runInside(
  tx: ApplicationConnection,
  { text }: Statement,
  values: readonly unknown[],
): Promise<readonly Row[]> {
  // Without a transaction each statement would commit by itself, which is not what was asked for.
  if (transactionStatus(tx) === "idle") {
    const message = 'inTransaction: no transaction is open on the connection; call client.query("begin") first.';
    throw new HoldfastError("transaction_misused", message);
  }
  try {
    const { rows } = await tx.query<Row>(ownQuery({ text, values }) as TxQuery);
    return rows;
  } catch (cause) {
    const told = cause instanceof Error ? cause.message : String(cause);
    const message = `inTransaction: ${told}. Roll the transaction back; nothing of it has happened.`;
    throw new HoldfastError("transaction_failed", message, { cause });
  }
}
