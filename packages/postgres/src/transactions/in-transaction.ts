import { type Client, type ClientInTransaction, clientInTransaction, HoldfastError } from "holdfast/adapter";
import { PostgresStore } from "../store.ts";
import type { ApplicationConnection } from "./tx.ts";

/**
 * A client whose starts and messages are part of the transaction that the application has open on `tx`: they happen when it
 * commits, or not at all. `tx` is a connection of `pg` to the same database after `begin`, or the `tx` of a transaction step.
 */
export function inTransaction(client: Client, tx: ApplicationConnection): ClientInTransaction {
  return clientInTransaction(client, (store) => {
    if (!(store instanceof PostgresStore)) {
      const message =
        "inTransaction of @holdfast/postgres needs a client that is connected to PostgreSQL. Import inTransaction from the package of the store in use.";
      throw new HoldfastError("not_supported", message);
    }
    return store.join(tx);
  });
}
