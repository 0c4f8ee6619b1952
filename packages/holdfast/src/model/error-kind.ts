/**
 * What went wrong, as far as a retry rule cares. Ten kinds, the retryable ones first. Where in Holdfast an error arose is a
 * separate question, answered by its `code`.
 */
export const ERROR_KINDS = [
  "NetworkError",
  "Timeout",
  "DatabaseError",
  "RateLimitExceeded",
  "ServiceUnavailable",
  "NotFound",
  "Unauthorized",
  "BadRequest",
  "ValidationError",
  "Unknown",
] as const;

/** What kind of failure an error represents: what retry rules go by. */
export type ErrorKind = (typeof ERROR_KINDS)[number];

const KINDS: ReadonlySet<unknown> = new Set(ERROR_KINDS);
const RETRYABLE: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  "NetworkError",
  "Timeout",
  "DatabaseError",
  "RateLimitExceeded",
  "ServiceUnavailable",
]);

export function isErrorKind(value: unknown): value is ErrorKind {
  return KINDS.has(value);
}

/** Whether errors of this kind are known to pass by themselves. `Unknown` is not: nothing is known about it. */
export function isRetryableKind(kind: ErrorKind): boolean {
  return RETRYABLE.has(kind);
}
