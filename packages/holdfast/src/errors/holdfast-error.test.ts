import { inspect } from "node:util";
import { describe, expect, it } from "vitest";
import { HoldfastError, isHoldfastError } from "./holdfast-error.ts";
import { RecordedError, RunCanceledError, RunFailedError, RunTerminatedError, RunTimedOutError } from "./run-errors.ts";
import { NonRetryableError, RetryableError } from "./step-errors.ts";

describe("HoldfastError", () => {
  it("carries code, kind, data and cause", () => {
    const cause = new Error("socket closed");
    const error = new HoldfastError("store_unavailable", "The store is gone", { data: { url: "x" }, cause });
    expect(error).toBeInstanceOf(Error);
    expect(error).toMatchObject({ name: "HoldfastError", code: "store_unavailable", kind: "DatabaseError" });
    expect(error.data).toEqual({ url: "x" });
    expect(error.cause).toBe(cause);
    expect(error.stack).toContain("HoldfastError: The store is gone");
    expect(Object.isFrozen(error.data)).toBe(true);
  });

  it("has no cause unless it is given one", () => {
    expect("cause" in new HoldfastError("run_failed", "x")).toBe(false);
  });

  it("takes another kind than its code's", () => {
    expect(new HoldfastError("run_failed", "x", { kind: "Timeout" }).kind).toBe("Timeout");
  });

  it("turns into JSON with its causes and without stacks", () => {
    const inner = new HoldfastError("codec_failed", "unreadable", { cause: new RangeError("offset") });
    const error = new HoldfastError("run_failed", "failed", { data: { id: "r" }, cause: inner });
    expect(JSON.parse(JSON.stringify(error))).toEqual({
      name: "HoldfastError",
      message: "failed",
      code: "run_failed",
      kind: "Unknown",
      data: { id: "r" },
      cause: {
        name: "HoldfastError",
        message: "unreadable",
        code: "codec_failed",
        kind: "Unknown",
        data: {},
        cause: { name: "RangeError", message: "offset" },
      },
    });
  });

  it("turns into JSON even if it is its own cause", () => {
    const error = new HoldfastError("run_failed", "failed");
    error.cause = error;
    expect(() => JSON.stringify(error)).not.toThrow();
  });

  it("does not list its name as data when it is printed", () => {
    expect(inspect(new NonRetryableError("no"))).toMatch(/^NonRetryableError: no\n/);
    expect(Object.keys(new NonRetryableError("no"))).toEqual(["code", "kind", "data"]);
  });
});

describe("isHoldfastError", () => {
  it("knows its errors by their code", () => {
    const error: unknown = new HoldfastError("run_not_found", "x");
    expect(isHoldfastError(error)).toBe(true);
    expect(isHoldfastError(error, "run_not_found")).toBe(true);
    expect(isHoldfastError(error, "run_failed")).toBe(false);
  });

  it("knows the errors of another copy of the package", () => {
    class OtherCopy extends Error {
      readonly code = "run_not_found";
      get [Symbol.for("holdfast.error")](): boolean {
        return true;
      }
    }
    expect(isHoldfastError(new OtherCopy(), "run_not_found")).toBe(true);
  });

  it("is not fooled by names and codes, nor stopped by hostile objects", () => {
    const fake = Object.assign(new Error("x"), { name: "HoldfastError", code: "run_failed" });
    const hostile = new Proxy(
      {},
      {
        get: () => {
          throw new Error("no");
        },
      },
    );
    expect([fake, hostile, null, undefined, "run_failed", 5].some((value) => isHoldfastError(value))).toBe(false);
  });
});

describe("errors for steps", () => {
  it("have codes of their own", () => {
    const stop = new NonRetryableError("card refused", { kind: "ValidationError", data: { card: 1 } });
    expect(stop).toMatchObject({ code: "non_retryable", kind: "ValidationError", data: { card: 1 } });
    const again = new RetryableError("busy", { after: { minutes: 1 }, data: { a: 1 } });
    expect(again).toMatchObject({ code: "retryable", afterMs: 60_000, data: { a: 1, afterMs: 60_000 } });
    expect(new RetryableError("busy").afterMs).toBeUndefined();
  });

  it("refuse a duration that cannot be read, and keep what the error was about", () => {
    const cause = new Error("503");
    expect(() => new RetryableError("busy", { after: "soon", cause })).toThrow(
      expect.objectContaining({
        code: "invalid_duration",
        kind: "BadRequest",
        cause,
        message: expect.stringContaining("busy"),
      }),
    );
  });
});

describe("errors of runs", () => {
  const run = { id: "order-1", runId: "r-1", workflow: "order" };

  it.each([
    [new RunFailedError(run), "RunFailedError", "run_failed", "failed"],
    [new RunCanceledError(run), "RunCanceledError", "run_canceled", "was canceled"],
    [new RunTerminatedError(run), "RunTerminatedError", "run_terminated", "was terminated"],
    [new RunTimedOutError(run), "RunTimedOutError", "run_timed_out", "did not end within its timeout"],
  ])("%s says which run", (error, name, code, what) => {
    expect(error).toMatchObject({ name, code, data: run });
    expect(error.message).toBe(`Run "order-1" of workflow "order" (r-1) ${what}`);
  });

  it("say why", () => {
    expect(new RunCanceledError({ ...run, reason: "customer left" }).message).toMatch(/was canceled: customer left$/);
    expect(new RunCanceledError({ ...run, reason: "customer left" }).data.reason).toBe("customer left");
    const cause = new RecordedError({
      name: "CardError",
      message: "refused",
      kind: "BadRequest",
      op: "charge",
      attempts: 3,
    });
    const failed = new RunFailedError({ ...run, cause });
    expect(failed.message).toMatch(/failed: CardError: refused$/);
    expect(failed.cause).toBe(cause);
    expect(failed.kind).toBe("BadRequest");
  });
});
