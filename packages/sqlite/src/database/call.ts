import type { Hint } from "holdfast/adapter";
import type { Catalog } from "./catalog.ts";
import type { Connection } from "./connection.ts";

/** One call of the port while it runs. Everything that it does through `sql` is one transaction. */
export interface Call {
  readonly sql: Connection;
  readonly catalog: Catalog;
  /** The store's time: that of the machine, which all processes on one file share. */
  readonly now: number;
  /** What to announce once the call is committed. */
  readonly hints: Hint[];
}
