/**
 * Translates the driver's errors. Everything depends on this distinction: nothing happened (`store_unavailable`), it is
 * unknown whether something did (`store_outcome_unknown`), or the data itself is at fault (`store_refused`).
 *
 * While the store is in use, only bad data is `store_refused`, because that parks a run. A lost permission, a dropped schema or
 * a changed password can be put right, so they count as an outage, and workers keep what they have.
 */
import { HoldfastError, isHoldfastError, withoutSecrets } from "holdfast/adapter";
import type { Settings } from "./database/settings.ts";

/** Classes of SQLSTATE: data exception, integrity constraint violation, program limit exceeded. */
const BAD_DATA = /^(?:22|23|54)/;
/** The server or the network failed in the middle of the call, or the statement was canceled at an unknown point. */
const OUTCOME_UNKNOWN = /^(?:08|57P01|57P02|57P05|57014|40003)/;
/** Raised by our own functions. */
const INVARIANT = "HF001";
/** A standby, or a database that is shutting down: the next connection may reach a better server. */
const WRONG_SERVER = /^(?:25006|57P0[1-5])/;

/** Nobody has answered the call itself: no connection, or none any more. */
const UNREACHABLE = /^(?:08|28|3D000|53300|57P0[1-5])/;

/** Missing rights, schema, table or function, user or database: a person has to put it right. */
const LASTING = /^(?:42501|3F000|42P01|42883|28|3D000)/;
const MISSING_RIGHT = "42501";
const ADVICE_ON_RIGHTS = "Grant the role what docs/postgresql.md lists for workers or for migrators.";

/** The driver's message when the server asks for a password and none is configured. */
const NO_PASSWORD = /^SASL: .*client password must be/;
const ADVICE_ON_PASSWORD = "Put one into the URL (postgres://user:password@host/database), or set PGPASSWORD.";

const LOCKED = "55P03";
/** The driver's message when it has given up waiting for an answer. */
const SILENCE = "Query read timeout";
/** Another call was faster, perhaps a copy of this one: if repeated, this call finds the other's result. */
const RACE_CONSTRAINTS = ["run_starts_id", "runs_pkey", "run_starts_pkey"];
const EVENTS_KEY = "events_pkey";
const DUPLICATE = "23505";

interface Failure {
  /** A SQLSTATE of five characters, if the server has answered. */
  readonly state: string | undefined;
  readonly code: string | undefined;
  readonly message: string;
  readonly constraint: string | undefined;
}

export interface CallContext {
  readonly where: string;
  readonly call: string;
  /** Nothing can have happened: the call was not sent, or it only reads. */
  readonly harmless: boolean;
}

export function callError(error: unknown, { where, call, harmless }: CallContext): HoldfastError {
  if (isHoldfastError(error)) return error;
  const { state, message, constraint = "" } = failureOf(error);
  const at = `PostgreSQL at ${where}, ${call}`;
  const lasting = (state === undefined ? NO_PASSWORD.test(message) : LASTING.test(state)) ? { lasting: true } : {};
  const lost = state === undefined ? message !== SILENCE : UNREACHABLE.test(state);
  const unreachable = lost ? { unreachable: true } : {};
  const data = { where, call, ...(state === undefined ? {} : { sqlState: state }), ...lasting, ...unreachable };
  const options = { cause: error, data };
  if (state === INVARIANT) return new HoldfastError("invariant_broken", `${at}: ${message}`, options);
  if (state !== undefined && BAD_DATA.test(state) && !RACE_CONSTRAINTS.includes(constraint)) {
    const refused = { ...options, data: { ...data, ...(constraint === "" ? {} : { constraint }) } };
    return new HoldfastError("store_refused", `${at}: the data was refused: ${message}`, refused);
  }
  if (!harmless && (state === undefined || OUTCOME_UNKNOWN.test(state))) {
    return new HoldfastError("store_outcome_unknown", `${at}: no answer to what was sent: ${message}`, options);
  }
  const advice = state === MISSING_RIGHT ? `. ${ADVICE_ON_RIGHTS}` : "";
  return new HoldfastError("store_unavailable", `${at}: ${message}${advice}`, options);
}

