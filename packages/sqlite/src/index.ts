/** Holdfast's store on one SQLite file. `connect("file:app.db")` loads it automatically. */
export { openStore, sqlite } from "./adapter.ts";
export type { SqlValue } from "./database/driver.ts";
export type { SqliteStoreOptions } from "./open-store.ts";
export type { ApplicationDatabase } from "./transactions/application-transactions.ts";
export { inTransaction } from "./transactions/in-transaction.ts";
export { type TransactionFunction, type TransactionOptions, transaction } from "./transactions/transaction.ts";
export type { Tx } from "./transactions/tx.ts";
