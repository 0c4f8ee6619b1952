import type { AccessStore } from "./access.ts";
import type { Clock } from "./clock.ts";
import type { Logger } from "./logger.ts";
import type { Notifier } from "./notifier.ts";
import type { Random } from "./random.ts";
import type { Store } from "./store.ts";

/** How a store's own schema is brought up to date. */
export type MigrateMode =
  /** The first client to connect applies what is missing. */
  | "auto"
  /** Nothing is changed; a schema that is not up to date is refused. For programs that may not alter tables. */
  | "check";

/** What a commit survives. Each store's documentation says what `async` risks. */
export type Durability =
  /** An answered commit is on disk. */
  | "sync"
  /** An answered commit survives a crash of the process; a power cut may take the last moments. Faster. */
  | "async";

/** The options of `connect` that concern the store itself. */
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
  /**
   * What a server knows this client by: an API key or another bearer token. A function is called for each new connection, so that
   * a token may be replaced while the client runs.
   * @defaultValue none
   */
  readonly token?: string | (() => string | Promise<string>);
  /**
   * Certificates for the connection to a server (`https:`).
   * @defaultValue the server's certificate is checked against those that Node.js trusts
   */
  readonly tls?: TlsOptions;
}

/** Certificates, each as PEM. */
export interface TlsOptions {
  /**
   * The authorities that are trusted instead of those that Node.js trusts.
   * @defaultValue those that Node.js trusts
   */
  readonly ca?: string | Uint8Array;
  /**
   * This client's own certificate, for servers that ask for one.
   * @defaultValue none
   */
  readonly cert?: string | Uint8Array;
  /**
   * The key of `cert`.
   * @defaultValue none
   */
  readonly key?: string | Uint8Array;
  /**
   * The name that the server's certificate must have.
   * @defaultValue the host of the URL
   */
  readonly servername?: string;
}

export interface OpenStoreOptions extends StoreOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** `store.close()` also ends the notifier. */
export interface OpenedStore {
  readonly store: Store;
  readonly notifier: Notifier;
  /** Who may use it through a server; absent if the store cannot say. */
  readonly access?: AccessStore;
  /** What and where it is, for people and without secrets: `PostgreSQL at db:5432/app as ann`. */
  readonly place?: string;
  /** The longest that one of its calls waits for an answer, if it sets that limit itself. */
  readonly callLimitMs?: number;
  /** How many concurrent `runs.commit` calls are worthwhile; 1 if the store executes them one after the other anyway. */
  readonly commitsInFlightMax?: number;
}

/** What an adapter package with a store exports as `openStore`. */
export type OpenStore = (url: string, options: OpenStoreOptions) => Promise<OpenedStore>;

/** A store that can be passed to `connect(url, { adapters: [sqlite()] })` instead of being found by its package's name. */
export interface StoreAdapter {
  /** The package, for messages: `@holdfast/sqlite`. */
  readonly name: string;
  /** The URL schemes that it opens, in lower case and without the colon. */
  readonly schemes: readonly string[];
  readonly openStore: OpenStore;
}
