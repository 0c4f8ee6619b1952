import { type } from "arktype";
import * as v from "valibot";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { ErrorKind } from "../model/error-kind.ts";
import { classifyError } from "./classify.ts";
import { HoldfastError } from "./holdfast-error.ts";
import { NonRetryableError, RetryableError } from "./step-errors.ts";

function thrownBy(fn: () => unknown): unknown {
  try {
    fn();
  } catch (error) {
    return error;
  }
  throw new Error("nothing was thrown");
}

function failing(fields: Record<string, unknown>): Error {
  return Object.assign(new Error("it failed"), fields);
}

function chain(innermost: unknown, depth: number): unknown {
  return depth === 0 ? innermost : new Error(`level ${depth}`, { cause: chain(innermost, depth - 1) });
}

const hostile = new Proxy(
  {},
  {
    get() {
      throw new Error("hands off");
    },
    ownKeys() {
      throw new Error("hands off");
    },
  },
);

const codes: Record<ErrorKind, string[]> = {
  NetworkError: [
    ...["ECONNRESET", "ECONNREFUSED", "EPIPE", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "ERR_NETWORK"],
    ...["UND_ERR_SOCKET", "UND_ERR_CLOSED", "UND_ERR_DESTROYED", "UND_ERR_SOMETHING_NEW", "ERR_STREAM_PREMATURE_CLOSE"],
  ],
  Timeout: [
    ...["ETIMEDOUT", "ESOCKETTIMEDOUT", "ECONNABORTED", "ABORT_ERR", "57014", "25P03"],
    ...["UND_ERR_CONNECT_TIMEOUT", "UND_ERR_HEADERS_TIMEOUT", "UND_ERR_BODY_TIMEOUT", "UND_ERR_ABORTED"],
  ],
  DatabaseError: [
    ...["08000", "08006", "40001", "40P01", "53200", "53300", "55P03", "57P01", "57P02", "57P03", "58030", "25006"],
    ...["XX000", "SQLITE_BUSY", "SQLITE_BUSY_SNAPSHOT", "SQLITE_LOCKED", "SQLITE_FULL", "SQLITE_IOERR_WRITE"],
    ...["ER_LOCK_DEADLOCK", "PROTOCOL_CONNECTION_LOST"],
  ],
  RateLimitExceeded: [],
  ServiceUnavailable: ["EMFILE", "EBUSY"],
  NotFound: ["ENOENT"],
  Unauthorized: ["EACCES", "EPERM", "28P01", "42501", "SQLITE_AUTH", "SQLITE_READONLY"],
  BadRequest: ["22P02", "22001", "42601", "42P01", "0A000", "EINVAL", "ERR_INVALID_URL", "UND_ERR_INVALID_ARG"],
  ValidationError: [
    "23505",
    "23503",
    "23502",
    "23514",
    "SQLITE_CONSTRAINT",
    "SQLITE_CONSTRAINT_UNIQUE",
    "ER_DUP_ENTRY",
  ],
  Unknown: ["EWHATEVER", "XX001", "P0001", "99999", "SQLITE_ERROR", "08 06", "toString", ""],
};

const statuses: Record<ErrorKind, number[]> = {
  NetworkError: [],
  Timeout: [408, 504],
  DatabaseError: [],
  RateLimitExceeded: [429],
  ServiceUnavailable: [423, 425, 500, 502, 503, 507, 599],
  NotFound: [404, 410],
  Unauthorized: [401, 403, 407],
  BadRequest: [400, 402, 405, 406, 411, 412, 413, 414, 415, 418, 431, 451, 501, 505],
  ValidationError: [422],
  Unknown: [0, 200, 302, 409, 399, 600, 404.5, Number.NaN],
};

const sqliteResults: Record<string, [ErrorKind, number[]]> = {
  transient: ["DatabaseError", [5, 6, 261, 517, 262, 10, 13, 14, 15]],
  constraint: ["ValidationError", [19, 2067, 1555, 787]],
  refused: ["BadRequest", [18, 20, 25]],
  forbidden: ["Unauthorized", [3, 8, 23]],
  silent: ["Unknown", [0, 1, 11, -5]],
};

