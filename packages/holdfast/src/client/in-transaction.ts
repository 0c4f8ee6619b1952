import type { Store } from "../ports/store.ts";
import { Client } from "./client.ts";
import type { ClientInTransaction, JoinedCalls } from "./client-in-transaction.ts";

/** For an adapter's `inTransaction`: `join` returns the calls of its store that are part of the transaction. */
export function clientInTransaction(client: Client, join: (store: Store) => JoinedCalls): ClientInTransaction {
  return Client.inTransaction(client, join);
}
