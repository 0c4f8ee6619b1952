import { type Context, type HoldfastError, RunCanceledError, RunFailedError, signal, workflow } from "holdfast";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { openEngine, openFleet } from "../lab/fleet.ts";

const double = workflow("double", async (ctx, n: number) => ctx.step("times two", () => n * 2));

describe("ctx.child", () => {
  test("starts another run and returns its output", async () => {
    const main = workflow("main", async (ctx, n: number) => {
      const one = await ctx.child(double, n);
      return ctx.child(double, one);
    });
    const t = await openEngine(main, double);
    const run = await t.client.start(main, 5);
    expect(await run.result()).toBe(20);
    const types = (await run.history()).map(({ type, op }) => `${type} ${op}`);
    expect(types).toEqual([
      "run_started null",
      "child_started double",
      "child_completed double",
      "child_started double#2",
      "child_completed double#2",
      "run_completed null",
    ]);
    expect(t.store.state.debts.size).toBe(0);
  });

  test("runs several at once", async () => {
    const main = workflow("main", async (ctx) => Promise.all([1, 2, 3].map((n) => ctx.child(double, n))));
    const t = await openEngine(main, double);
    expect(await t.run(main)).toEqual([2, 4, 6]);
  });

  test("rejects with the error of the child, which says what failed in it", async () => {
    const broken = workflow("broken", async (ctx) => {
      await ctx.step(
        "charge",
        () => {
          throw new Error("no money");
        },
        { retry: "none" },
      );
    });
    const main = workflow("main", async (ctx) => {
      try {
        return await ctx.child(broken);
      } catch (error) {
        if (!(error instanceof RunFailedError)) throw error;
        return [error.code, error.data.workflow, error.cause?.message, error.cause?.op];
      }
    });
    const t = await openEngine(main, broken);
    expect(await t.run(main)).toEqual(["run_failed", "broken", "no money", "charge"]);
  });

  test("fails its parent, if that does not catch it", async () => {
    const broken = workflow("broken", async () => {
      throw new Error("no");
    });
    const main = workflow("main", async (ctx) => ctx.child(broken));
    const t = await openEngine(main, broken);
    const error = await t.run(main).catch((thrown: unknown) => thrown as RunFailedError);
    expect(error).toMatchObject({ code: "run_failed", cause: { code: "run_failed", op: "broken" } });
  });

  test("rejects with the cancellation of a child that somebody else has canceled", async () => {
    const slow = workflow("slow", async (ctx) => ctx.sleep("long", "1 day"));
    const main = workflow("main", async (ctx) => {
      try {
        return await ctx.child(slow, undefined, { id: "slow-1" });
      } catch (error) {
        return error instanceof RunCanceledError && error.data.reason;
      }
    });
    const t = await openEngine(main, slow);
    const run = await t.client.start(main);
    await t.clock.settle();
    await t.client.get("slow-1").cancel("enough");
    expect(await run.result()).toBe("enough");
  });

  test("refuses an id that an open run has", async () => {
    const slow = workflow("slow", async (ctx) => ctx.sleep("long", "1 day"));
    const main = workflow("main", async (ctx) => {
      try {
        return await ctx.child(slow, undefined, { id: "taken" });
      } catch (error) {
        return (error as RunFailedError).code;
      }
    });
    const t = await openEngine(main, slow);
    await t.client.start(slow, undefined, { id: "taken" });
    expect(await t.run(main)).toBe("run_already_exists");
  });

  test("starts a run of an id whose earlier runs are closed", async () => {
    const main = workflow("main", async (ctx) => ctx.child(double, 4, { id: "again" }));
    const t = await openEngine(main, double);
    expect(await t.run(double, 1, { id: "again" })).toBe(2);
    expect(await t.run(main)).toBe(8);
  });

  test("takes a child that continues as new for one", async () => {
    const count = workflow("count", async (ctx, n: number): Promise<string> => {
      await ctx.step("one", () => n);
      return n === 3 ? "three" : ctx.continueAsNew(n + 1);
    });
    const main = workflow("main", async (ctx) => ctx.child(count, 1));
    const t = await openEngine(main, count);
    expect(await t.run(main)).toBe("three");
  });
});

