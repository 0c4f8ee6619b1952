import {
  type Client,
  type ClientInTransaction,
  clientInTransaction,
  HoldfastError,
  objectWith,
} from "holdfast/adapter";
import { SqliteStore } from "../store.ts";
import type { ApplicationDatabase } from "./application-transactions.ts";

const isDatabase = objectWith("exec", "prepare");

/**
 * A client whose starts and messages are part of the transaction that the application has open on `db`: they happen when it
 * commits, or not at all. `db` is the application's own connection to the same file (`node:sqlite`, or a driver with the
 * same calls), after `begin immediate`.
 * Throws `invalid_option` for anything else.
 */
export function inTransaction(client: Client, db: ApplicationDatabase): ClientInTransaction {
  return clientInTransaction(client, (store) => {
    if (!(store instanceof SqliteStore)) {
      const message =
        "inTransaction of @holdfast/sqlite needs a client that is connected to an SQLite file. Import inTransaction from the package of the store in use.";
      throw new HoldfastError("not_supported", message);
    }
    isDatabase(db, "inTransaction", "the connection");
    return store.join(db);
  });
}
