import type { TransactionKind } from "./transact.ts";

/** What a store can do beyond the promises of the port. It is data: it can be sent, shown, and compared. */
export interface StoreCapabilities {
  readonly transactions: TransactionCapability;
  /** Whether a long history is read faster from segments than from its events, so that it is worth packing them. */
  readonly segments: boolean;
}

/** Whether the application's own work can be part of a transaction of the store (`Store.transact`). */
export interface TransactionCapability {
  /** The kind of transaction that the work receives; null if there is none. */
  readonly kind: TransactionKind | null;
  /** For the error that refuses other work: the end of "but this client is connected to …", and what to do. */
  readonly words: string;
}
