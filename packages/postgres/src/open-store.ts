import type { OpenedStore, OpenStoreOptions } from "holdfast/adapter";
import { HoldfastError, uuidV7 } from "holdfast/adapter";
import { postgresAccess } from "./access.ts";
import {
  answerLimit,
  type Client,
  type ClientPurpose,
  endClient,
  newClient,
  placeOf,
  runQuery,
} from "./database/driver.ts";
import { Pool } from "./database/pool.ts";
import { Server } from "./database/server.ts";
import { Sessions } from "./database/sessions.ts";
import { quoteName, readSettings, type Settings } from "./database/settings.ts";
import { openError } from "./errors.ts";
import { MIGRATIONS, type Migration, migrate } from "./migrations.ts";
import { PostgresNotifier } from "./notifier.ts";
import { PostgresStore } from "./store.ts";
import { TransactionSteps } from "./transactions/transact.ts";

const SERVER_VERSION_MIN = 140_000;

/** `postgres://user:password@host:port/database?schema=…`; docs/postgresql.md lists the parameters. */
export function openStore(url: string, options: OpenStoreOptions): Promise<OpenedStore> {
  return openWith(url, options, MIGRATIONS);
}

/** The same as a build that knows these migrations: for tests. */
export async function openWith(
  url: string,
  options: OpenStoreOptions,
  migrations: readonly Migration[],
): Promise<OpenedStore> {
  const { clock, random, log } = options;
  const settings = readSettings(url, options);
  const client = newClient(settings, { patient: true });
  const where = placeOf(client, settings.secrets);
  let purpose: ClientPurpose;
  try {
    await client.connect();
    purpose = await examine(client, settings, where);
    await migrate({ client, schema: settings.schema, mode: settings.migrate, where, log, clock, migrations });
  } catch (error) {
    throw openError(error, where, settings);
  } finally {
    await endClient(client);
  }
  const pool = new Pool({ settings, purpose, where });
  const owns = (process: number): boolean => pool.owns(process);
  const notifier = new PostgresNotifier({ settings, where, clock, random, log, owns });
  await notifier.start();
  const sessions = new Sessions({ settings, purpose, where });
  const { schema, notify } = settings;
  const newToken = (): string => uuidV7(clock.now(), random.bytes(16));
  const steps = new TransactionSteps({ sessions, schema, where, newToken });
  const server = new Server({ pool, notifier, schema, notify });
  const whenClosed = async (): Promise<void> => {
    await Promise.all([notifier.close(), sessions.close(), pool.close()]);
  };
  const store = new PostgresStore({ server, steps, where, whenClosed });
  const callLimitMs = settings.connectTimeoutMs + answerLimit(settings);
  return {
    store,
    notifier,
    access: postgresAccess(server),
    callLimitMs,
    place: `PostgreSQL at ${where}, schema ${quoteName(schema)}`,
  };
}

/** Refuses a server that is too old or accepts no writes, and finds out which settings the connections need. */
async function examine(client: Client, { durability }: Settings, where: string): Promise<ClientPurpose> {
  const [row] = await runQuery(client, {
    text: `select current_setting('server_version_num')::int as version, current_setting('synchronous_commit') as commit,
                  pg_is_in_recovery() as standby, current_setting('transaction_read_only') = 'on' as "readOnly"`,
  });
  if ((row?.version as number) < SERVER_VERSION_MIN) {
    throw new HoldfastError(
      "not_supported",
      `PostgreSQL at ${where}: this is version ${Math.floor((row?.version as number) / 10_000)}; Holdfast needs 14 or later.`,
    );
  }
  if (row?.standby === true) {
    const advice = "Connect to the primary, or try again when this server has been promoted.";
    throw new HoldfastError(
      "store_unavailable",
      `PostgreSQL at ${where}: this is a standby, which takes no writes. ${advice}`,
    );
  }
  if (row?.readOnly === true) {
    const advice =
      "Remove the setting from the role, the database, the server or the URL (options=-c…), or use another role.";
    const message = `PostgreSQL at ${where}: transactions are read-only here (default_transaction_read_only is on). ${advice}`;
    throw new HoldfastError("store_refused", message);
  }
  if (durability === "async") return { synchronousCommit: "off" };
  return row?.commit === "off" ? { synchronousCommit: "on" } : {};
}
