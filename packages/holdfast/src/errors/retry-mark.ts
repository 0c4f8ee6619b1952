import { isHoldfastError } from "./holdfast-error.ts";

/** What code that throws says about another attempt, whatever the rule of the step says. */
export type RetryMark = "non_retryable" | "retryable";

/** Shared by all copies of this module in a process. */
const MARK = Symbol.for("holdfast.retry");

/** On the prototype: code often gives its errors a `code` of its own, which must not have a charge repeated. */
export function markRetry(prototype: object, mark: RetryMark): void {
  Object.defineProperty(prototype, MARK, { value: mark });
}

/** Thrown directly, or restored from history after a step threw it. */
export function isMarked(error: unknown, mark: RetryMark): boolean {
  if (typeof error !== "object" || error === null) return false;
  try {
    const { [MARK]: marked, recordedCode } = error as { [MARK]?: unknown; recordedCode?: unknown };
    return marked === mark || isHoldfastError(error, mark) || (isHoldfastError(error) && recordedCode === mark);
  } catch {
    return false; // a proxy or getter that throws says nothing
  }
}
