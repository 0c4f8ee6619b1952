import { DURATION_MS_MAX } from "../model/duration.ts";
import { type ErrorKind, isErrorKind, isRetryableKind } from "../model/error-kind.ts";
import { kindOfCode, kindOfHttpStatus, kindOfSqliteResult } from "./foreign-codes.ts";
import { isHoldfastError } from "./holdfast-error.ts";
import { membersOf, readProperty, readText } from "./safe-read.ts";

const CAUSE_DEPTH_MAX = 5;
const STATUS_KEYS = ["status", "statusCode"] as const;

const KIND_BY_NAME: ReadonlyMap<string, ErrorKind> = new Map([
  ["AbortError", "Timeout"], // an attempt is nearly always aborted by its own timeout
  ["TimeoutError", "Timeout"],
  ["ZodError", "ValidationError"],
  ["$ZodError", "ValidationError"],
  ["ValiError", "ValidationError"],
  ["TraversalError", "ValidationError"], // arktype, when its result is thrown
  ["SchemaError", "ValidationError"], // @standard-schema/utils
  ["ValidationError", "ValidationError"],
]);

// "Wed, 21 Oct 2015 07:28:00 GMT". A date without a zone would be read in this machine's time zone.
const HTTP_DATE = /^[A-Z][a-z]{2,8}, .{8,30} GMT$/;
const DELAY_SECONDS = /^\d{1,12}(?:\.\d{1,6})?$/;

export interface Classification {
  readonly kind: ErrorKind;
  /** How long the other side asked us to wait: its Retry-After header, or `after` of a RetryableError. */
  readonly retryAfterMs?: number;
}

/**
 * Determines the kind of an error. The first of these that answers counts: a HoldfastError's kind; a field `kind` with
 * one of the ten names; `code`; SQLite's `errcode`; an HTTP status; the name; a list of schema issues. If none does,
 * the error's `cause` is classified, up to five deep, and the members of an AggregateError if they agree. Everything
 * else is `Unknown`. Never throws.
 *
 * `nowMs` is needed to read a Retry-After header that is a date.
 */
export function classifyError(error: unknown, options: { readonly nowMs?: number } = {}): Classification {
  let current = error;
  let guess: ErrorKind | undefined;
  for (let depth = 0; depth <= CAUSE_DEPTH_MAX && isObject(current); depth++) {
    const kind = kindOfOne(current);
    if (kind !== undefined) return withRetryAfter(kind, current, options.nowMs);
    guess ??= kindOfMembers(current) ?? kindOfFetchFailure(current);
    current = readProperty(current, "cause");
  }
  return { kind: guess ?? "Unknown" };
}

function kindOfOne(error: object): ErrorKind | undefined {
  const kind = readProperty(error, "kind");
  if (isErrorKind(kind)) return kind;
  // Made by a newer copy of the package, with a kind that this copy does not know.
  if (isHoldfastError(error)) return "Unknown";
  return kindByCodes(error) ?? kindByStatus(error) ?? kindByName(error) ?? kindByIssues(error);
}

function kindByCodes(error: object): ErrorKind | undefined {
  const code = readText(error, "code");
  const byCode = code === undefined ? undefined : kindOfCode(code);
  if (byCode !== undefined) return byCode;
  const errcode = readProperty(error, "errcode");
  const fromSqlite = code === undefined || code === "ERR_SQLITE_ERROR";
  return fromSqlite && typeof errcode === "number" ? kindOfSqliteResult(errcode) : undefined;
}

function kindByStatus(error: object): ErrorKind | undefined {
  const status = httpStatus(error) ?? httpStatus(readProperty(error, "response")) ?? awsStatus(error);
  return status === undefined ? undefined : kindOfHttpStatus(status);
}

function httpStatus(holder: unknown): number | undefined {
  for (const key of STATUS_KEYS) {
    const status = readProperty(holder, key);
    if (typeof status === "number") return status;
  }
  return undefined;
}

function awsStatus(error: object): number | undefined {
  const status = readProperty(readProperty(error, "$metadata"), "httpStatusCode");
  return typeof status === "number" ? status : undefined;
}

function kindByName(error: object): ErrorKind | undefined {
  const name = readText(error, "name");
  return name === undefined ? undefined : KIND_BY_NAME.get(name);
}

/** Works for every library: Standard Schema prescribes a non-empty list of issues that each have a message. */
function kindByIssues(error: object): ErrorKind | undefined {
  if (readProperty(error, " arkKind") === "errors") return "ValidationError"; // arktype's result, thrown as it is
  const issues = membersOf(readProperty(error, "issues"));
  if (issues.length === 0) return undefined;
  return issues.every((issue) => typeof readProperty(issue, "message") === "string") ? "ValidationError" : undefined;
}

/** `Promise.any` and Node's parallel connection attempts fail with several errors at once. */
function kindOfMembers(error: unknown): ErrorKind | undefined {
  const members = membersOf(readProperty(error, "errors"));
  if (members.length === 0) return undefined;
  const kinds = new Set(members.map((member) => (isObject(member) ? kindOfOne(member) : undefined)));
  return kinds.size === 1 ? [...kinds][0] : undefined;
}

/** Node's fetch puts the reason into `cause`; if a copy of the error lost it, the message alone still tells. */
function kindOfFetchFailure(error: unknown): ErrorKind | undefined {
  const isFetchFailure = readText(error, "name") === "TypeError" && readText(error, "message") === "fetch failed";
  return isFetchFailure ? "NetworkError" : undefined;
}

function withRetryAfter(kind: ErrorKind, error: object, nowMs: number | undefined): Classification {
  const retryAfterMs = isRetryable(error)
    ? positiveMs(readProperty(readProperty(error, "data"), "afterMs"))
    : isRetryableKind(kind)
      ? retryAfterOf(error, nowMs)
      : undefined;
  return retryAfterMs === undefined ? { kind } : { kind, retryAfterMs };
}

/** A RetryableError, thrown here or restored from history: its delay is in its data either way. */
function isRetryable(error: object): boolean {
  if (!isHoldfastError(error)) return false;
  return error.code === "retryable" || readProperty(error, "recordedCode") === "retryable";
}

function retryAfterOf(error: object, nowMs: number | undefined): number | undefined {
  const header =
    headerOf(readProperty(error, "headers")) ??
    headerOf(readProperty(readProperty(error, "response"), "headers")) ??
    headerOf(readProperty(error, "responseHeaders"));
  if (header === undefined) return undefined;
  if (DELAY_SECONDS.test(header)) return positiveMs(Number(header) * 1_000);
  if (nowMs === undefined || !HTTP_DATE.test(header)) return undefined;
  return positiveMs(Math.max(0, Date.parse(header) - nowMs));
}

function headerOf(headers: unknown): string | undefined {
  if (!isObject(headers)) return undefined;
  try {
    const get = readProperty(headers, "get");
    const own = typeof get === "function" ? get.call(headers, "retry-after") : undefined;
    return headerText(own ?? headerByKey(headers));
  } catch {
    return undefined;
  }
}

function headerByKey(headers: object): unknown {
  const key = Object.keys(headers).find((name) => name.toLowerCase() === "retry-after");
  return key === undefined ? undefined : readProperty(headers, key);
}

function headerText(value: unknown): string | undefined {
  const first: unknown = Array.isArray(value) ? value[0] : value;
  return typeof first === "string" || typeof first === "number" ? String(first).trim() : undefined;
}

function positiveMs(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 ? Math.min(Math.ceil(value), DURATION_MS_MAX) : undefined;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
