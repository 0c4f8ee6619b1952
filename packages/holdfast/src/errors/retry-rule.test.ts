import { describe, expect, it, vi } from "vitest";
import { ERROR_KINDS, isRetryableKind } from "../model/error-kind.ts";
import { HoldfastError } from "./holdfast-error.ts";
import { type RetryIf, shouldRetry } from "./retry-rule.ts";
import { NonRetryableError, RetryableError } from "./step-errors.ts";

const error = new Error("plain");

function kindsRetried(rule: RetryIf): string[] {
  return ERROR_KINDS.filter((kind) => shouldRetry(rule, error, { kind, attempt: 1 }));
}

describe("shouldRetry", () => {
  it("by default retries all but the four permanent kinds", () => {
    expect(kindsRetried("default")).toEqual([...ERROR_KINDS.filter(isRetryableKind), "Unknown"]);
  });

  it('retries only the retryable kinds under "retryable"', () => {
    expect(kindsRetried("retryable")).toEqual(ERROR_KINDS.filter(isRetryableKind));
  });

  it('retries everything under "any" and nothing under "never"', () => {
    expect(kindsRetried("any")).toEqual(ERROR_KINDS);
    expect(kindsRetried("never")).toEqual([]);
  });

  it("retries the kinds of a list", () => {
    expect(kindsRetried(["NotFound", "Timeout"])).toEqual(["Timeout", "NotFound"]);
    expect(kindsRetried([])).toEqual([]);
  });

  it("asks a function, with the error and what is known about it", () => {
    const rule = vi.fn((_: unknown, info: { attempt: number }) => info.attempt < 2);
    expect(shouldRetry(rule, error, { kind: "Timeout", attempt: 1 })).toBe(true);
    expect(shouldRetry(rule, error, { kind: "Timeout", attempt: 2 })).toBe(false);
    expect(rule).toHaveBeenLastCalledWith(error, { kind: "Timeout", attempt: 2 });
  });

  it("falls back to the default when the function throws", () => {
    const rule = () => {
      throw new Error("bug in the rule");
    };
    expect(kindsRetried(rule)).toEqual(kindsRetried("default"));
  });

  it("does not take the promise of an async function for a yes", () => {
    expect(kindsRetried((async () => true) as unknown as RetryIf)).toEqual([]);
  });

  const rules: RetryIf[] = ["default", "retryable", "any", "never", ["Timeout", "Unknown"], () => true];
  it.each(rules)("stops at a NonRetryableError under %s, whatever its kind", (rule) => {
    const stop = new NonRetryableError("no", { kind: "Timeout" });
    expect(shouldRetry(rule, stop, { kind: "Timeout", attempt: 1 })).toBe(false);
  });

  it.each<[RetryIf, boolean]>([
    ["default", true],
    ["retryable", true],
    ["any", true],
    ["never", false],
    [["Timeout"], true],
    [() => false, true],
  ])("retries a RetryableError under %s: %s", (rule, expected) => {
    const again = new RetryableError("later", { kind: "NotFound" });
    expect(shouldRetry(rule, again, { kind: "NotFound", attempt: 1 })).toBe(expected);
  });

  it.each(["card_declined", 402])(
    "goes by the class of an error that was given a code of its own, such as %j",
    (code) => {
      const info = { kind: "Unknown", attempt: 1 } as const;
      class Declined extends NonRetryableError {}
      expect(shouldRetry("any", Object.assign(new NonRetryableError("no"), { code }), info)).toBe(false);
      expect(shouldRetry("default", Object.assign(new Declined("no"), { code }), info)).toBe(false);
      expect(shouldRetry("retryable", Object.assign(new RetryableError("busy"), { code }), info)).toBe(true);
    },
  );

  it("judges other HoldfastErrors by their kind", () => {
    const lost = new HoldfastError("store_unavailable", "gone");
    expect(shouldRetry("default", lost, { kind: lost.kind, attempt: 1 })).toBe(true);
    const wrong = new HoldfastError("inside_step", "no");
    expect(shouldRetry("default", wrong, { kind: wrong.kind, attempt: 1 })).toBe(false);
  });
});
