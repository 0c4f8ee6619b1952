import {
  ERROR_KINDS,
  type ErrorKind,
  NonRetryableError,
  RetryableError,
  type RetryIf,
  type RunHandle,
  type StepOptions,
  workflow,
} from "holdfast";
import { describe, expect, test } from "vitest";
import { deferred } from "../lab/deferred.ts";
import { openEngine, openFleet } from "../lab/fleet.ts";

/** A workflow of one step that fails so many times and then succeeds. */
function flaky(failures: number, options: StepOptions<number>, error: () => unknown = () => new Error("down")) {
  return workflow("flaky", (ctx) =>
    ctx.step(
      "work",
      (s) => {
        if (s.attempt <= failures) throw error();
        return s.attempt;
      },
      options,
    ),
  );
}

async function delays(run: RunHandle<unknown>): Promise<number[]> {
  const failed = (await run.history()).filter((event) => event.type === "step_attempt_failed");
  return failed.map((event) => Number(event.retryAt) - Number(event.at));
}

describe("retry of a step", () => {
  test("happens three times in all unless asked otherwise, after about one and two seconds", async () => {
    const work = flaky(9, {});
    const t = await openEngine(work);
    const run = await t.client.start(work);
    await expect(run.result()).rejects.toMatchObject({ cause: { message: "down", attempts: 3 } });
    const [first, second, ...more] = await delays(run);
    expect(first).toBeGreaterThanOrEqual(750);
    expect(first).toBeLessThanOrEqual(1_250);
    expect(second).toBeGreaterThanOrEqual(1_500);
    expect(second).toBeLessThanOrEqual(2_500);
    expect(more).toEqual([]);
  });

  test.each<[string, StepOptions<number>, number[]]>([
    [
      "grows by the factor up to the cap",
      { retry: { attempts: 6, initial: "1s", factor: 3, max: "20s", jitter: 0 } },
      [1, 3, 9, 20, 20],
    ],
    [
      "doubles by default and is capped at a minute",
      { retry: { attempts: 9, jitter: false } },
      [1, 2, 4, 8, 16, 32, 60, 60],
    ],
    ["is constant when fixed", { retry: { attempts: 4, fixed: "5s" } }, [5, 5, 5]],
    ["does not come with a single attempt", { retry: { attempts: 1 } }, []],
    ["does not come with none", { retry: "none" }, []],
  ])("waits for a time that %s", async (_title, options, seconds) => {
    const work = flaky(99, options);
    const t = await openEngine(work);
    const run = await t.client.start(work);
    await expect(run.result()).rejects.toMatchObject({ cause: { attempts: seconds.length + 1 } });
    expect(await delays(run)).toEqual(seconds.map((s) => s * 1000));
  });

  test("is spread by jitter to both sides, within its bounds", async () => {
    const work = flaky(1, { retry: { attempts: 2, initial: "100s", max: "100s", jitter: 0.25 } });
    const t = await openEngine(work);
    const runs = await t.client.startMany(Array.from({ length: 200 }, () => ({ workflow: work })));
    await Promise.all(runs.map((run) => run.result()));
    const all = (await Promise.all(runs.map(delays))).flat();
    expect(all).toHaveLength(200);
    expect(Math.min(...all)).toBeGreaterThanOrEqual(75_000);
    expect(Math.max(...all)).toBeLessThanOrEqual(125_000);
    expect(all.filter((ms) => ms < 100_000).length).toBeGreaterThan(60);
    expect(all.filter((ms) => ms > 100_000).length).toBeGreaterThan(60);
  });

  test("is a durable timer: the run sleeps, holds no slot, and another worker takes it up with the attempts counted", async () => {
    const attempts: number[] = [];
    const work = workflow("work", (ctx) =>
      ctx.step(
        "call",
        (s) => {
          attempts.push(s.attempt);
          if (s.attempt < 3) throw new Error("down");
          return "up";
        },
        { retry: { attempts: 3, fixed: "1 hour" } },
      ),
    );
    const fleet = openFleet();
    const first = await fleet.worker({ workflows: [work] });
    const run = await fleet.client().start(work);
    const began = fleet.clock.now();
    await fleet.clock.advance("10 minutes");
    expect(first.activeRuns).toBe(0);
    const waiting = await run.describe();
    expect(waiting).toMatchObject({ status: "sleeping", waitingFor: ["call"], workerId: null });
    expect(waiting.availableAt).toEqual(new Date(began + 3_600_000));
    expect(await run.steps()).toMatchObject([
      { op: "call", status: "retrying", attempts: 1, error: { message: "down" } },
    ]);
    await fleet.clock.until(first.stop());
    await fleet.worker({ workflows: [work] });
    expect(await fleet.result(run)).toBe("up");
    expect(attempts).toEqual([1, 2, 3]);
    expect(fleet.clock.now() - began).toBe(2 * 3_600_000);
  });

  test("keeps every failed attempt in history, and the result of the last one counts", async () => {
    const work = flaky(2, { retry: { attempts: 5, fixed: "1s" } });
    const t = await openEngine(work);
    const run = await t.client.start(work);
    expect(await run.result()).toBe(3);
    expect((await run.history()).map((e) => [e.type, e.attempt, e.error?.message])).toEqual([
      ["run_started", undefined, undefined],
      ["step_attempt_failed", 1, "down"],
      ["step_attempt_failed", 2, "down"],
      ["step_completed", 3, undefined],
      ["run_completed", undefined, undefined],
    ]);
    expect(await run.steps()).toMatchObject([{ op: "work", status: "completed", attempts: 3, output: 3 }]);
  });
});

