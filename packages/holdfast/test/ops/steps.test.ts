import { type Context, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { deferred } from "../lab/deferred.ts";
import { openEngine, openFleet } from "../lab/fleet.ts";

describe("a step", () => {
  test("runs once, and its result is remembered over every later replay", async () => {
    const calls: string[] = [];
    const trip = workflow("trip", async (ctx) => {
      const flight = await ctx.step("flight", () => calls.push("flight"));
      await ctx.sleep("a", "1h");
      const hotel = await ctx.step("hotel", () => calls.push("hotel"));
      await ctx.sleep("b", "1h");
      return { flight, hotel };
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [trip] });
    const run = await fleet.client().start(trip);
    expect(await fleet.result(run)).toEqual({ flight: 1, hotel: 2 });
    expect(calls).toEqual(["flight", "hotel"]);
  });

  test("gives back what its function returned, on replay too: dates, maps, sets, bigints, bytes, undefined", async () => {
    const value = {
      when: new Date(86_400_000),
      prices: new Map<string, number>([["tea", 2.5]]),
      tags: new Set(["a", "b"]),
      big: 2n ** 70n,
      bytes: Uint8Array.of(0, 127, 255),
      nothing: undefined,
      list: [null, Number.NaN, -0, Number.POSITIVE_INFINITY],
      error: new TypeError("kept as an error"),
    };
    const keep = workflow("keep", async (ctx) => {
      const live = await ctx.step("make", () => value);
      const seen = [live];
      await ctx.sleep("until it is replayed", "1h");
      return seen;
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [keep] });
    const [result] = await fleet.result(await fleet.client().start(keep));
    expect(result).toEqual(value);
    expect(result).toHaveProperty("nothing", undefined);
    expect(Object.is(result?.list[2], -0)).toBe(true);
  });

  test("that returns nothing gives undefined", async () => {
    const quiet = workflow("quiet", async (ctx) => [await ctx.step("quiet", () => {})]);
    const t = await openEngine(quiet);
    expect(await t.run(quiet)).toEqual([undefined]);
  });

  test("hands out a copy: what the workflow does to it changes neither history nor the function's own object", async () => {
    const own = { items: ["a"] };
    const change = workflow("change", async (ctx) => {
      const mine = await ctx.step("make", () => own);
      mine.items.push("b");
      return mine;
    });
    const t = await openEngine(change);
    const run = await t.client.start(change);
    expect(await run.result()).toEqual({ items: ["a", "b"] });
    expect(own).toEqual({ items: ["a"] });
    expect((await run.steps())[0]?.output).toEqual({ items: ["a"] });
  });

  test("may be synchronous or asynchronous, and a synchronous throw is a failure like any other", async () => {
    const both = workflow("both", async (ctx) => {
      const sync = await ctx.step("sync", () => 1);
      const async = await ctx.step("async", async () => 2);
      const thrown = await ctx
        .step(
          "throws",
          () => {
            throw new RangeError("too far");
          },
          { retry: "none" },
        )
        .catch((error: Error) => `${error.name}: ${error.message}`);
      return [sync, async, thrown];
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [both] });
    const plain = await fleet.client().start(both);
    expect(await fleet.result(plain)).toEqual([1, 2, "RangeError: too far"]);
    // The test engine stands between the step and its caller.
    const t = await openEngine(both);
    expect(await t.run(both)).toEqual([1, 2, "RangeError: too far"]);
  });

  test("may return anything that can be awaited, a function with a then included", async () => {
    const promise = Promise.resolve(1);
    const then = promise.then.bind(promise);
    const posing = (target: object) => new Proxy(target, { get: () => then }) as PromiseLike<number>;
    const both = workflow("both", async (ctx) => [
      await ctx.step("object", () => posing({})),
      await ctx.step("function", () => posing(() => {})),
    ]);
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [both] });
    expect(await fleet.result(await fleet.client().start(both))).toEqual([1, 1]);
  });

  test("of a name that was used before is told apart by its number", async () => {
    const loop = workflow("loop", async (ctx) => {
      const results: number[] = [];
      for (const n of [1, 2, 3]) results.push(await ctx.step("charge", () => n * 10));
      return results;
    });
    const t = await openEngine(loop);
    const run = await t.client.start(loop);
    expect(await run.result()).toEqual([10, 20, 30]);
    expect((await run.steps()).map(({ op, output }) => [op, output])).toEqual([
      ["charge", 10],
      ["charge#2", 20],
      ["charge#3", 30],
    ]);
  });

  test("has one idempotency key for all its attempts, and no other step or run has the same", async () => {
    const keys: string[] = [];
    const pay = workflow("pay", async (ctx) => {
      for (const name of ["charge", "charge", "ship"]) {
        await ctx.step(name, (s) => {
          keys.push(s.idempotencyKey);
          if (s.attempt < 3) throw new Error("not yet");
        });
      }
    });
    const t = await openEngine(pay);
    await t.run(pay);
    await t.run(pay);
    expect(keys).toHaveLength(18);
    expect(new Set(keys).size).toBe(6);
    for (let i = 0; i < keys.length; i += 3) expect(new Set(keys.slice(i, i + 3)).size).toBe(1);
  });

  test("is told its attempt, and its log lines carry the run, the op and the attempt", async () => {
    const talk = workflow("talk", (ctx) =>
      ctx.step("talk", (s) => {
        s.log.info({ detail: 1 }, "hello");
        if (s.attempt < 2) throw new Error("again");
      }),
    );
    const fleet = openFleet();
    await fleet.worker({ workflows: [talk] });
    const run = await fleet.client().start(talk);
    await fleet.result(run);
    const hellos = fleet.lines.filter((line) => line.message === "hello").map((line) => line.fields);
    const of = { namespace: "default", workflow: "talk", id: run.id, runId: run.runId };
    const about = { ...of, op: "talk", detail: 1 };
    expect(hellos).toEqual([
      { ...about, attempt: 1 },
      { ...about, attempt: 2 },
    ]);
  });
});

