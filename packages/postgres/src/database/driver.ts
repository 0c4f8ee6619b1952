/** The driver: node-postgres, configured for this store. No other file imports it; errors.ts translates what it throws. */
import type { Socket } from "node:net";
import pg from "pg";
import { badUrl, type Settings } from "./settings.ts";

export type Client = pg.Client;
/** A connection as a pool of `pg` hands it out. */
export type PooledClient = pg.PoolClient;
export type Row = Readonly<Record<string, unknown>>;

/** How much longer than the server's own limit to wait for an answer before the connection counts as silent. */
const ANSWER_GRACE_MS = 5_000;
const GOODBYE_MS = 2_000;
const KEEP_ALIVE_MS = 30_000;
/** How long a statement of the application may take. */
const APPLICATION_STATEMENT_MS = 60_000;
/** A transaction whose client has vanished without closing the connection must not keep its locks for long. */
const IDLE_IN_TRANSACTION_MS = 60_000;

/**
 * List queries are designed to walk indexes and stop early; an estimate of how many runs match must not change that. (JIT is
 * off because the cost added by disabling sequential scans would make it seem worthwhile.) The functions carry the same settings.
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
  /** No limit on how long a statement may take; for migrations. */
  readonly patient?: boolean;
  /** For the application's statements: runs them as `pg` does by default, with the server's settings. */
  readonly application?: boolean;
}

/** A client that is not connected yet. Throws `invalid_option` if the URL is unusable. */
export function newClient(settings: Settings, purpose: ClientPurpose = {}): Client {
  const { connectTimeoutMs } = settings;
  const statementMs = statementLimit(settings, purpose);
  try {
    const client = new pg.Client({
      connectionString: settings.connectionString,
      fallback_application_name: "holdfast",
      connectionTimeoutMillis: connectTimeoutMs,
      keepAlive: true,
      keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
      ...(purpose.application ? {} : { pipeline: true, types: { getTypeParser } }),
      ...(statementMs === 0 ? {} : { query_timeout: statementMs + ANSWER_GRACE_MS }),
      ...(settings.pooler ? {} : { options: serverOptions(settings, purpose) }),
    } as pg.ClientConfig);
    // An "error" event without a listener would end the process. Users of the client see the failure in their calls or by `end`.
    client.on("error", () => {});
    return client;
  } catch (error) {
    throw badUrl(whyUnusable(error));
  }
}

/** 0 means no limit. */
function statementLimit({ statementTimeoutMs }: Settings, { patient, application }: ClientPurpose): number {
  if (patient) return 0;
  return application ? Math.max(statementTimeoutMs, APPLICATION_STATEMENT_MS) : statementTimeoutMs;
}

/** A pooler does not forward settings; behind one, only the client's limit and the server's defaults apply. */
function serverOptions(settings: Settings, purpose: ClientPurpose): string {
  const set = {
    // What the functions read after taking a lock must be current, not an older snapshot.
    default_transaction_isolation: "read\\ committed",
    statement_timeout: statementLimit(settings, purpose),
    ...(purpose.application ? { idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS } : PLANNER_SETTINGS),
    ...(purpose.synchronousCommit === undefined ? {} : { synchronous_commit: purpose.synchronousCommit }),
  };
  const own = Object.entries(set).map(([name, value]) => `-c ${name}=${value}`);
  return [settings.serverOptions, ...own].join(" ").trim();
}

export interface Query {
  readonly name?: string;
  readonly text: string;
  readonly values?: readonly unknown[];
  /** How long to wait for the answer, if not for the connection's default. */
  readonly answerMs?: number;
}

/** If one of our statements gets no answer for this long, the connection counts as silent. */
export function answerLimit({ statementTimeoutMs }: Settings): number {
  return statementTimeoutMs + ANSWER_GRACE_MS;
}

/** For several statements at once, returns the rows of the last one. */
export async function runQuery(client: Client, query: Query): Promise<readonly Row[]> {
  const { name, answerMs } = query;
  const named = name === undefined ? {} : { name };
  const limit = answerMs === undefined ? {} : { query_timeout: answerMs };
  const result = await client.query({ ...ownQuery(query), ...named, ...limit });
  const last = Array.isArray(result) ? (result as pg.QueryResult[]).at(-1) : result;
  return (last?.rows ?? []) as Row[];
}

/** One of our statements, also on the application's connection: parses values our way, whatever parsers the application has set. */
export function ownQuery({ text, values = [] }: Query): pg.QueryConfig {
  return { text, values: values as unknown[], types: { getTypeParser } };
}

/** Closes the socket at once, without notifying the server. */
export function destroyClient(client: Client): void {
  streamOf(client).destroy();
}

/** As of the server's last answer. Undefined if the driver does not report it. */
export function transactionStatus(client: object): "idle" | "open" | "failed" | undefined {
  const { getTransactionStatus } = client as { getTransactionStatus?: () => string | null };
  const status = typeof getTransactionStatus === "function" ? getTransactionStatus.call(client) : undefined;
  return status === "I" ? "idle" : status === "T" ? "open" : status === "E" ? "failed" : undefined;
}

/** The same for all objects that wrap one connection, such as the `tx` of successive steps. */
export function connectionOf(client: object): object {
  const { connection } = client as { readonly connection?: unknown };
  return typeof connection === "object" && connection !== null ? connection : client;
}

export function isInTransaction(client: Client): boolean {
  const status = transactionStatus(client);
  return status === "open" || status === "failed";
}

/** Several statements at once, without parameters. */
export async function runScript(client: Client, sql: string): Promise<void> {
  await client.query(sql);
}

/** Keeps the process alive while a caller waits for an answer on this connection. */
export function refClient(client: Client): void {
  streamOf(client).ref();
}

/** No caller waits on this connection: a process with nothing else to do may exit. */
export function unrefClient(client: Client): void {
  streamOf(client).unref();
}

/** Closes the connection in an orderly way, and by force if the server does not answer: a silent connection never would. */
export async function endClient(client: Client): Promise<void> {
  refClient(client);
  const stream = streamOf(client);
  stream.setTimeout(GOODBYE_MS, () => stream.destroy());
  await client.end().catch(() => {});
}

function streamOf(client: Client): Socket {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
}

/** `host:port/database as user`, never the password, nor anything that may be one. */
export function placeOf(client: Client, secrets: readonly string[]): string {
  const host = client.host.includes("/") ? `socket ${client.host}` : client.host;
  const shown = (name: string | undefined): string => (name === undefined || secrets.includes(name) ? "" : name);
  const user = shown(client.user);
  // Without a database in the URL, the driver uses the one named after the user.
  return `${host}:${client.port}/${shown(client.database)}${user && ` as ${user}`}`;
}

/** The process id of the backend that serves this client. */
export function serverProcess(client: Client): number | undefined {
  return (client as unknown as { readonly processID?: number }).processID;
}

/** The driver's message may repeat the URL, and with it the password. */
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

/** A copy: a run in memory keeps its input, and a slice of Node's buffer pool would keep 8 KiB alive. */
function plainBytes(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer);
}
