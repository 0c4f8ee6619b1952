import {
  checkStoreOptions,
  type Durability,
  HoldfastError,
  type OpenedStore,
  type OpenStoreOptions,
} from "holdfast/adapter";
import { sqliteAccess } from "./access.ts";
import { Catalog } from "./database/catalog.ts";
import { Connection } from "./database/connection.ts";
import { openDatabase } from "./database/driver.ts";
import { requireSound, requireWritable } from "./database/examination.ts";
import { fileOf } from "./database/file-url.ts";
import { KnownHolds } from "./database/known-holds.ts";
import { isBusy, stillBusy, storeError } from "./errors.ts";
import { HintLog } from "./hint-log.ts";
import { MIGRATIONS, type MigrateParams, type Migration, migrate, SchemaGuard } from "./migrations.ts";
import { SqliteNotifier } from "./notifier.ts";
import { SqliteStore } from "./store.ts";
import { ApplicationTransactions } from "./transactions/application-transactions.ts";
import { BUSY_PATIENCE_MS, Transactions } from "./transactions/transactions.ts";

const RETRY_MS = 10;
/** After waiting this long for a locked file, a warning says why. */
const NOTICE_MS = 3_000;

/** Options of `openStore`, for code that opens a store without `connect`. */
export interface SqliteStoreOptions extends OpenStoreOptions {
  /**
   * Whether to receive hints from other processes; a simulator has no other processes.
   * @defaultValue `true`
   */
  readonly watch?: boolean;
}

/** Opens `file:app.db`, and creates it if it does not exist. Its folder must exist. */
export async function openStore(url: string, options: SqliteStoreOptions): Promise<OpenedStore> {
  const { store, notifier, access, place } = await openParts(url, options);
  // Writes run one after the other in this process: a second flush in flight would only make both smaller.
  const about = { ...(access === undefined ? {} : { access }), ...(place === undefined ? {} : { place }) };
  return { store, notifier, ...about, commitsInFlightMax: 1 };
}

/** The same, and returns the connection for tests that look behind the port; or as a build that knows other migrations. */
export async function openParts(
  url: string,
  options: SqliteStoreOptions,
  migrations: readonly Migration[] = MIGRATIONS,
): Promise<OpenedStore & { readonly connection: Connection }> {
  const { clock, random, log, migrate: migrateMode = "auto", durability = "sync" } = options;
  checkStoreOptions(options);
  const file = fileOf(url);
  const notifier = new SqliteNotifier({ clock, log, file, watch: options.watch ?? true });
  const source = Math.floor(random.next() * 2 ** 48);
  const hintLog = new HintLog({ clock, file, source, publish: (hints) => notifier.publish(hints) });
  const connection = await openConnection(file);
  try {
    await untilFree(options, file, () => {
      prepare(connection, durability, { mode: migrateMode, file, now: Math.floor(clock.now()), migrations });
      hintLog.begin(connection);
    });
    const catalog = new Catalog(connection);
    const schema = new SchemaGuard(file, migrations);
    const holds = new KnownHolds();
    const transactions = new Transactions({ connection, catalog, holds, hintLog, clock, random, file, schema });
    notifier.listen(() => transactions.read((call) => hintLog.news(call)));
    const applications = new ApplicationTransactions({ transactions, clock, random, file, hintLog, schema });
    const whenClosed = (): void => {
      notifier.close();
      connection.close();
    };
    const store = new SqliteStore({ transactions, clock, applications, whenClosed });
    return { store, notifier, access: sqliteAccess(transactions), place: `SQLite, ${file}`, connection };
  } catch (error) {
    connection.close();
    throw storeError(error, { file, moment: "open" });
  }
}

async function openConnection(file: string): Promise<Connection> {
  try {
    return new Connection(await openDatabase(file));
  } catch (error) {
    throw storeError(error, { file, moment: "open" });
  }
}

function prepare(sql: Connection, durability: Durability, migrating: MigrateParams): void {
  const { file } = migrating;
  const journal = sql.configure(durability);
  if (journal !== "wal") {
    throw new HoldfastError(
      "store_refused",
      `SQLite: ${file} cannot use a write-ahead log (it stays in mode "${journal}"). Put the file on a local disk.`,
      { data: { file, journal } },
    );
  }
  migrate(sql, migrating);
  requireWritable(sql);
  requireSound(sql, file);
}

/** Other processes may be opening, creating or migrating the file at the same time. */
async function untilFree(options: SqliteStoreOptions, file: string, attempt: () => void): Promise<void> {
  const { clock, random, log } = options;
  const began = clock.monotonic();
  let told = false;
  for (;;) {
    try {
      return attempt();
    } catch (error) {
      if (!isBusy(error)) throw error;
      const waitedMs = clock.monotonic() - began;
      if (waitedMs > BUSY_PATIENCE_MS) throw stillBusy(file, waitedMs, error);
      if (!told && waitedMs > NOTICE_MS) {
        told = true;
        log.warn({ file }, `${file} is locked by another program; waiting up to ${BUSY_PATIENCE_MS / 1_000} s for it`);
      }
    }
    await new Promise<void>((resolve) => void clock.setTimer(RETRY_MS * (0.5 + random.next()), resolve));
  }
}