describe("an error of a step", () => {
  class CardDeclined extends Error {
    override readonly name = "CardDeclined";
    readonly status = 503;
    readonly code = "card_declined";
    readonly limit = 100;
  }
  const decline = (): never => {
    throw new CardDeclined("over the limit", { cause: new Error("bank said no") });
  };

  test("comes back with name, message, kind, code, data, cause, stack and attempts, on replay too", async () => {
    const seen: unknown[] = [];
    const pay = workflow("pay", async (ctx) => {
      const error = await ctx.step("charge", decline, { retry: { attempts: 2 } }).then(
        () => undefined,
        (reason) => reason,
      );
      seen.push(error);
      await ctx.sleep("until it is replayed", "1h");
      return { stack: error.stack as string, isError: error instanceof Error };
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [pay] });
    const result = await fleet.result(await fleet.client().start(pay));
    expect(seen).toHaveLength(2);
    for (const error of seen) {
      expect(error).toMatchObject({
        name: "CardDeclined",
        message: "over the limit",
        kind: "ServiceUnavailable",
        code: "step_failed",
        recordedCode: "card_declined",
        op: "charge",
        attempts: 2,
        data: { limit: 100 },
        cause: { name: "Error", message: "bank said no" },
      });
    }
    expect(result.isError).toBe(true);
    expect(result.stack).toContain("CardDeclined: over the limit");
    expect(result.stack).toContain("steps.test.ts");
  });

  test("that nobody catches fails the run, and result() has it as the cause", async () => {
    const pay = workflow("pay", (ctx) => ctx.step("charge", decline, { retry: { attempts: 2 } }));
    const t = await openEngine(pay);
    const run = await t.client.start(pay, undefined, { id: "order-1" });
    await expect(run.result()).rejects.toMatchObject({
      name: "RunFailedError",
      code: "run_failed",
      kind: "ServiceUnavailable",
      message: expect.stringMatching(/Run "order-1" of workflow "pay" .* failed: CardDeclined: over the limit/),
      data: { id: "order-1", runId: run.runId, workflow: "pay" },
      cause: { name: "CardDeclined", attempts: 2, op: "charge", stack: expect.stringContaining("steps.test.ts") },
    });
    expect(await run.status()).toBe("failed");
  });

  test("may be anything that can be thrown", async () => {
    const odd = workflow("odd", async (ctx) => {
      const results: string[] = [];
      for (const thrown of ["text", undefined, { reason: "object" }, 42]) {
        const error = await ctx
          .step("odd", () => Promise.reject(thrown), { retry: "none" })
          .catch((reason: unknown) => reason);
        results.push(error instanceof Error ? `${error.name}: ${error.message}` : "not an error");
      }
      return results;
    });
    const t = await openEngine(odd);
    expect(await t.run(odd)).toEqual([
      "ThrownValue: text",
      "ThrownValue: undefined was thrown",
      "ThrownValue: an object of class Object was thrown",
      "ThrownValue: 42 was thrown",
    ]);
  });
});

