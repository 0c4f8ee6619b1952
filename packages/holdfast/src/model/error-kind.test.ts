import { expect, it } from "vitest";
import { ERROR_KINDS, isErrorKind, isRetryableKind } from "./error-kind.ts";

it("counts five of the ten kinds as retryable, and Unknown not among them", () => {
  expect(ERROR_KINDS.filter(isRetryableKind)).toEqual([
    "NetworkError",
    "Timeout",
    "DatabaseError",
    "RateLimitExceeded",
    "ServiceUnavailable",
  ]);
  expect(ERROR_KINDS).toHaveLength(10);
});

it("recognises exactly the ten names", () => {
  expect(ERROR_KINDS.every(isErrorKind)).toBe(true);
  expect([undefined, null, "timeout", "toString", 3, {}].some(isErrorKind)).toBe(false);
});
