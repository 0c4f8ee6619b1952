import { RunCanceledError, RunFailedError, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine } from "../lab/fleet.ts";

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