describe("a value that cannot be stored", () => {
  test("is the ctx itself, an instance of a class or a promise: refused wherever it is returned, with the path", async () => {
    class Point {
      readonly x = 1;
    }
    const returns = (value: (ctx: Context) => unknown) => workflow("returns", async (ctx) => ({ deep: [value(ctx)] }));
    const cases: [(ctx: Context) => unknown, string][] = [
      [(ctx) => ctx, 'deep[0] in output of workflow "returns" is the ctx of a workflow'],
      [() => new Point(), 'deep[0] in output of workflow "returns" is an instance of class Point'],
      [() => new URLSearchParams("a=1"), 'deep[0] in output of workflow "returns" is a URLSearchParams'],
      [(ctx) => ctx.step("s", () => 1), 'deep[0] in output of workflow "returns" is a promise (is an await missing?)'],
    ];
    for (const [value, message] of cases) {
      const definition = returns(value);
      const t = await openEngine(definition);
      await expect(t.run(definition)).rejects.toMatchObject({
        cause: { code: "unserializable_value", message: expect.stringContaining(message) },
      });
    }
  });

  test("as a step's result is a failure that names the step and the path, and the work is not repeated", async () => {
    let calls = 0;
    const bad = workflow("bad", (ctx) =>
      ctx.step("fetch", () => {
        calls += 1;
        return { user: { name: "ann", greet: () => "hi" } };
      }),
    );
    const t = await openEngine(bad);
    await expect(t.run(bad)).rejects.toMatchObject({
      cause: {
        recordedCode: "unserializable_value",
        kind: "ValidationError",
        message: expect.stringMatching(/user\.greet.* step "fetch" is a function/),
      },
    });
    expect(calls).toBe(1);
  });

  test("as a promise that was not awaited says so", async () => {
    const bad = workflow("bad", (ctx) => ctx.step("fetch", () => ({ body: Promise.resolve(1) })));
    const t = await openEngine(bad);
    await expect(t.run(bad)).rejects.toMatchObject({
      cause: { message: expect.stringContaining("is an await missing?") },
    });
  });

  test("as the output of a workflow fails the run, and as its input refuses the start", async () => {
    const bad = workflow("bad", async (_ctx, input: { fn?: () => void }) => ({ input, fn: () => 1 }));
    const t = await openEngine(bad);
    await expect(t.run(bad, {})).rejects.toMatchObject({
      code: "run_failed",
      cause: { code: "unserializable_value", message: expect.stringContaining('output of workflow "bad"') },
    });
    await expect(t.client.start(bad, { fn: () => {} })).rejects.toMatchObject({
      code: "unserializable_value",
      message: expect.stringContaining('fn in input of workflow "bad" is a function'),
    });
    expect(await t.client.count()).toBe(1);
  });
});

describe("a step that takes long", () => {
  test("is recorded as started after about a second, so that people can see it; a short one is not", async () => {
    const slow = deferred<string>();
    const work = workflow("work", async (ctx) => {
      await ctx.step("short", () => 1);
      return ctx.step("long", () => slow.promise);
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [work] });
    const run = await fleet.client().start(work);
    await fleet.clock.advance("900ms");
    expect((await run.steps()).map(({ op }) => op)).toEqual(["short"]);
    await fleet.clock.advance("1200ms");
    expect((await run.steps()).map(({ op, status }) => [op, status])).toEqual([
      ["short", "completed"],
      ["long", "running"],
    ]);
    slow.resolve("done");
    expect(await fleet.result(run)).toBe("done");
    expect((await run.history()).map(({ type, op }) => `${type} ${op ?? ""}`.trim())).toEqual([
      "run_started",
      "step_completed short",
      "step_started long",
      "step_completed long",
      "run_completed",
    ]);
  });
});