function rows<T>(matrix: Record<ErrorKind, T[]>): [T, ErrorKind][] {
  return Object.entries(matrix).flatMap(([kind, values]) =>
    values.map((value) => [value, kind as ErrorKind] as [T, ErrorKind]),
  );
}

describe("classifyError", () => {
  it.each(rows(codes))("takes code %s for %s", (code, kind) => {
    expect(classifyError(failing({ code }))).toEqual({ kind });
  });

  describe.each([
    ["status", (status: number) => ({ status })],
    ["statusCode", (status: number) => ({ statusCode: status })],
    ["response.status", (status: number) => ({ response: { status } })],
    ["response.statusCode", (status: number) => ({ response: { statusCode: status } })],
    ["$metadata.httpStatusCode", (status: number) => ({ $metadata: { httpStatusCode: status } })],
  ])("with an HTTP status in %s", (_, fields) => {
    it.each(rows(statuses))("takes %d for %s", (status, kind) => {
      expect(classifyError(failing(fields(status)))).toEqual({ kind });
    });
  });

  it.each(Object.values(sqliteResults).flatMap(([kind, results]) => results.map((result) => [result, kind] as const)))(
    "takes SQLite result %d for %s",
    (errcode, kind) => {
      expect(classifyError(failing({ code: "ERR_SQLITE_ERROR", errcode })).kind).toBe(kind);
      expect(classifyError(failing({ errcode })).kind).toBe(kind);
      expect(classifyError(failing({ code: "OTHER_LIBRARY", errcode })).kind).toBe("Unknown");
    },
  );

  it.each<[string, unknown, ErrorKind]>([
    ["an aborted fetch", new DOMException("aborted", "AbortError"), "Timeout"],
    ["AbortSignal.timeout", new DOMException("too slow", "TimeoutError"), "Timeout"],
    ["a ZodError", thrownBy(() => z.object({ a: z.string() }).parse({ a: 1 })), "ValidationError"],
    ["a ValiError", thrownBy(() => v.parse(v.object({ a: v.string() }), { a: 1 })), "ValidationError"],
    ["arktype's thrown error", thrownBy(() => type({ a: "string" }).assert({ a: 1 })), "ValidationError"],
    ["arktype's result", type({ a: "string" })({ a: 1 } as never), "ValidationError"],
    ["issues of any Standard Schema", failing({ issues: [{ message: "no", path: ["a"] }] }), "ValidationError"],
    ["an empty list of issues", failing({ issues: [] }), "Unknown"],
    ["issues of a tracker", failing({ issues: [{ number: 3 }] }), "Unknown"],
    ["its own kind", failing({ kind: "NotFound", code: "ECONNRESET", status: 503 }), "NotFound"],
    ["a plain object with a kind", { kind: "Timeout" }, "Timeout"],
    ["a kind that is none", failing({ kind: "Catastrophe", status: 404 }), "NotFound"],
    ["a code before a status", failing({ code: "40001", status: 400 }), "DatabaseError"],
    ["a status behind a silent code", failing({ code: "ERR_BAD_REQUEST", response: { status: 404 } }), "NotFound"],
    ["a HoldfastError", new HoldfastError("store_unavailable", "gone"), "DatabaseError"],
    ["a HoldfastError with its own kind", new HoldfastError("step_failed", "x", { kind: "Timeout" }), "Timeout"],
    ["a HoldfastError, cause or not", new NonRetryableError("x", { cause: failing({ status: 503 }) }), "Unknown"],
    [
      "a failed fetch by its cause",
      new TypeError("fetch failed", { cause: failing({ code: "ECONNRESET" }) }),
      "NetworkError",
    ],
    ["a failed fetch with a silent cause", new TypeError("fetch failed", { cause: new Error("?") }), "NetworkError"],
    ["a failed fetch without cause", new TypeError("fetch failed"), "NetworkError"],
    ["any other TypeError", new TypeError("x is not a function"), "Unknown"],
    [
      "errors that agree",
      new AggregateError([failing({ status: 503 }), failing({ status: 500 })]),
      "ServiceUnavailable",
    ],
    ["errors that do not agree", new AggregateError([failing({ status: 503 }), new Error("?")]), "Unknown"],
    ["a cause of depth 5", chain(failing({ status: 429 }), 5), "RateLimitExceeded"],
    ["a cause of depth 6", chain(failing({ status: 429 }), 6), "Unknown"],
    [
      "the outermost that says something",
      new Error("x", { cause: failing({ status: 404, cause: failing({ status: 503 }) }) }),
      "NotFound",
    ],
    ["a hostile proxy", hostile, "Unknown"],
    ["a string", "ECONNRESET", "Unknown"],
    ["undefined", undefined, "Unknown"],
    ["null", null, "Unknown"],
    ["a number", 404, "Unknown"],
    ["a plain error", new Error("no idea"), "Unknown"],
  ])("classifies %s", (_, error, kind) => {
    expect(classifyError(error).kind).toBe(kind);
  });

  it("stops at a cause that is its own cause", () => {
    const error = new Error("round");
    error.cause = error;
    expect(classifyError(error)).toEqual({ kind: "Unknown" });
  });
});

