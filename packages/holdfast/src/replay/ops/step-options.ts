import {
  checkedLater,
  checkOptions,
  invalidOption,
  isFunction,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  requireDuration,
  wholeNumber,
} from "../../errors/option-checks.ts";
import { isRetryIf, type RetryIf } from "../../errors/retry-rule.ts";
import { shownValue } from "../../errors/shown-value.ts";
import type { CheckedDuration } from "../../model/checked-duration.ts";
import type { RunName } from "../../model/child.ts";
import type { Duration } from "../../model/duration.ts";
import { DEFAULT_RETRY, NO_RETRY, type RetryPolicy } from "../../model/retry-policy.ts";
import type { TraceHeaders } from "../../model/trace-context.ts";
import type { RunLogger } from "../../ports/logger.ts";
import type { ChildDefinition, StepStartOptions } from "./start-options.ts";

/** How often and how soon to retry: with growing delays, with a fixed delay, or `"none"`, which is one attempt. */
export type RetryOption<S extends string = string> =
  | "none"
  | (GrowingRetry<S> & Without<"fixed">)
  | (FixedRetry<S> & Without<"initial" | "factor" | "max" | "jitter">);

/** Options that another one rules out. */
type Without<K extends string> = { readonly [P in K]?: never };

/** Retries after a delay that grows: `initial × factor^(failures − 1)`, at most `max`. */
export interface GrowingRetry<S extends string = string> {
  /**
   * Attempts in total, including the first.
   * @defaultValue `3`
   */
  readonly attempts?: number;
  /**
   * The delay before the second attempt.
   * @defaultValue `"1s"`
   */
  readonly initial?: CheckedDuration<S>;
  /**
   * Each further delay is this many times the previous one.
   * @defaultValue `2`
   */
  readonly factor?: number;
  /**
   * The maximum delay, before jitter.
   * @defaultValue `"60s"`, or `initial` if that is longer
   */
  readonly max?: CheckedDuration<S>;
  /**
   * Share by which a delay may be shorter or longer: 0.25 (or true) is ±25 %, 0 (or false) is none.
   * @defaultValue `0.25`
   */
  readonly jitter?: number | boolean;
}

/** Retries after a fixed delay, without jitter. */
export interface FixedRetry<S extends string = string> {
  /**
   * Attempts in total, including the first.
   * @defaultValue `3`
   */
  readonly attempts?: number;
  /** The delay before each further attempt. */
  readonly fixed: CheckedDuration<S>;
}

/** What a step's function receives. */
export interface StepInfo {
  /** Counted from 1; survives crashes. */
  readonly attempt: number;
  /** Aborted on timeout, on cancel, and when the worker loses the run. */
  readonly signal: AbortSignal;
  /** The same for every attempt of this step of this run: pass it on to the systems the step calls. */
  readonly idempotencyKey: string;
  /** Every line says which run, step and attempt it comes from. */
  readonly log: RunLogger;
  /**
   * The W3C headers of the trace that this attempt is part of: pass them on to the systems the step calls. Empty if the run was
   * started without a trace.
   */
  readonly traceHeaders: TraceHeaders;
  /**
   * Starts another run, which goes its own way: nobody waits for it, and the end of this run does not close it. It knows where it
   * comes from. An attempt that is repeated finds the runs that it has started: the first start of each is the same run, and so on.
   */
  start<I, O, S extends string = string>(
    definition: ChildDefinition<I, O>,
    ...inputAndOptions: StepStartArguments<I, S>
  ): Promise<RunName>;
}

/** What `s.start` takes besides the definition. The input is optional if the workflow takes none. */
export type StepStartArguments<I, S extends string = string> = undefined extends I
  ? [input?: I, options?: StepStartOptions<S>]
  : [input: I, options?: StepStartOptions<S>];

/** The work of a step: executed at least once, and never again once its result is recorded. */
export type StepFunction<T> = (step: StepInfo) => T | PromiseLike<T>;

/** What a compensation receives. */
export interface CompensationInfo {
  /**
   * What is known of the step. `failed`: its last attempt threw, and may have taken effect nevertheless. `unknown`: a crash
   * cut it off, or it timed out.
   */
  readonly outcome: "completed" | "failed" | "unknown";
  /** The key that the step itself received. */
  readonly idempotencyKey: string;
  /** Aborted when the worker loses the run. */
  readonly signal: AbortSignal;
  /** Which attempt of the compensation this is, counted from 1. */
  readonly attempt: number;
  /** The W3C headers of the trace that this attempt is part of, as in a step. */
  readonly traceHeaders: TraceHeaders;
}

