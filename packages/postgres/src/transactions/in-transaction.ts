import {
  type Client,
  type ClientInTransaction,
  clientInTransaction,
  HoldfastError,
  invalidOption,
  objectWith,
} from "holdfast/adapter";
import { PostgresStore } from "../store.ts";
import type { ApplicationConnection } from "./tx.ts";

const isConnection = objectWith("query");

/**
 * A client whose starts and messages are part of the transaction that the application has open on `tx`: they happen when it
 * commits, or not at all. `tx` is a connection of `pg` to the same database after `begin`, or the `tx` of a transaction step.
 * Throws `invalid_option` for anything else.
 */
export function inTransaction(client: Client, tx: ApplicationConnection): ClientInTransaction {
  return clientInTransaction(client, (store) => {
    if (!(store instanceof PostgresStore)) {
      const message =
        "inTransaction of @holdfast/postgres needs a client that is connected to PostgreSQL. Import inTransaction from the package of the store in use.";
      throw new HoldfastError("not_supported", message);
    }
    requireConnection(tx);
    return store.join(tx);
  });
}

/** A pool sends each statement to a connection of its choice, which has no transaction open. */
function requireConnection(tx: ApplicationConnection): void {
  isConnection(tx, "inTransaction", "the connection");
  const { totalCount, idleCount } = tx as { readonly totalCount?: unknown; readonly idleCount?: unknown };
  if (typeof totalCount !== "number" || typeof idleCount !== "number") return;
  throw invalidOption(
    "inTransaction",
    "the connection",
    "is a pool. Pass the connection from pool.connect() on which begin was sent",
  );
}
