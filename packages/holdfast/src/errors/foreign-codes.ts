import type { ErrorKind } from "../model/error-kind.ts";

/**
 * What the error codes of other software mean: Node, undici, PostgreSQL, MySQL, SQLite, HTTP. Tables only; classify.ts
 * decides the order in which they are consulted.
 */

const EXACT_CODES: ReadonlyMap<string, ErrorKind> = new Map(
  Object.entries({
    // Node system errors, including DNS and TLS.
    ECONNRESET: "NetworkError",
    ECONNREFUSED: "NetworkError",
    ECONNABORTED: "Timeout", // axios uses it for its own timeout
    EPIPE: "NetworkError",
    ENOTFOUND: "NetworkError", // a host name; a missing file is ENOENT
    EAI_AGAIN: "NetworkError",
    EAI_FAIL: "NetworkError",
    EAI_NODATA: "NetworkError",
    EHOSTUNREACH: "NetworkError",
    EHOSTDOWN: "NetworkError",
    ENETUNREACH: "NetworkError",
    ENETDOWN: "NetworkError",
    ENETRESET: "NetworkError",
    ENOTCONN: "NetworkError",
    EADDRNOTAVAIL: "NetworkError",
    EPROTO: "NetworkError",
    ERR_NETWORK: "NetworkError",
    ERR_SOCKET_CLOSED: "NetworkError",
    ERR_STREAM_PREMATURE_CLOSE: "NetworkError",
    ERR_HTTP2_STREAM_ERROR: "NetworkError",
    ERR_HTTP2_SESSION_ERROR: "NetworkError",
    ERR_HTTP2_GOAWAY_SESSION: "NetworkError",
    ERR_HTTP2_STREAM_CANCEL: "NetworkError",
    ERR_TLS_CERT_ALTNAME_INVALID: "BadRequest", // does not resolve on its own
    ETIMEDOUT: "Timeout",
    ESOCKETTIMEDOUT: "Timeout",
    ESERVFAIL: "NetworkError",
    ETIMEOUT: "Timeout",
    ERR_HTTP_REQUEST_TIMEOUT: "Timeout",
    ABORT_ERR: "Timeout",
    EMFILE: "ServiceUnavailable", // out of file handles, until other code closes some
    ENFILE: "ServiceUnavailable",
    EAGAIN: "ServiceUnavailable",
    EBUSY: "ServiceUnavailable",
    ENOENT: "NotFound",
    EACCES: "Unauthorized",
    EPERM: "Unauthorized",
    EINVAL: "BadRequest",
    ERR_INVALID_URL: "BadRequest",
    ERR_INVALID_ARG_TYPE: "BadRequest",
    ERR_INVALID_ARG_VALUE: "BadRequest",
    ERR_OUT_OF_RANGE: "BadRequest",
    // undici, which implements Node's fetch.
    UND_ERR_CONNECT_TIMEOUT: "Timeout",
    UND_ERR_HEADERS_TIMEOUT: "Timeout",
    UND_ERR_BODY_TIMEOUT: "Timeout",
    UND_ERR_ABORTED: "Timeout",
    UND_ERR_INVALID_ARG: "BadRequest",
    UND_ERR_INVALID_RETURN_VALUE: "BadRequest",
    UND_ERR_NOT_SUPPORTED: "BadRequest",
    UND_ERR_REQ_CONTENT_LENGTH_MISMATCH: "BadRequest",
    // MySQL and MariaDB.
    PROTOCOL_CONNECTION_LOST: "DatabaseError",
    ER_LOCK_DEADLOCK: "DatabaseError",
    ER_LOCK_WAIT_TIMEOUT: "DatabaseError",
    ER_CON_COUNT_ERROR: "DatabaseError",
    ER_TOO_MANY_USER_CONNECTIONS: "DatabaseError",
    ER_ACCESS_DENIED_ERROR: "Unauthorized",
    ER_DUP_ENTRY: "ValidationError",
    ER_NO_REFERENCED_ROW_2: "ValidationError",
    ER_BAD_NULL_ERROR: "ValidationError",
    ER_DATA_TOO_LONG: "BadRequest",
    ER_PARSE_ERROR: "BadRequest",
  } satisfies Record<string, ErrorKind>),
);

