import { type RunFailedError, workflow } from "holdfast";
import { crashEverywhere } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openEngine } from "../lab/fleet.ts";

/** A child whose second step fails until it is fixed. */
function repairable() {
  const state = { broken: true, firsts: 0, seconds: 0 };
  const child = workflow("child", async (ctx, n: number) => {
    await ctx.step("first", () => {
      state.firsts += 1;
    });
    return ctx.step(
      "second",
      () => {
        state.seconds += 1;
        if (state.broken) throw new Error("out of order");
        return n * 2;
      },
      { retry: "none" },
    );
  });
  return { state, child };
}

describe("a run that failed on a child", () => {
  test("and is retried by hand has the child go on where it failed", async () => {
    const { state, child } = repairable();
    const main = workflow("main", async (ctx) => ctx.child(child, 21, { id: "kid" }));
    const t = await openEngine(main, child);
    const run = await t.client.start(main);
    await expect(run.result()).rejects.toMatchObject({ code: "run_failed" });
    state.broken = false;
    await run.retry();
    expect(await run.result()).toBe(42);
    expect(state).toMatchObject({ firsts: 1, seconds: 2 });
    expect(await t.client.count({ workflow: "child" })).toBe(1);
    const types = (await run.history()).map(({ type }) => type);
    expect(types).toEqual([
      "run_started",
      "child_started",
      "child_failed",
      "run_retried",
      "op_rescheduled",
      "child_completed",
      "run_completed",
    ]);
  });

  test("and retries itself has the child go on, attempt after attempt", async () => {
    const { state, child } = repairable();
    const main = workflow({ name: "main", retry: { attempts: 3 } }, async (ctx) => {
      try {
        return await ctx.child(child, 21);
      } finally {
        if (state.seconds === 2) state.broken = false;
      }
    });
    const t = await openEngine(main, child);
    expect(await t.run(main)).toBe(42);
    expect(state).toMatchObject({ firsts: 1, seconds: 3 });
  });

  test("takes the output of a child that somebody else has retried meanwhile", async () => {
    const { state, child } = repairable();
    const main = workflow("main", async (ctx) => ctx.child(child, 21, { id: "kid" }));
    const t = await openEngine(main, child);
    const run = await t.client.start(main);
    await expect(run.result()).rejects.toThrow();
    state.broken = false;
    await t.client.get("kid").retry();
    expect(await t.client.get("kid").result()).toBe(42);
    await run.retry();
    expect(await run.result()).toBe(42);
    expect(state.seconds).toBe(2);
  });

  test("replaces a child that cannot go on: it was terminated", async () => {
    const slow = workflow("slow", async (ctx, n: number) => {
      await ctx.sleep("a while", "1h");
      return n;
    });
    const main = workflow("main", async (ctx) => ctx.child(slow, 7, { id: "kid" }));
    const t = await openEngine(main, slow);
    const run = await t.client.start(main);
    await t.clock.settle();
    await t.client.get("kid").terminate("oops");
    await expect(run.result()).rejects.toMatchObject({ cause: { code: "run_terminated" } });
    await run.retry();
    expect(await run.result()).toBe(7);
    expect(await t.client.count({ workflow: "slow" })).toBe(2);
    const steps = await run.steps();
    expect(steps.map(({ op, status, attempts }) => [op, status, attempts])).toEqual([["slow", "completed", 2]]);
  });

  test("replaces a child that its own end has closed, once that has ended", async () => {
    const slow = workflow("slow", async (ctx, n: number) => {
      try {
        await ctx.sleep("a while", "1h");
      } finally {
        await ctx.uncancelable((c) => c.sleep("tidying", "1m"));
      }
      return n;
    });
    let broken = true;
    const main = workflow("main", async (ctx) => {
      const kid = ctx.child(slow, 7, { id: "kid" });
      kid.catch(() => {});
      await ctx.step(
        "beside",
        () => {
          if (broken) throw new Error("no");
        },
        { retry: "none" },
      );
      return kid;
    });
    const t = await openEngine(main, slow);
    const run = await t.client.start(main);
    await expect(run.result()).rejects.toThrow();
    broken = false;
    await run.retry();
    expect(await run.result()).toBe(7);
    expect(await t.client.count({ workflow: "slow", status: "canceled" })).toBe(1);
    expect(await t.client.count({ workflow: "slow", status: "completed" })).toBe(1);
  });

  test("tries the start of a child again whose id was taken", async () => {
    const slow = workflow("slow", async (ctx) => ctx.sleep("a while", "1h"));
    const main = workflow("main", async (ctx) => ctx.child(slow, undefined, { id: "taken" }));
    const t = await openEngine(main, slow);
    const other = await t.client.start(slow, undefined, { id: "taken" });
    const run = await t.client.start(main);
    await expect(run.result()).rejects.toMatchObject({ cause: { code: "run_already_exists", op: "slow" } });
    await other.terminate();
    await run.retry();
    await run.result();
    expect(await t.client.count({ workflow: "slow", status: "completed" })).toBe(1);
  });

  test("and retries itself survives the death of the worker at every call", async () => {
    const tries = new Set<string>();
    const child = workflow("child", async (ctx, n: number) =>
      ctx.step(
        "work",
        (s) => {
          if (tries.size === 0) {
            tries.add(s.idempotencyKey);
            throw new Error("once");
          }
          return n * 2;
        },
        { retry: "none" },
      ),
    );
    const main = workflow({ name: "main", retry: { attempts: 5 } }, async (ctx) => ctx.child(child, 21));
    const effects = { reset: () => tries.clear(), snapshot: () => tries.size };
    const report = await crashEverywhere(main, undefined, { workflows: [child], effects });
    expect(report.output).toBe(42);
  });
});

