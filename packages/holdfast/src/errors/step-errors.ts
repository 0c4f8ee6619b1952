import { type Duration, durationToMs } from "../model/duration.ts";
import { HoldfastError, type HoldfastErrorOptions, nameOf } from "./holdfast-error.ts";
import { markRetry } from "./retry-mark.ts";

/** Throw it in a step or task if another attempt cannot help. No rule retries it. */
export class NonRetryableError extends HoldfastError {
  static {
    nameOf(this.prototype, "NonRetryableError");
    markRetry(this.prototype, "non_retryable");
  }

  constructor(message: string, options: HoldfastErrorOptions = {}) {
    super("non_retryable", message, options);
  }
}

/** Options of `RetryableError`. */
export interface RetryableErrorOptions extends HoldfastErrorOptions {
  /**
   * Wait at least this long before the next attempt.
   * @defaultValue the delay of the retry policy
   */
  readonly after?: Duration;
}

/** Throw it in a step or task if another attempt may help. Every rule except `"never"` retries it. */
export class RetryableError extends HoldfastError {
  static {
    nameOf(this.prototype, "RetryableError");
    markRetry(this.prototype, "retryable");
  }

  readonly afterMs: number | undefined;

  constructor(message: string, options: RetryableErrorOptions = {}) {
    const afterMs = options.after === undefined ? undefined : readAfter(options.after, message, options.cause);
    super("retryable", message, afterMs === undefined ? options : { ...options, data: { ...options.data, afterMs } });
    this.afterMs = afterMs;
  }
}

/** The original failure must not be lost because the duration is unreadable, so the error carries both. */
function readAfter(after: Duration, message: string, cause: unknown): number {
  const afterMs = durationToMs(after);
  if (afterMs !== undefined) return afterMs;
  throw new HoldfastError(
    "invalid_duration",
    `RetryableError: "after" is ${JSON.stringify(after)}, which is not a duration such as "30s". The original error: ${message}`,
    { data: { after }, cause },
  );
}
