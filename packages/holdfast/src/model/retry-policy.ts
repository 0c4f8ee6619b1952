import { DURATION_MS_MAX } from "./duration.ts";

/** A `RetryOption` with every value filled in, as a workflow definition carries it. */
export interface RetryPolicy {
  /** Attempts in total, including the first. */
  readonly attempts: number;
  /** Delay before the second attempt. */
  readonly initialMs: number;
  /** Each further delay is this many times the previous one; 1 is a fixed interval. */
  readonly factor: number;
  /** The maximum delay, before jitter. */
  readonly maxMs: number;
  /** Share by which a delay is spread to both sides: 0.25 is ±25 %. */
  readonly jitter: number;
}

export const DEFAULT_RETRY: RetryPolicy = Object.freeze({
  attempts: 3,
  initialMs: 1_000,
  factor: 2,
  maxMs: 60_000,
  jitter: 0.25,
});

export const NO_RETRY: RetryPolicy = Object.freeze({ attempts: 1, initialMs: 0, factor: 1, maxMs: 0, jitter: 0 });

/** What is known of a failed attempt: of a step, or of a whole run. */
export interface FailedAttempt {
  /** Attempts so far, including this one. */
  readonly attempt: number;
  /** How long the failed system asks callers to wait. */
  readonly retryAfterMs?: number | undefined;
}

/** Whether there is another attempt, of a step or of a whole run; `allows` is called only if the policy leaves one. */
export function mayTryAgain(policy: RetryPolicy, { attempt }: FailedAttempt, allows: () => boolean): boolean {
  return attempt < policy.attempts && allows();
}

/** How long until then: as the policy says, but not before the time that was asked for. */
export function tryAgainInMs(policy: RetryPolicy, failed: FailedAttempt, random: () => number): number {
  return Math.max(failed.retryAfterMs ?? 0, backoffMs(policy, failed.attempt, random));
}

/**
 * How long to wait after `failedAttempts` attempts have failed: `initial × factor^(failedAttempts − 1)`, capped at `maxMs`,
 * then spread by jitter.
 *
 * The cap comes before the jitter and is not applied again. If it were, half of the delays that have grown to the cap would
 * be cut to exactly the cap, and the crowd that jitter should scatter would come back together. So a delay lies within `cap
 * × (1 ± jitter)`, and never beyond.
 */
export function backoffMs(policy: RetryPolicy, failedAttempts: number, random: () => number): number {
  const exponent = Math.max(0, failedAttempts - 1);
  // 0 × Infinity is NaN: without an initial delay the power must not be computed.
  const grown = policy.initialMs === 0 ? 0 : policy.initialMs * policy.factor ** exponent;
  const capped = Math.min(grown, policy.maxMs);
  const spread = policy.jitter === 0 ? 0 : policy.jitter * (2 * random() - 1);
  return Math.min(Math.max(0, Math.round(capped * (1 + spread))), DURATION_MS_MAX);
}