describe("which errors are retried", () => {
  const permanent: readonly ErrorKind[] = ["NotFound", "Unauthorized", "BadRequest", "ValidationError"];
  const transient: readonly ErrorKind[] = [
    "NetworkError",
    "Timeout",
    "DatabaseError",
    "RateLimitExceeded",
    "ServiceUnavailable",
  ];
  const rules: [string, RetryIf | undefined, readonly ErrorKind[]][] = [
    ["by default everything but the four kinds that cannot pass", undefined, [...transient, "Unknown"]],
    ['with "retryable" only the five kinds that are known to pass', "retryable", transient],
    ['with "any" every kind', "any", ERROR_KINDS],
    ['with "never" none', "never", []],
    ["with a list the kinds in it", ["NotFound", "Timeout"], ["NotFound", "Timeout"]],
    ["with a function those it says yes to", (_error, { kind }) => kind === "Unauthorized", ["Unauthorized"]],
  ];

  test.each(rules)("%s", async (_title, retryIf, retried) => {
    const work = workflow("work", async (ctx, kind: ErrorKind) =>
      ctx.step(
        "call",
        (s) => {
          if (s.attempt === 1) throw Object.assign(new Error("failed"), { kind });
          return s.attempt;
        },
        { retry: { attempts: 2, fixed: "1s" }, ...(retryIf === undefined ? {} : { retryIf }) },
      ),
    );
    const t = await openEngine(work);
    const again: ErrorKind[] = [];
    for (const kind of ERROR_KINDS) if (await t.run(work, kind).catch(() => false)) again.push(kind);
    expect(new Set(again)).toEqual(new Set(retried));
    if (retryIf === undefined) expect(ERROR_KINDS.filter((kind) => !again.includes(kind))).toEqual([...permanent]);
  });

  test("a function is told the error itself and the attempt", async () => {
    const asked: unknown[] = [];
    const retryIf: RetryIf = (error, { kind, attempt }) => {
      asked.push([(error as Error).message, kind, attempt]);
      return attempt < 2;
    };
    const work = flaky(9, { retry: { attempts: 5, fixed: "1s" }, retryIf });
    const t = await openEngine(work);
    await expect(t.run(work)).rejects.toMatchObject({ cause: { attempts: 2 } });
    expect(asked).toEqual([
      ["down", "Unknown", 1],
      ["down", "Unknown", 2],
    ]);
  });

  test("NonRetryableError stops under every rule", async () => {
    for (const retryIf of ["any", "retryable", ["Unknown"], () => true] as const) {
      const work = flaky(9, { retry: { attempts: 5 }, retryIf }, () => new NonRetryableError("never"));
      const t = await openEngine(work);
      await expect(t.run(work)).rejects.toMatchObject({ cause: { message: "never", attempts: 1 } });
    }
  });

  test("RetryableError goes on under every rule but never, and waits at least as long as it asks for", async () => {
    const error = () => new RetryableError("busy", { after: "1 hour" });
    for (const retryIf of ["retryable", [], () => false] as const) {
      const work = flaky(1, { retry: { attempts: 2, fixed: "1s" }, retryIf }, error);
      const t = await openEngine(work);
      const run = await t.client.start(work);
      expect(await run.result()).toBe(2);
      expect(await delays(run)).toEqual([3_600_000]);
    }
    const never = flaky(1, { retry: { attempts: 2 }, retryIf: "never" }, error);
    const t = await openEngine(never);
    await expect(t.run(never)).rejects.toMatchObject({ cause: { attempts: 1 } });
  });
});

describe("timeout of a step", () => {
  test("is for each attempt: it aborts the attempt's signal and counts as a failure that is retried", async () => {
    const reasons: unknown[] = [];
    const work = workflow("work", (ctx) =>
      ctx.step(
        "call",
        (s) => {
          if (s.attempt === 3) return "in time";
          return new Promise<string>((_, reject) => {
            s.signal.addEventListener("abort", () => {
              reasons.push(s.signal.reason);
              reject(s.signal.reason);
            });
          });
        },
        { timeout: "30s", retry: { attempts: 3, fixed: "1s" } },
      ),
    );
    const fleet = openFleet();
    await fleet.worker({ workflows: [work] });
    const run = await fleet.client().start(work);
    const began = fleet.clock.now();
    expect(await fleet.result(run)).toBe("in time");
    expect(fleet.clock.now() - began).toBe(2 * 31_000);
    expect(reasons).toMatchObject([
      { code: "step_timeout", message: 'Attempt 1 of step "call" took longer than 30s.' },
      { code: "step_timeout", message: 'Attempt 2 of step "call" took longer than 30s.' },
    ]);
  });

  test("ends an attempt that does not listen, and what it returns later is not taken for a result", async () => {
    const late = deferred<string>();
    const work = workflow("work", (ctx) => ctx.step("call", () => late.promise, { timeout: "30s", retry: "none" }));
    const fleet = openFleet();
    await fleet.worker({ workflows: [work] });
    const run = await fleet.client().start(work);
    await expect(fleet.result(run)).rejects.toMatchObject({
      cause: { kind: "Timeout", recordedCode: "step_timeout", op: "call", attempts: 1 },
    });
    late.resolve("too late");
    await fleet.clock.settle();
    expect((await run.history()).map((event) => event.type)).toEqual([
      "run_started",
      "step_started",
      "step_failed",
      "run_failed",
    ]);
  });

  test("works in the test engine too, where a step that never ends lets time pass", async () => {
    const work = workflow("work", (ctx) =>
      ctx.step("call", () => new Promise<string>(() => {}), { timeout: "1 day", retry: "none" }),
    );
    const t = await openEngine(work);
    await expect(t.run(work)).rejects.toMatchObject({ cause: { kind: "Timeout" } });
  });
});
