/** Holdfast's store on PostgreSQL. `connect("postgres://…")` loads it automatically. */
export { postgres } from "./adapter.ts";
export type { PooledClient } from "./database/driver.ts";
export { openStore } from "./open-store.ts";
export { inTransaction } from "./transactions/in-transaction.ts";
export { type TransactionFunction, type TransactionOptions, transaction } from "./transactions/transaction.ts";
export type { ApplicationConnection, Tx, TxQuery, TxResult } from "./transactions/tx.ts";
