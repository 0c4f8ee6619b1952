/** Holdfast's store on PostgreSQL. `connect("postgres://…")` loads it by itself. */
export { postgres } from "./adapter.ts";
export type { PooledClient } from "./driver.ts";
export { inTransaction } from "./in-transaction.ts";
export { openStore } from "./open-store.ts";
export { type TransactionFunction, type TransactionOptions, transaction } from "./transaction.ts";
export type { ApplicationConnection, Tx, TxQuery, TxResult } from "./tx.ts";