/** Longest prefix first. */
const CODE_PREFIXES: readonly (readonly [string, ErrorKind])[] = [
  ["UND_ERR_", "NetworkError"], // socket, closed, destroyed, and codes that undici may add
  ["SQLITE_BUSY", "DatabaseError"], // with extended codes: SQLITE_BUSY_SNAPSHOT …
  ["SQLITE_LOCKED", "DatabaseError"],
  ["SQLITE_IOERR", "DatabaseError"],
  ["SQLITE_FULL", "DatabaseError"],
  ["SQLITE_CANTOPEN", "DatabaseError"],
  ["SQLITE_PROTOCOL", "DatabaseError"],
  ["SQLITE_CONSTRAINT", "ValidationError"],
  ["SQLITE_TOOBIG", "BadRequest"],
  ["SQLITE_MISMATCH", "BadRequest"],
  ["SQLITE_RANGE", "BadRequest"],
  ["SQLITE_READONLY", "Unauthorized"],
  ["SQLITE_PERM", "Unauthorized"],
  ["SQLITE_AUTH", "Unauthorized"],
];

/** PostgreSQL: complete SQLSTATEs whose kind differs from that of their class. */
const SQLSTATES: ReadonlyMap<string, ErrorKind> = new Map([
  ["57014", "Timeout"], // query_canceled: statement_timeout
  ["25P03", "Timeout"], // idle_in_transaction_session_timeout
  ["42501", "Unauthorized"], // insufficient_privilege
  ["XX000", "DatabaseError"], // internal_error; connection poolers report a lost server with it
]);

/**
 * PostgreSQL: classes, the first two characters. Data refused by a rule is ValidationError, a bad statement BadRequest.
 */
const SQLSTATE_CLASSES: ReadonlyMap<string, ErrorKind> = new Map([
  ["08", "DatabaseError"], // connection exception
  ["40", "DatabaseError"], // transaction rollback: serialization failure, deadlock
  ["53", "DatabaseError"], // insufficient resources
  ["55", "DatabaseError"], // object not in prerequisite state: lock not available
  ["57", "DatabaseError"], // operator intervention: shutdown, cannot connect now
  ["58", "DatabaseError"], // system error
  ["25", "DatabaseError"], // invalid transaction state: read-only after a failover
  ["23", "ValidationError"], // integrity constraint violation
  ["22", "BadRequest"], // data exception
  ["42", "BadRequest"], // syntax error or access rule violation
  ["0A", "BadRequest"], // feature not supported
  ["28", "Unauthorized"], // invalid authorization
]);

/** SQLite's primary result codes, as `errcode` of `node:sqlite` and similar drivers. */
const SQLITE_RESULTS: ReadonlyMap<number, ErrorKind> = new Map([
  [5, "DatabaseError"], // busy
  [6, "DatabaseError"], // locked
  [10, "DatabaseError"], // I/O error
  [13, "DatabaseError"], // full
  [14, "DatabaseError"], // cannot open
  [15, "DatabaseError"], // locking protocol
  [3, "Unauthorized"], // permission
  [8, "Unauthorized"], // read only
  [23, "Unauthorized"], // authorization denied
  [18, "BadRequest"], // too big
  [20, "BadRequest"], // type mismatch
  [25, "BadRequest"], // parameter out of range
  [19, "ValidationError"], // constraint
]);

const HTTP_STATUSES: ReadonlyMap<number, ErrorKind | undefined> = new Map([
  [401, "Unauthorized"],
  [403, "Unauthorized"],
  [407, "Unauthorized"],
  [404, "NotFound"],
  [410, "NotFound"],
  [408, "Timeout"],
  [504, "Timeout"],
  // A conflict is a lost race as often as a wrong request. The status alone does not tell, so the default rule retries
  // it.
  [409, undefined],
  [422, "ValidationError"],
  [423, "ServiceUnavailable"],
  [425, "ServiceUnavailable"],
  [429, "RateLimitExceeded"],
  [501, "BadRequest"],
  [505, "BadRequest"],
]);

const SQLSTATE_FORM = /^[0-9A-Z]{5}$/;

export function kindOfCode(code: string): ErrorKind | undefined {
  const exact = EXACT_CODES.get(code);
  if (exact !== undefined) return exact;
  const prefixed = CODE_PREFIXES.find(([prefix]) => code.startsWith(prefix));
  if (prefixed !== undefined) return prefixed[1];
  return SQLSTATE_FORM.test(code) ? (SQLSTATES.get(code) ?? SQLSTATE_CLASSES.get(code.slice(0, 2))) : undefined;
}

/** Extended result codes have the primary code in their lowest byte. */
export function kindOfSqliteResult(errcode: number): ErrorKind | undefined {
  return Number.isInteger(errcode) && errcode > 0 ? SQLITE_RESULTS.get(errcode & 0xff) : undefined;
}

export function kindOfHttpStatus(status: number): ErrorKind | undefined {
  if (!Number.isInteger(status) || status < 400 || status > 599) return undefined;
  if (HTTP_STATUSES.has(status)) return HTTP_STATUSES.get(status);
  return status < 500 ? "BadRequest" : "ServiceUnavailable";
}
