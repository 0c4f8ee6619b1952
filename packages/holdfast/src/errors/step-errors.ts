import { type Duration, durationToMs } from "../model/duration.ts";
import { HoldfastError, type HoldfastErrorOptions, nameOf } from "./holdfast-error.ts";

/** Throw it in a step or task when trying again cannot help. No rule retries it. */
export class NonRetryableError extends HoldfastError {
  static {
    nameOf(this.prototype, "NonRetryableError");
  }

  constructor(message: string, options: HoldfastErrorOptions = {}) {
    super("non_retryable", message, options);
  }
}

/** Options of `RetryableError`. */
export interface RetryableErrorOptions extends HoldfastErrorOptions {
  /**
   * Wait at least this long before the next attempt.
   * @defaultValue what the retry policy says
   */
  readonly after?: Duration;
}

/** Throw it in a step or task when trying again may help, whatever the rule says (except "never"). */
export class RetryableError extends HoldfastError {
  static {
    nameOf(this.prototype, "RetryableError");
  }

  readonly afterMs: number | undefined;

  constructor(message: string, options: RetryableErrorOptions = {}) {
    const afterMs = options.after === undefined ? undefined : readAfter(options.after, message, options.cause);
    super("retryable", message, afterMs === undefined ? options : { ...options, data: { ...options.data, afterMs } });
    this.afterMs = afterMs;
  }
}

/** The original failure must not disappear behind the unreadable duration, so it is carried along. */
function readAfter(after: Duration, message: string, cause: unknown): number {
  const afterMs = durationToMs(after);
  if (afterMs !== undefined) return afterMs;
  throw new HoldfastError(
    "invalid_duration",
    `RetryableError: "after" is ${JSON.stringify(after)}, which is not a duration such as "30s". The error was: ${message}`,
    { data: { after }, cause },
  );
}
