import type { Hint } from "holdfast/adapter";
import type { Catalog } from "./catalog.ts";
import type { Connection } from "./connection.ts";
import type { KnownHolds } from "./known-holds.ts";

/** One port call in progress. Everything it does through `sql` is one transaction. */
export interface Call {
  readonly sql: Connection;
  readonly catalog: Catalog;
  readonly holds: KnownHolds;
  /** The store's time is the machine's, which all processes on one file share. */
  readonly now: number;
  /** The newest migration that this code knows. */
  readonly knownSchema: number;
  /** Announced once the call is committed. */
  readonly hints: Hint[];
}