describe("the options of a child", () => {
  test("are those of a start: queue, priority, timeout, attributes, version", async () => {
    const slow = workflow("slow", async (ctx) => ctx.sleep("long", "1 day"));
    const main = workflow("main", async (ctx) => {
      const options = { id: "kid", priority: 3, timeout: "1h", attributes: { for: "ann" } } as const;
      return ctx.child(slow, undefined, options).catch((error: HoldfastError) => [error.name, error.code]);
    });
    const t = await openEngine(main, slow);
    const run = await t.client.start(main);
    await t.clock.settle();
    expect(await t.client.get("kid").describe()).toMatchObject({ priority: 3, attributes: { for: "ann" } });
    expect(await run.result()).toEqual(["RunTimedOutError", "run_timed_out"]);
  });

  test("are checked, and so is what is to be started", async () => {
    const faults = [
      (ctx: Context) => ctx.child(double, 1, { onParentClose: "maybe" as never }),
      (ctx: Context) => ctx.child("double" as never, 1),
      (ctx: Context) => ctx.startChild(double, 1, { priority: 99 }),
    ];
    for (const fault of faults) {
      const main = workflow({ name: "main", onBug: "fail" }, async (ctx) => void (await fault(ctx)));
      const t = await openEngine(main, double);
      await expect(t.run(main)).rejects.toMatchObject({ cause: { code: "invalid_option" } });
    }
  });

  test("do not keep a bad input from being refused by the schema of the workflow", async () => {
    const picky = workflow({ name: "picky", input: z.object({ n: z.number().positive() }) }, async (_ctx, { n }) => n);
    const main = workflow("main", async (ctx) => {
      try {
        return await ctx.child(picky, { n: -1 });
      } catch (error) {
        return [(error as HoldfastError).code, await ctx.child(picky, { n: 1 })];
      }
    });
    const t = await openEngine(main, picky);
    expect(await t.run(main)).toEqual(["invalid_input", 1]);
  });

  test("let it time out although no worker ever takes it", async () => {
    const fleet = openFleet();
    const main = workflow("main", async (ctx) =>
      ctx.child(double, 1, { queue: "nobody", timeout: "1h" }).catch((error: HoldfastError) => error.code),
    );
    await fleet.worker({ workflows: [main, double], lease: "30s" });
    expect(await fleet.result(await fleet.client().start(main))).toBe("run_timed_out");
  });
});

describe("ctx.startChild", () => {
  test("resolves when the child exists, and its handle gives the result later", async () => {
    const main = workflow("main", async (ctx) => {
      const child = await ctx.startChild(double, 21, { id: "my-child" });
      await ctx.sleep("meanwhile", "1h");
      return [child.id, child.runId === child.id, await child.result()];
    });
    const t = await openEngine(main, double);
    expect(await t.run(main)).toEqual(["my-child", false, 42]);
  });

  test("need not be waited for", async () => {
    const main = workflow("main", async (ctx) => {
      const child = await ctx.startChild(double, 1, { onParentClose: "abandon" });
      return child.runId;
    });
    const t = await openEngine(main, double);
    const runId = await t.run(main);
    await t.clock.settle();
    expect(t.store.state.runs.get(runId)?.status).toBe("completed");
  });
});

test("the types of children, handles and results follow from the definitions", () => {
  const inferred = workflow("inferred", async (ctx, at: Date) => {
    expectTypeOf(ctx.child(double, 1)).resolves.toEqualTypeOf<number>();
    expectTypeOf(ctx.resultOf(double, "id")).resolves.toEqualTypeOf<number>();
    expectTypeOf(ctx.resultOf("id")).resolves.toEqualTypeOf<unknown>();
    const kid = await ctx.startChild(double, 1);
    expectTypeOf(kid.result()).resolves.toEqualTypeOf<number>();
    expectTypeOf(ctx.resultOf(kid)).resolves.toEqualTypeOf<number>();
    // @ts-expect-error a number is wanted
    await ctx.child(double, "1");
    // @ts-expect-error and one must be given
    await ctx.child(double);
    // @ts-expect-error the payload of the signal is a string
    await kid.signal(named, 1);
    await ctx.step("start", (s) => s.start(double, 1));
    return at.getTime();
  });
  expectTypeOf(inferred).toExtend<{ readonly outputType?: number }>();
});

const named = signal<string>("named");
