/**
 * Which part of a URL may be shown. A malformed URL may have its password anywhere: in place of the host, the database
 * or a parameter. Of such a URL, only a well-known scheme is shown.
 */

/** `scheme://user:password@host:port/database?name=value`, taken apart. The parts are as written. */
export interface ServerUrl {
  readonly scheme: string;
  readonly user: string;
  readonly password: string;
  /** Empty for a socket. */
  readonly host: string;
  readonly port: string;
  readonly database: string;
  readonly parameters: string;
}

const KNOWN_SCHEMES: ReadonlySet<string> = new Set([
  ...[
    "memory",
    "file",
    "sqlite",
    "sqlite3",
    "postgres",
    "postgresql",
    "pg",
    "http",
    "https",
    "jdbc",
    "libsql",
    "socket",
  ],
  ...[
    "mysql",
    "mysql2",
    "mariadb",
    "mongodb",
    "mssql",
    "sqlserver",
    "oracle",
    "redis",
    "rediss",
    "nats",
    "amqp",
    "cockroachdb",
  ],
]);

// The userinfo ends at the last @ before the path, because a password may contain others. No later part may contain an
// @ or a #, and the database no further slash: these are signs of a password that was not encoded.
const SERVER_URL =
  /^([a-z][a-z0-9+.-]*):\/\/(?:([^/?#]*)@)?([\p{L}\p{N}._~%-]*|\[[0-9a-f:.%]+\])(?::(\d{1,5}))?(?:\/([^/?#@:]*))?(?:\?([^#@]*))?$/iu;

export function readServerUrl(url: string): ServerUrl | undefined {
  const [whole, scheme = "", userInfo = "", host = "", port = "", database = "", parameters = ""] =
    SERVER_URL.exec(url) ?? [];
  if (whole === undefined || !isEncoded(host) || !isEncoded(database)) return undefined;
  const colon = userInfo.indexOf(":");
  const user = colon === -1 ? userInfo : userInfo.slice(0, colon);
  const password = colon === -1 ? "" : userInfo.slice(colon + 1);
  return { scheme: scheme.toLowerCase(), user, password, host, port, database, parameters };
}

/** The scheme in lower case; undefined if there is none, or if it is not well known: it may be part of the password. */
export function knownScheme(url: string): string | undefined {
  const scheme = schemeOf(url);
  return scheme !== undefined && KNOWN_SCHEMES.has(scheme) ? scheme : undefined;
}

/** The scheme as written, only for comparing. */
export function schemeOf(url: string): string | undefined {
  return /^([a-z][a-z0-9+.-]*):/i.exec(url)?.[1]?.toLowerCase();
}

/** `postgres://host:5432/database`; `postgres:` for a malformed URL, and `""` if the scheme is not known either. */
export function shownUrl(url: string): string {
  const scheme = knownScheme(url);
  if (scheme === undefined) return "";
  const parts = readServerUrl(url);
  if (!parts) return `${scheme}:`;
  return `${scheme}://${parts.host}${parts.port && `:${parts.port}`}${parts.database && `/${parts.database}`}`;
}

/** Whether a path looks as if it contained a user and a password. */
export function hasCredentials(path: string): boolean {
  // The colon of a drive, as in D:\data@home, does not count.
  return /:.*@/s.test(path.replace(/^\/{0,3}[a-z]:[\\/]/i, ""));
}

/**
 * What must not be shown of a well-formed URL: its password; without one also the user, which may be a password whose
 * colon is missing.
 */
export function secretsOf({ user, password }: ServerUrl): readonly string[] {
  const secret = password === "" ? user : password;
  return secret === "" ? [] : [...new Set([secret, decoded(secret)])];
}

// A server quotes the names in its messages, and cuts long ones.
const QUOTED = /"([^"]*)"/g;
const CUT_LENGTH_MIN = 16;

/** The text with every quoted secret masked. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  if (secrets.length === 0) return text;
  return text.replace(QUOTED, (quoted: string, name: string) => (isSecret(name, secrets) ? '"[hidden]"' : quoted));
}

function isSecret(name: string, secrets: readonly string[]): boolean {
  return secrets.some((secret) => name === secret || (name.length >= CUT_LENGTH_MIN && secret.startsWith(name)));
}

function isEncoded(part: string): boolean {
  return !/%(?![0-9a-f]{2})/i.test(part);
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
