import { ERROR_KINDS, type ErrorKind, isRetryableKind } from "../model/error-kind.ts";
import { listOf, type OptionCheck, oneOf } from "./option-checks.ts";
import { isMarked } from "./retry-mark.ts";

/** What a `retryIf` function receives about the failure, besides the error. */
export interface RetryInfo {
  readonly kind: ErrorKind;
  /** The execution that failed, counted from 1. */
  readonly attempt: number;
}

/**
 * Which errors are retried:
 * - `"default"`: all but the kinds NotFound, Unauthorized, BadRequest and ValidationError;
 * - `"retryable"`: only the five retryable kinds, so not Unknown;
 * - `"any"`, `"never"`;
 * - a list of kinds, or a function.
 */
export type RetryIf =
  | "default"
  | "retryable"
  | "any"
  | "never"
  | readonly ErrorKind[]
  | ((error: unknown, info: RetryInfo) => boolean);

/** Hears what a `retryIf` function threw, before the default rule decides instead. */
export type OnThrow = (thrown: unknown) => void;

const isRule = oneOf("default", "retryable", "any", "never");
const areKinds = listOf(oneOf(...ERROR_KINDS));

/** Refuses an unknown rule, which would otherwise act like a known one. */
export const isRetryIf: OptionCheck = (value, where, option) => {
  if (typeof value !== "function") (Array.isArray(value) ? areKinds : isRule)(value, where, option);
};

const PERMANENT: ReadonlySet<ErrorKind> = new Set<ErrorKind>([
  "NotFound",
  "Unauthorized",
  "BadRequest",
  "ValidationError",
]);

/**
 * Whether the rule allows another attempt; the policy decides how many. NonRetryableError stops under every rule;
 * RetryableError is retried under every rule but `"never"`: the code that throws them knows more than a rule written
 * earlier.
 */
export function shouldRetry(rule: RetryIf, error: unknown, info: RetryInfo, onThrow?: OnThrow): boolean {
  if (rule === "never" || isMarked(error, "non_retryable")) return false;
  if (rule === "any" || isMarked(error, "retryable")) return true;
  if (rule === "retryable") return isRetryableKind(info.kind);
  if (typeof rule === "function") return askFunction(rule, error, info, onThrow);
  if (rule === "default") return !PERMANENT.has(info.kind);
  return rule.includes(info.kind);
}

function askFunction(
  rule: (error: unknown, info: RetryInfo) => boolean,
  error: unknown,
  info: RetryInfo,
  onThrow?: OnThrow,
): boolean {
  try {
    // Compared with true, because the promise of an async function is truthy whatever it resolves to.
    return rule(error, info) === true;
  } catch (thrown) {
    // Its error must neither hide the step's error nor stop the worker.
    onThrow?.(thrown);
    return shouldRetry("default", error, info);
  }
}