/** Whether a call gave up without effect because another transaction has locked a row. */
export function isLockConflict(error: unknown): boolean {
  return isHoldfastError(error, "store_unavailable") && error.data.sqlState === LOCKED;
}

/** Whether a call gave up without effect because another call has just created the same row. */
export function isRace(error: unknown): boolean {
  return isHoldfastError(error, "store_unavailable") && error.data.sqlState === DUPLICATE;
}

/** Whether a call failed without effect because an event that it adds is there already, or is just being added. */
export function isEventConflict(error: unknown): boolean {
  const { sqlState, constraint } = isHoldfastError(error, "store_refused") ? error.data : {};
  return sqlState === DUPLICATE && constraint === EVENTS_KEY;
}

/** Whether the connection on which this happened is unusable. */
export function spoilsConnection(error: unknown): boolean {
  const { state } = failureOf(error);
  return state === undefined || WRONG_SERVER.test(state);
}

/** Whether the connection was given up because there was no answer in time. */
export function isSilence(error: unknown): boolean {
  return failureOf(error).message === SILENCE;
}

/** The SQLSTATE, if the server has answered. */
export function sqlStateOf(error: unknown): string | undefined {
  return failureOf(error).state;
}

/** Why a store could not be opened. A person reads this message, so it says what to do. */
export function openError(
  error: unknown,
  where: string,
  { schema, secrets }: Pick<Settings, "schema" | "secrets">,
): HoldfastError {
  if (isHoldfastError(error)) return error;
  const { state, code, message: told } = failureOf(error);
  const message = withoutSecrets(told, secrets);
  // A server repeats the user name, which in a mangled URL is the password.
  const cause = message === told ? error : Object.assign(new Error(message), { code });
  const failed = (kind: "store_unavailable" | "store_refused", text: string): HoldfastError =>
    new HoldfastError(kind, `PostgreSQL at ${where}: ${text}`, {
      cause,
      data: { where, schema, ...(state === undefined ? {} : { sqlState: state }) },
    });
  if (state === undefined && NO_PASSWORD.test(message))
    return failed("store_refused", `the server asks for a password, but none is set. ${ADVICE_ON_PASSWORD}`);
  if (state === undefined) return failed("store_unavailable", unreachable(code, message));
  if (/^28/.test(state)) {
    return failed(
      "store_refused",
      `${message}. Check the user and the password in the URL, and the server's pg_hba.conf.`,
    );
  }
  if (state === "3D000")
    return failed("store_refused", `${message}. Create the database, or correct its name in the URL.`);
  if (state === MISSING_RIGHT) return failed("store_refused", `${message}. ${ADVICE_ON_RIGHTS}`);
  if (/^(?:53|57)/.test(state)) return failed("store_unavailable", `${message}. Try again when the server is ready.`);
  return failed("store_refused", message);
}

function unreachable(code: string | undefined, message: string): string {
  switch (code) {
    case "ECONNREFUSED":
      return "connection refused. Start the server, or correct host and port in the URL.";
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return "the host name is not known. Correct the host in the URL.";
    case "ENOENT":
      return "the socket does not exist. Start the server, or correct the socket folder (host) and the port in the URL.";
    case "EACCES":
      return "this user may not use the socket. Connect over TCP, or correct the permissions.";
    default:
      if (message === "timeout expired") {
        return "no answer in time. Check host, port and firewall; connect_timeout in the URL sets the limit in seconds.";
      }
      return /\bSSL\b|certificate|self.signed/i.test(message)
        ? `${message}. Check sslmode and sslrootcert in the URL.`
        : `${message}. Check that a PostgreSQL server can be reached there.`;
  }
}

function failureOf(error: unknown): Failure {
  if (!(error instanceof Error))
    return { state: undefined, code: undefined, message: String(error), constraint: undefined };
  const first = error instanceof AggregateError && error.errors[0] instanceof Error ? error.errors[0] : error;
  const code = (first as { code?: unknown }).code;
  const text = typeof code === "string" ? code : undefined;
  const fromServer = text !== undefined && /^[0-9A-Z]{5}$/.test(text) && "severity" in first;
  const { constraint } = first as { constraint?: unknown };
  return {
    state: fromServer ? text : undefined,
    code: text,
    message: first.message,
    constraint: typeof constraint === "string" ? constraint : undefined,
  };
}
