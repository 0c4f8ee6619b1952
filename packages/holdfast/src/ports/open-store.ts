import type { Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";
import type { Notifier } from "./notifier.ts";
import type { Random } from "./random.ts";
import type { Store } from "./store.ts";

/** How a store's own schema is brought up to date. */
export type MigrateMode =
  /** Whoever comes first applies what is missing. */
  | "auto"
  /** Nothing is changed; a schema that is not up to date is refused. For programs that may not alter tables. */
  | "check";

/** What a commit survives. Each store's documentation says what `async` risks. */
export type Durability =
  /** An answered commit is on disk. */
  | "sync"
  /** An answered commit survives a crash of the process; a power cut may take the last moments. Faster. */
  | "async";

/** The options of `connect` that the store itself follows. */
export interface StoreOptions {
  /**
   * Whether the store's tables are created and brought up to date (`"auto"`), or only checked (`"check"`).
   * @defaultValue `"auto"`
   */
  readonly migrate?: MigrateMode;
  /**
   * What an answered commit survives: also a power cut (`"sync"`), or only the death of the process (`"async"`, faster).
   * @defaultValue `"sync"`
   */
  readonly durability?: Durability;
  /**
   * The database schema that holds Holdfast's tables, on PostgreSQL.
   * @defaultValue `"holdfast"`
   */
  readonly schema?: string;
}

export interface OpenStoreOptions extends StoreOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** `store.close()` ends the notifier as well. */
export interface OpenedStore {
  readonly store: Store;
  readonly notifier: Notifier;
  /** What it is and where, for people and without secrets: `PostgreSQL at db:5432/app as ann`. */
  readonly place?: string;
  /** How long a call of it waits for an answer at most, where that is its own to set. */
  readonly callLimitMs?: number;
  /** Calls of commitRuns that are worth having under way at once; 1 where the store makes one after the other anyway. */
  readonly commitsInFlightMax?: number;
}

/** What an adapter package with a store exports as `openStore`. */
export type OpenStore = (url: string, options: OpenStoreOptions) => Promise<OpenedStore>;

/** A store that can be handed to `connect(url, { adapters: [sqlite()] })` instead of being found by its package's name. */
export interface StoreAdapter {
  /** The package, for messages: `@holdfast/sqlite`. */
  readonly name: string;
  /** The schemes of the URLs that it opens, in lower case and without the colon. */
  readonly schemes: readonly string[];
  readonly openStore: OpenStore;
}
