import type { Notifier, Store, TransactionKind } from "holdfast/adapter";

/** A store as the suites see it. Every test opens a new one and always closes it. */
export interface StoreUnderTest {
  /** Empty: no runs, no workers. */
  readonly store: Store;
  /** The notifier that this store publishes to. */
  readonly notifier: Notifier;
  /**
   * Another connection to the same data and the same clock, as another process would have it. Without it the tests that
   * want two connections make their calls on the first one. `close` of the store under test closes it as well.
   */
  openSecond?(): Promise<{ readonly store: Store; readonly notifier: Notifier }>;
  /** Hints published through one connection reach the subscribers of the other. */
  readonly hintsReachOthers?: boolean;
  /**
   * Sets the store's clock, which then stands still until it is set again; for every connection. Some tests set it back.
   * Without it the tests that need to know or to move the time are skipped.
   */
  setClock?(ms: number): Promise<void>;
  /** The application's side of transactions in the same database. */
  readonly application: ApplicationData;
  /** Ends all connections and removes the data. */
  close(): Promise<void>;
}

/** Texts that the application keeps beside Holdfast's data; none at first. */
export interface ApplicationData {
  readonly kind: TransactionKind;
  /** Adds a text inside a transaction step; at once where the kind demands it. */
  write(tx: unknown, text: string): void | Promise<void>;
  /** What has been committed, in any order. */
  written(): Promise<readonly string[]>;
}

export type OpenStore = () => Promise<StoreUnderTest>;