describe("Retry-After", () => {
  const nowMs = Date.UTC(2026, 0, 1);
  const date = "Thu, 01 Jan 2026 00:01:30 GMT";

  it.each<[string, Record<string, unknown>, number | undefined]>([
    ["seconds on the error", { status: 429, headers: { "retry-after": "7" } }, 7_000],
    ["a number", { status: 429, headers: { "retry-after": 7 } }, 7_000],
    ["any spelling of the header", { status: 503, headers: { "Retry-After": "7" } }, 7_000],
    ["a list of values", { status: 503, headers: { "retry-after": ["7", "9"] } }, 7_000],
    ["a fraction", { status: 503, headers: { "retry-after": "0.0001" } }, 1],
    ["Headers", { status: 429, headers: new Headers({ "Retry-After": "7" }) }, 7_000],
    ["the response's headers", { response: { status: 429, headers: new Headers({ "Retry-After": "7" }) } }, 7_000],
    ["a plain response", { response: { statusCode: 503, headers: { "retry-after": "0" } } }, 0],
    ["a Map", { status: 429, headers: new Map([["retry-after", "7"]]) }, 7_000],
    ["a date", { status: 503, headers: { "retry-after": date } }, 90_000],
    ["a date gone by", { status: 503, headers: { "retry-after": "Thu, 01 Jan 2015 00:01:30 GMT" } }, 0],
    ["a date without zone", { status: 503, headers: { "retry-after": "2026-01-01 00:01:30" } }, undefined],
    ["nonsense", { status: 503, headers: { "retry-after": "soon" } }, undefined],
    ["a negative delay", { status: 503, headers: { "retry-after": "-5" } }, undefined],
    ["an error that is not retryable", { status: 404, headers: { "retry-after": "7" } }, undefined],
    [
      "headers that throw",
      {
        status: 503,
        headers: {
          get: () => {
            throw new Error("no");
          },
        },
      },
      undefined,
    ],
    ["hostile headers", { status: 503, headers: hostile }, undefined],
  ])("is read from %s", (_, fields, ms) => {
    expect(classifyError(failing(fields), { nowMs }).retryAfterMs).toBe(ms);
  });

  it("ignores a date when the time is not known", () => {
    expect(classifyError(failing({ status: 503, headers: { "retry-after": date } }))).toEqual({
      kind: "ServiceUnavailable",
    });
  });

  it("is taken from a cause as well", () => {
    const error = new Error("outer", { cause: failing({ status: 429, headers: { "retry-after": "3" } }) });
    expect(classifyError(error)).toEqual({ kind: "RateLimitExceeded", retryAfterMs: 3_000 });
  });

  it("is what a RetryableError asks for", () => {
    expect(classifyError(new RetryableError("later", { after: "30s" }))).toEqual({
      kind: "ServiceUnavailable",
      retryAfterMs: 30_000,
    });
    expect(classifyError(new RetryableError("later", { kind: "Unknown", after: "1s" })).retryAfterMs).toBe(1_000);
    expect(classifyError(new RetryableError("later"))).toEqual({ kind: "ServiceUnavailable" });
  });

  it("never exceeds 100 years", () => {
    const { retryAfterMs } = classifyError(failing({ status: 503, headers: { "retry-after": "999999999999" } }));
    expect(retryAfterMs).toBe(36_525 * 86_400_000);
  });
});
