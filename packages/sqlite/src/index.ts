/** Holdfast's store on one SQLite file. `connect("file:app.db")` loads it by itself. */
export { openStore, sqlite } from "./adapter.ts";
export type { ApplicationDatabase } from "./application-transactions.ts";
export type { SqlValue } from "./driver.ts";
export { inTransaction } from "./in-transaction.ts";
export type { SqliteStoreOptions } from "./open-store.ts";
export { type TransactionFunction, type TransactionOptions, transaction } from "./transaction.ts";
export type { Tx } from "./tx.ts";
