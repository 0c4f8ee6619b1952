import {
  checkStoreOptions,
  type Durability,
  HoldfastError,
  type MigrateMode,
  nearestName,
  readServerUrl,
  type ServerUrl,
  type StoreOptions,
  secretsOf,
} from "holdfast/adapter";

/** Settings from the URL and the options. Parameters that are not Holdfast's stay in `connectionString` for the driver: TLS, user, … */
export interface Settings {
  readonly connectionString: string;
  readonly schema: string;
  readonly migrate: MigrateMode;
  readonly durability: Durability;
  /** Send and receive notifications. */
  readonly notify: boolean;
  /** The server is behind a pooler that reassigns the connection after each transaction. */
  readonly pooler: boolean;
  readonly connectionsMax: number;
  /** How many transaction steps may be in flight at once, each on its own connection. */
  readonly transactionsMax: number;
  readonly connectTimeoutMs: number;
  readonly statementTimeoutMs: number;
  /** Server settings (`-c name=value …`) that the URL asks for. */
  readonly serverOptions: string;
  /** Texts that no error may show. */
  readonly secrets: readonly string[];
}

const OWN_PARAMETERS = [
  ...["schema", "notify", "pooler", "connections", "transactions", "connect_timeout", "statement_timeout", "options"],
];
/** Parameters that the driver reads, and those that other programs put into the same URL for libpq. */
const DRIVER_PARAMETERS = [
  ...["host", "port", "user", "password", "application_name", "fallback_application_name", "client_encoding"],
  ...[
    "ssl",
    "sslmode",
    "sslcert",
    "sslkey",
    "sslrootcert",
    "sslnegotiation",
    "uselibpqcompat",
    "sslpassword",
    "sslcrl",
  ],
  ...[
    "lock_timeout",
    "idle_in_transaction_session_timeout",
    "query_timeout",
    "channel_binding",
    "target_session_attrs",
  ],
  ...["gssencmode", "keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count", "tcp_user_timeout"],
];

export const DEFAULT_SCHEMA = "holdfast";
const CONNECTIONS_MAX = 4;
const TRANSACTIONS_MAX = 5;
const CONNECT_TIMEOUT_S = 10;
/** Together with the grace for an answer (driver.ts), half of the default lease: a heartbeat that gets no answer can be sent again in time. */
const STATEMENT_TIMEOUT_MS = 10_000;

export function readSettings(url: string, options: StoreOptions): Settings {
  const parts = soundUrl(url);
  const [address = ""] = url.split("?", 1);
  const parameters = new URLSearchParams(parts.parameters);
  requireKnown(parameters);
  const take = (name: string): string | undefined => {
    const value = parameters.get(name) ?? undefined;
    parameters.delete(name);
    return value;
  };
  const schema = options.schema ?? take("schema") ?? DEFAULT_SCHEMA;
  checkStoreOptions({ ...options, schema });
  take("schema");
  const pooler = oneOf(take("pooler"), "pooler", ["none", "transaction"]) === "transaction";
  const notify = oneOf(take("notify"), "notify", ["true", "false"]) !== "false" && !pooler;
  const settings = {
    schema,
    migrate: options.migrate ?? "auto",
    durability: options.durability ?? "sync",
    notify,
    pooler,
    connectionsMax: wholeNumber(take("connections"), "connections", CONNECTIONS_MAX),
    transactionsMax: wholeNumber(take("transactions"), "transactions", TRANSACTIONS_MAX),
    connectTimeoutMs: wholeNumber(take("connect_timeout"), "connect_timeout", CONNECT_TIMEOUT_S) * 1_000,
    statementTimeoutMs: wholeNumber(take("statement_timeout"), "statement_timeout", STATEMENT_TIMEOUT_MS),
    serverOptions: take("options") ?? "",
    secrets: secretsOf(parts),
  };
  const rest = parameters.toString();
  return { ...settings, connectionString: rest === "" ? address : `${address}?${rest}` };
}

/** A malformed URL may have its password where a host, a database or a parameter should be, and errors would show it. */
function soundUrl(url: string): ServerUrl {
  const parts = readServerUrl(url);
  if (parts) return parts;
  if (!/^[^:]*:\/\//.test(url)) throw badUrl("it does not begin with postgres://");
  throw badUrl(
    /[/?#].*@/s.test(url.replace(/^[^:]*:\/\//, "")) ? "it has an @ in the wrong place" : "it cannot be read",
  );
}

function requireKnown(parameters: URLSearchParams): void {
  const known = [...OWN_PARAMETERS, ...DRIVER_PARAMETERS];
  for (const name of parameters.keys()) {
    if (known.includes(name)) continue;
    const nearest = nearestName(name, known);
    const hint =
      nearest === undefined ? `It takes ${OWN_PARAMETERS.join(", ")}, and those of libpq` : `Did you mean ${nearest}`;
    const shown = /^\w{1,40}$/.test(name) ? `"${name}"` : "of that name";
    throw new HoldfastError(
      "invalid_option",
      `connect: the URL has no parameter ${shown}. ${hint}${nearest === undefined ? "." : "?"}`,
      { data: { option: "url", ...(nearest === undefined ? {} : { nearest }) } },
    );
  }
}

/** The message must not show the URL: it may hold a password. */
export function badUrl(why: string): HoldfastError {
  const message = `connect: the PostgreSQL URL is not usable: ${why}. Write it like postgres://user:password@host:5432/database, with special characters in the password percent-encoded.`;
  return new HoldfastError("invalid_option", message, { data: { option: "url" } });
}

export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

function oneOf(value: string | undefined, name: string, known: readonly string[]): string | undefined {
  if (value === undefined || known.includes(value)) return value;
  throw badParameter(name, value, known.join(" or "));
}

function wholeNumber(value: string | undefined, name: string, byDefault: number): number {
  if (value === undefined) return byDefault;
  if (/^[1-9]\d{0,8}$/.test(value)) return Number(value);
  throw badParameter(name, value, "a whole number from 1 up");
}

function badParameter(name: string, value: string, wanted: string): HoldfastError {
  const message = `connect: the URL parameter ${name} is ${JSON.stringify(value)}; it must be ${wanted}.`;
  return new HoldfastError("invalid_option", message, { data: { option: name } });
}
