/** The driver: node-postgres, set up for this store. No other file imports it; what it throws is translated in errors.ts. */
import pg from "pg";
import { badUrl, type Settings } from "./settings.ts";

export type Client = pg.Client;
export type Row = Readonly<Record<string, unknown>>;

/** How much longer than the server's own limit to wait for its answer before the connection is given up. */
const ANSWER_GRACE_MS = 5_000;
const KEEP_ALIVE_MS = 30_000;

/**
 * Lists are made to walk indexes and to stop early; a guess at how many runs match must not change that. (With a sequential
 * scan "off", its cost would seem to make compiling worth while.) The functions bring the same settings with them.
 */
export const PLANNER_SETTINGS = { enable_seqscan: "off", max_parallel_workers_per_gather: 0, jit: "off" } as const;

const BYTEA = 17;
const INT8 = 20;
const BYTEA_ARRAY = 1001;
const TEXT_ARRAY = 1009;
const INT8_ARRAY = 1016;

export interface ClientPurpose {
  /** `sync` where the server's own default is weaker. */
  readonly synchronousCommit?: "on" | "off" | undefined;
  /** No limit on how long a statement may take: migrations. */
  readonly patient?: boolean;
}

/** A client that is not connected yet. Throws `invalid_option` if the URL makes no sense. */
export function newClient(settings: Settings, purpose: ClientPurpose = {}): Client {
  const { connectTimeoutMs, statementTimeoutMs } = settings;
  try {
    const client = new pg.Client({
      connectionString: settings.connectionString,
      fallback_application_name: "holdfast",
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      pipeline: true,
      types: { getTypeParser },
      ...(purpose.patient ? {} : { query_timeout: statementTimeoutMs + ANSWER_GRACE_MS }),
      ...(settings.pooler ? {} : { options: serverOptions(settings, purpose) }),
    } as pg.ClientConfig);
    // An error without a listener would end the process; whoever uses the client learns of it by its calls or by `end`.
    client.on("error", () => {});
    return client;
  } catch (error) {
    throw badUrl(whyUnusable(error));
  }
}

/** A pooler passes no settings on; there the client's own limit and the server's defaults have to do. */
function serverOptions({ serverOptions, statementTimeoutMs }: Settings, purpose: ClientPurpose): string {
  const set = {
    // What the functions read after a lock must be what the lock protects.
    default_transaction_isolation: "read\\ committed",
    statement_timeout: purpose.patient ? 0 : statementTimeoutMs,
    ...PLANNER_SETTINGS,
    ...(purpose.synchronousCommit === undefined ? {} : { synchronous_commit: purpose.synchronousCommit }),
  };
  const own = Object.entries(set).map(([name, value]) => `-c ${name}=${value}`);
  return [serverOptions, ...own].join(" ").trim();
}

export interface Query {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
}

export async function runQuery(client: Client, query: Query): Promise<readonly Row[]> {
  const { name, text, values = [] } = query;
  const result = await client.query({ text, values: [...values], ...(name === undefined ? {} : { name }) });
  return result.rows as Row[];
}

/** Several statements at once, without values. */
export async function runScript(client: Client, sql: string): Promise<void> {
  await client.query(sql);
}

/** `user@host:port/database`, never the password. */
export function placeOf(client: Client): string {
  const host = client.host.includes("/") ? `socket ${client.host}` : client.host;
  return `${host}:${client.port}/${client.database ?? ""} as ${client.user ?? ""}`;
}

/** Which process of the server serves this client. */
export function serverProcess(client: Client): number | undefined {
  return (client as unknown as { readonly processID?: number }).processID;
}

/** The driver's own message may repeat the URL, and with it the password. */
function whyUnusable(error: unknown): string {
  const { code, path } = error as { readonly code?: unknown; readonly path?: unknown };
  return code === "ENOENT" || code === "EACCES" ? `a file that it names cannot be read (${path})` : "it cannot be read";
}

function getTypeParser(oid: number, format?: "text" | "binary"): (value: never) => unknown {
  switch (oid) {
    case INT8:
      return Number as (value: never) => unknown;
    case BYTEA:
      return ((value: string) => plainBytes(Buffer.from(value.slice(2), "hex"))) as (value: never) => unknown;
    case INT8_ARRAY: {
      const parse = pg.types.getTypeParser(TEXT_ARRAY as number) as (value: string) => string[];
      return ((value: string) => parse(value).map(Number)) as (value: never) => unknown;
    }
    case BYTEA_ARRAY: {
      const parse = pg.types.getTypeParser(BYTEA_ARRAY as number) as (value: string) => Buffer[];
      return ((value: string) => parse(value).map(plainBytes)) as (value: never) => unknown;
    }
    default:
      return pg.types.getTypeParser(oid, format as "text") as (value: never) => unknown;
  }
}

function plainBytes(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength);
}
