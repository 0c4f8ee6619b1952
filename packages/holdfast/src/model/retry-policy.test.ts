import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { backoffMs, DEFAULT_RETRY, mayTryAgain, NO_RETRY, type RetryPolicy, tryAgainInMs } from "./retry-policy.ts";

const middle = () => 0.5;
const lowest = () => 0;
const highest = () => 1 - Number.EPSILON;

describe("backoffMs", () => {
  it("starts at the initial delay and doubles", () => {
    const delays = [1, 2, 3, 4, 5].map((failed) => backoffMs(DEFAULT_RETRY, failed, middle));
    expect(delays).toEqual([1_000, 2_000, 4_000, 8_000, 16_000]);
  });

  it("stays at the cap once it has grown to it, however often it failed", () => {
    expect(backoffMs(DEFAULT_RETRY, 7, middle)).toBe(60_000);
    expect(backoffMs(DEFAULT_RETRY, 5_000, middle)).toBe(60_000);
  });

  it("spreads by ±25 % to both sides", () => {
    expect(backoffMs(DEFAULT_RETRY, 1, lowest)).toBe(750);
    expect(backoffMs(DEFAULT_RETRY, 1, highest)).toBe(1_250);
    expect(backoffMs(DEFAULT_RETRY, 2, lowest)).toBe(1_500);
    expect(backoffMs(DEFAULT_RETRY, 2, highest)).toBe(2_500);
  });

  it("spreads around the cap too, so that a crowd at the cap does not gather on one instant", () => {
    expect(backoffMs(DEFAULT_RETRY, 50, lowest)).toBe(45_000);
    expect(backoffMs(DEFAULT_RETRY, 50, highest)).toBe(75_000);
  });

  it("is constant for a fixed interval, and asks for no random number without jitter", () => {
    const fixed: RetryPolicy = { attempts: 10, initialMs: 5_000, factor: 1, maxMs: 5_000, jitter: 0 };
    const forbidden = () => {
      throw new Error("asked for a random number");
    };
    expect([1, 2, 9].map((failed) => backoffMs(fixed, failed, forbidden))).toEqual([5_000, 5_000, 5_000]);
  });

  it("is zero without an initial delay", () => {
    expect(backoffMs(NO_RETRY, 1, middle)).toBe(0);
    expect(backoffMs({ ...DEFAULT_RETRY, initialMs: 0 }, 5_000, middle)).toBe(0);
  });

  it("is always a whole number within the cap and its jitter share", () => {
    const policies = fc.record({
      attempts: fc.integer({ min: 1, max: 1_000 }),
      initialMs: fc.integer({ min: 0, max: 1e12 }),
      factor: fc.double({ min: 1, max: 100, noNaN: true }),
      maxMs: fc.integer({ min: 0, max: 1e12 }),
      jitter: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    const random = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true });
    fc.assert(
      fc.property(policies, fc.integer({ min: 1, max: 10_000 }), random, (policy, failed, drawn) => {
        const delay = backoffMs(policy, failed, () => drawn);
        expect(Number.isSafeInteger(delay)).toBe(true);
        expect(delay).toBeGreaterThanOrEqual(0);
        expect(delay).toBeLessThanOrEqual(Math.ceil(policy.maxMs * (1 + policy.jitter)));
      }),
    );
  });
});

describe("another execution", () => {
  const policy = { ...DEFAULT_RETRY, attempts: 3, initialMs: 1_000, jitter: 0 };

  it("is there while attempts are left and the rule allows it, and the rule is not asked for the last", () => {
    let asked = 0;
    const allows = (answer: boolean) => () => {
      asked += 1;
      return answer;
    };
    expect(mayTryAgain(policy, { attempt: 2 }, allows(true))).toBe(true);
    expect(mayTryAgain(policy, { attempt: 1 }, allows(false))).toBe(false);
    expect(mayTryAgain(policy, { attempt: 3 }, allows(true))).toBe(false);
    expect(asked).toBe(2);
  });

  it("comes when the policy says, but not before the time that was asked for", () => {
    expect(tryAgainInMs(policy, { attempt: 2 }, () => 0.5)).toBe(2_000);
    expect(tryAgainInMs(policy, { attempt: 2, retryAfterMs: 500 }, () => 0.5)).toBe(2_000);
    expect(tryAgainInMs(policy, { attempt: 2, retryAfterMs: 90_000 }, () => 0.5)).toBe(90_000);
  });
});