describe("the compensation of a child", () => {
  const undone: unknown[] = [];
  const ship = workflow("ship", async (ctx, n: number) => ctx.step("send", () => `parcel ${n}`));
  const slow = workflow("slow", async (ctx) => ctx.sleep("a while", "30 days"));
  const fail = (): never => {
    throw new Error("no");
  };

  test("gets the output of a child that completed", async () => {
    const main = workflow("main", async (ctx) => {
      await ctx.child(ship, 1, { compensate: (parcel, { outcome }) => void undone.push([parcel, outcome]) });
      fail();
    });
    undone.splice(0);
    const t = await openEngine(main, ship);
    await expect(t.run(main)).rejects.toMatchObject({ data: { compensation: "compensated" } });
    expect(undone).toEqual([["parcel 1", "completed"]]);
  });

  test("waits for the end of a child that is still running, which is canceled", async () => {
    const main = workflow("main", async (ctx) => {
      const kid = ctx.child(slow, undefined, {
        id: "kid",
        onParentClose: "abandon",
        compensate: (_, { outcome }) => void undone.push(outcome),
      });
      kid.catch(() => {});
      await ctx.sleep("first", "1m");
      fail();
    });
    undone.splice(0);
    const t = await openEngine(main, slow);
    const run = await t.client.start(main);
    const error = await run.result().catch((thrown: unknown) => thrown as RunFailedError);
    expect(error).toMatchObject({ cause: { message: "no" }, data: { compensation: "compensated" } });
    expect(undone).toEqual(["failed"]);
    expect(await t.client.get("kid").status()).toBe("canceled");
    const failed = (await run.history()).find(({ type }) => type === "child_failed");
    expect(failed).toMatchObject({ status: "canceled", withdrawn: true });
  });

  test("is done once, wherever the worker dies", async () => {
    const main = workflow("main", async (ctx) => {
      const done = await ctx.child(ship, 1, { compensate: (parcel, c) => void keep(c.idempotencyKey, parcel) });
      const kid = ctx.child(slow, undefined, { compensate: (_, c) => void keep(c.idempotencyKey, c.outcome) });
      kid.catch(() => {});
      await ctx.step("after", () => done);
      await ctx.sleep("first", "1m");
      fail();
    });
    const keys = new Map<string, unknown>();
    const keep = (key: string, value: unknown): void => void keys.set(key.slice(37), value);
    const world = { reset: () => keys.clear(), snapshot: () => [...keys] };
    const report = await crashEverywhere(main, undefined, {
      workflows: [ship, slow],
      effects: world,
      expectFailure: true,
    });
    expect(report.status).toBe("failed");
    expect(Object.fromEntries(keys)).toEqual({ ship: "parcel 1", slow: "failed" });
  });

  test("is not called for a child that was never started", async () => {
    const main = workflow("main", async (ctx) => {
      await ctx.step("first", () => 1);
      const kid = ctx.child(slow, undefined, { compensate: (_, { outcome }) => void undone.push(outcome) });
      kid.catch(() => {});
      fail();
    });
    undone.splice(0);
    const t = await openEngine(main, slow);
    await expect(t.run(main)).rejects.toMatchObject({ cause: { message: "no" } });
    expect(undone).toEqual([]);
    expect(await t.client.count({ workflow: "slow" })).toBe(0);
  });
});