/** Undoes a step. `result` is present if the step completed. */
export type Compensation<T> = (result: T | undefined, c: CompensationInfo) => unknown;

/** Options of `ctx.step`. */
export interface StepOptions<T = unknown, S extends string = string> {
  /**
   * How often and how soon the step is retried when its function throws.
   * @defaultValue 3 attempts, after 1 s and 2 s, ±25 %
   */
  readonly retry?: RetryOption<S>;
  /**
   * Which errors are worth another attempt.
   * @defaultValue `"default"`: all but the kinds NotFound, Unauthorized, BadRequest and ValidationError
   */
  readonly retryIf?: RetryIf;
  /**
   * The longest that one attempt may take; then `s.signal` is aborted, and the attempt counts as failed.
   * @defaultValue no limit
   */
  readonly timeout?: CheckedDuration<S>;
  /**
   * How to undo the step if the run fails, is canceled or times out. Called for every step that began, including one that
   * failed: check `c.outcome`, and undo by `c.idempotencyKey`. It gets up to ten attempts, whatever it throws, after 1 s, 2
   * s, 4 s … up to a minute, ±25 %; `retry` and `retryIf` apply to the step alone. A `NonRetryableError` gives up at once.
   * @defaultValue nothing is undone
   */
  readonly compensate?: Compensation<T>;
  /**
   * What to do about an attempt that a crash cut off: execute it again, or fail the step with `step_crashed` (at most once).
   * @defaultValue `"retry"`
   */
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

const STEP_OPTIONS: OptionChecks<StepOptions> = {
  retry: checkedLater,
  retryIf: isRetryIf,
  timeout: checkedLater,
  compensate: isFunction,
  onCrash: oneOf("retry", "fail"),
};

type Backoff = Exclude<RetryOption, string | { readonly fixed: Duration }>;

const BACKOFF_OPTIONS: OptionChecks<Backoff & { fixed: undefined }> = {
  attempts: wholeNumber(1),
  initial: checkedLater,
  factor: checkedLater,
  max: checkedLater,
  jitter: checkedLater,
  fixed: checkedLater,
};
const notWithFixed: OptionCheck = (_value, where, option) => {
  throw invalidOption(where, option, "cannot be given beside retry.fixed, a delay that is always the same");
};

const FIXED_OPTIONS: typeof BACKOFF_OPTIONS = {
  attempts: wholeNumber(1),
  initial: notWithFixed,
  factor: notWithFixed,
  max: notWithFixed,
  jitter: notWithFixed,
  fixed: checkedLater,
};

export function resolveStepOptions(options: StepOptions<never> | undefined, where: string): ResolvedStepOptions {
  if (options === undefined) return DEFAULT_OPTIONS;
  checkOptions(options, STEP_OPTIONS, where);
  const onCrash = options.onCrash ?? "retry";
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
  if (typeof retry === "string")
    throw invalidOption(where, "retry", `is ${shownValue(retry)}; it may be "none" or an object like { attempts: 5 }`);
  const fixed = (retry as { readonly fixed?: Duration } | null)?.fixed;
  checkOptions<object>(retry, fixed === undefined ? BACKOFF_OPTIONS : FIXED_OPTIONS, where, "retry.");
  const attempts = retry.attempts ?? DEFAULT_RETRY.attempts;
  if (fixed === undefined) return { attempts, ...resolveBackoff(retry as Backoff, where) };
  const fixedMs = requireDuration(fixed, where, "retry.fixed");
  return { attempts, initialMs: fixedMs, factor: 1, maxMs: fixedMs, jitter: 0 };
}

function resolveBackoff(retry: Backoff, where: string): Omit<RetryPolicy, "attempts"> {
  const factor = retry.factor ?? DEFAULT_RETRY.factor;
  if (!Number.isFinite(factor) || factor < 1) throw invalidOption(where, "retry.factor", "is not a number from 1 up");
  const jitter = jitterOf(retry.jitter);
  if (!(jitter >= 0 && jitter <= 1)) throw invalidOption(where, "retry.jitter", "is not a share between 0 and 1");
  const initialMs =
    retry.initial === undefined ? DEFAULT_RETRY.initialMs : requireDuration(retry.initial, where, "retry.initial");
  const maxMs =
    retry.max === undefined ? Math.max(DEFAULT_RETRY.maxMs, initialMs) : requireDuration(retry.max, where, "retry.max");
  return { initialMs, factor, maxMs, jitter };
}

function jitterOf(jitter: unknown): number {
  if (jitter === undefined || jitter === true) return DEFAULT_RETRY.jitter;
  if (jitter === false) return 0;
  return typeof jitter === "number" ? jitter : Number.NaN;
}
