/** The driver: node-postgres, set up for this store. No other file imports it; what it throws is translated in errors.ts. */
import type { Socket } from "node:net";
import pg from "pg";
import { badUrl, type Settings } from "./settings.ts";

export type Client = pg.Client;
/** A connection as a pool of `pg` hands it out. */
export type PooledClient = pg.PoolClient;
export type Row = Readonly<Record<string, unknown>>;

/** How much longer than the server's own limit to wait for its answer before the connection is given up as silent. */
const ANSWER_GRACE_MS = 5_000;
const GOODBYE_MS = 2_000;
const KEEP_ALIVE_MS = 30_000;
/** The longest that a statement of the application's own may take. */
const APPLICATION_STATEMENT_MS = 60_000;
/** A transaction whose client has vanished without a word must not keep its locks for long. */
const IDLE_IN_TRANSACTION_MS = 60_000;

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
  /** The application's own statements run here: as `pg` does them by default, with the server's own settings. */
  readonly application?: boolean;
}

/** A client that is not connected yet. Throws `invalid_option` if the URL makes no sense. */
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
    // An error without a listener would end the process; whoever uses the client learns of it by its calls or by `end`.
    client.on("error", () => {});
    return client;
  } catch (error) {
    throw badUrl(whyUnusable(error));
  }
}

/** 0 is no limit. */
function statementLimit({ statementTimeoutMs }: Settings, { patient, application }: ClientPurpose): number {
  if (patient) return 0;
  return application ? Math.max(statementTimeoutMs, APPLICATION_STATEMENT_MS) : statementTimeoutMs;
}

/** A pooler passes no settings on; there the client's own limit and the server's defaults have to do. */
function serverOptions(settings: Settings, purpose: ClientPurpose): string {
  const set = {
    // What the functions read after a lock must be what the lock protects.
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
  /** How long to wait for the answer, if not as long as the connection usually does. */
  readonly answerMs?: number;
}

/** After this long without an answer to a statement of our own the connection counts as silent. */
export function answerLimit({ statementTimeoutMs }: Settings): number {
  return statementTimeoutMs + ANSWER_GRACE_MS;
}

/** Of several statements at once: the rows of the last. */
export async function runQuery(client: Client, query: Query): Promise<readonly Row[]> {
  const { name, answerMs } = query;
  const named = name === undefined ? {} : { name };
  const limit = answerMs === undefined ? {} : { query_timeout: answerMs };
  const result = await client.query({ ...ownQuery(query), ...named, ...limit });
  const last = Array.isArray(result) ? (result as pg.QueryResult[]).at(-1) : result;
  return (last?.rows ?? []) as Row[];
}

/** A statement of ours, also on a connection of the application's: read as we do, whatever the application has set. */
export function ownQuery({ text, values = [] }: Query): pg.QueryConfig {
  return { text, values: [...values], types: { getTypeParser } };
}

/** At once, without a word to the server. */
export function destroyClient(client: Client): void {
  streamOf(client).destroy();
}

/** As of the server's last answer. Undefined where the driver does not say. */
export function transactionStatus(client: object): "idle" | "open" | "failed" | undefined {
  const { getTransactionStatus } = client as { getTransactionStatus?: () => string | null };
  const status = typeof getTransactionStatus === "function" ? getTransactionStatus.call(client) : undefined;
  return status === "I" ? "idle" : status === "T" ? "open" : status === "E" ? "failed" : undefined;
}

/** The same for all objects that stand for one connection, such as the `tx` of one step after the other. */
export function connectionOf(client: object): object {
  const { connection } = client as { readonly connection?: unknown };
  return typeof connection === "object" && connection !== null ? connection : client;
}

export function isInTransaction(client: Client): boolean {
  const status = transactionStatus(client);
  return status === "open" || status === "failed";
}

/** Several statements at once, without values. */
export async function runScript(client: Client, sql: string): Promise<void> {
  await client.query(sql);
}

/** The process stays alive for this connection: somebody waits for an answer. */
export function refClient(client: Client): void {
  streamOf(client).ref();
}

/** Nobody waits for anything on this connection: a process with nothing else to do may end. */
export function unrefClient(client: Client): void {
  streamOf(client).unref();
}

/** Says goodbye, and hangs up if that is not answered: from a connection that has gone silent nothing ever comes. */
export async function endClient(client: Client): Promise<void> {
  refClient(client);
  const stream = streamOf(client);
  stream.setTimeout(GOODBYE_MS, () => stream.destroy());
  await client.end().catch(() => {});
}

function streamOf(client: Client): Socket {
  return (client as unknown as { readonly connection: { readonly stream: Socket } }).connection.stream;
}

/** `host:port/database as user`, never the password, nor what may be one. */
export function placeOf(client: Client, secrets: readonly string[]): string {
  const host = client.host.includes("/") ? `socket ${client.host}` : client.host;
  const shown = (name: string | undefined): string => (name === undefined || secrets.includes(name) ? "" : name);
  const user = shown(client.user);
  // Without a database in the URL the driver takes the one that is named like the user.
  return `${host}:${client.port}/${shown(client.database)}${user && ` as ${user}`}`;
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

/** A copy: a run in memory keeps its input, and with a part of Node's pool it would keep 8 KiB. */
function plainBytes(buffer: Buffer): Uint8Array {
  return new Uint8Array(buffer);
}
