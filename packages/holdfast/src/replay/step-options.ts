import { HoldfastError } from "../errors/holdfast-error.ts";
import type { RetryIf } from "../errors/retry-rule.ts";
import type { CheckedDuration } from "../model/checked-duration.ts";
import { type Duration, durationToMs } from "../model/duration.ts";
import { DEFAULT_RETRY, NO_RETRY, type RetryPolicy } from "../model/retry-policy.ts";
import type { RunLogger } from "../ports/logger.ts";

/** How often and how soon to try again. `attempts` counts executions. */
export type RetryOption<S extends string = string> =
  | "none"
  | {
      readonly attempts?: number;
      readonly initial?: CheckedDuration<S>;
      readonly factor?: number;
      readonly max?: CheckedDuration<S>;
      /** Share by which a delay may be shorter or longer: 0.25 (or true) is ±25 %, 0 (or false) is none. */
      readonly jitter?: number | boolean;
    }
  | { readonly attempts?: number; readonly fixed: CheckedDuration<S> };

/** What a step's function is told. */
export interface StepInfo {
  /** Counted from 1; survives crashes. */
  readonly attempt: number;
  /** Aborted on timeout, on cancel, and when the worker loses the run. */
  readonly signal: AbortSignal;
  /** The same for every attempt of this step of this run: hand it to whatever you call. */
  readonly idempotencyKey: string;
  /** Every line says which run, step and attempt it comes from. */
  readonly log: RunLogger;
}

export type StepFunction<T> = (step: StepInfo) => T | PromiseLike<T>;

export interface CompensationInfo {
  /** What is known of the step: `unknown` when a crash cut it off, or its time ran out. */
  readonly outcome: "completed" | "failed" | "unknown";
  /** The key that the step itself was given. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  readonly attempt: number;
}

export type Compensation<T> = (result: T | undefined, c: CompensationInfo) => unknown;

export interface StepOptions<T = unknown, S extends string = string> {
  readonly retry?: RetryOption<S>;
  readonly retryIf?: RetryIf;
  /** Of each attempt. */
  readonly timeout?: CheckedDuration<S>;
  readonly compensate?: Compensation<T>;
  /** `"fail"`: an attempt that a crash cut off is not repeated (at most once). */
  readonly onCrash?: "retry" | "fail";
}

export interface ResolvedStepOptions {
  readonly retry: RetryPolicy;
  readonly retryIf: RetryIf;
  readonly timeoutMs: number | undefined;
  readonly onCrash: "retry" | "fail";
  /** The start of each attempt must be in history before it happens. */
  readonly recordStart: boolean;
}

export const DEFAULT_OPTIONS: ResolvedStepOptions = {
  retry: DEFAULT_RETRY,
  retryIf: "default",
  timeoutMs: undefined,
  onCrash: "retry",
  recordStart: false,
};

export function resolveStepOptions(options: StepOptions<never> | undefined, where: string): ResolvedStepOptions {
  if (options === undefined) return DEFAULT_OPTIONS;
  const onCrash = options.onCrash ?? "retry";
  if (onCrash !== "retry" && onCrash !== "fail") throw invalid(where, "onCrash", 'is neither "retry" nor "fail"');
  return {
    retry: resolveRetry(options.retry, where),
    retryIf: options.retryIf ?? "default",
    timeoutMs: options.timeout === undefined ? undefined : requireDuration(options.timeout, where, "timeout"),
    onCrash,
    recordStart: onCrash === "fail" || options.compensate !== undefined,
  };
}

export function resolveRetry(retry: RetryOption | undefined, where: string): RetryPolicy {
  if (retry === undefined) return DEFAULT_RETRY;
  if (retry === "none") return NO_RETRY;
  const attempts = retry.attempts ?? DEFAULT_RETRY.attempts;
  if (!Number.isInteger(attempts) || attempts < 1)
    throw invalid(where, "retry.attempts", "is not a whole number from 1 up");
  if ("fixed" in retry) {
    const fixedMs = requireDuration(retry.fixed, where, "retry.fixed");
    return { attempts, initialMs: fixedMs, factor: 1, maxMs: fixedMs, jitter: 0 };
  }
  const factor = retry.factor ?? DEFAULT_RETRY.factor;
  if (!Number.isFinite(factor) || factor < 1) throw invalid(where, "retry.factor", "is not a number from 1 up");
  const jitter = retry.jitter === undefined || retry.jitter === true ? DEFAULT_RETRY.jitter : Number(retry.jitter);
  if (!(jitter >= 0 && jitter <= 1)) throw invalid(where, "retry.jitter", "is not a share between 0 and 1");
  const initialMs =
    retry.initial === undefined ? DEFAULT_RETRY.initialMs : requireDuration(retry.initial, where, "retry.initial");
  const maxMs =
    retry.max === undefined ? Math.max(DEFAULT_RETRY.maxMs, initialMs) : requireDuration(retry.max, where, "retry.max");
  return { attempts, initialMs, factor, maxMs, jitter };
}

export function requireDuration(duration: Duration, where: string, option: string): number {
  const ms = durationToMs(duration);
  if (ms !== undefined) return ms;
  const shown = typeof duration === "object" ? JSON.stringify(duration) : String(duration);
  throw new HoldfastError(
    "invalid_duration",
    `${where}: ${option} is ${JSON.stringify(shown)}, which is not a duration. Write "30s", "2h 30m", "1 day" or { minutes: 5 }.`,
    { data: { where, option } },
  );
}

function invalid(where: string, option: string, fault: string): HoldfastError {
  return new HoldfastError("invalid_option", `${where}: ${option} ${fault}.`, { data: { where, option } });
}
