import { type HoldfastError, workflow } from "holdfast";
import type { StoreMethod } from "holdfast/adapter";
import { crashEverywhere } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { failing } from "../lab/failing-calls.ts";
import { openWorld } from "../lab/world.ts";

/** Counts by idempotency key: a step that is executed again has no second effect. */
class Ledger {
  readonly keys = new Set<string>();

  reset(): void {
    this.keys.clear();
  }

  snapshot(): number {
    return this.keys.size;
  }
}

const ledger = new Ledger();
const double = workflow("double", async (ctx, n: number) =>
  ctx.step("times two", (s) => {
    ledger.keys.add(s.idempotencyKey);
    return n * 2;
  }),
);

describe("wherever the worker dies, every child is started once and its result comes back once", () => {
  test("one after the other, side by side, and through a handle", async () => {
    const main = workflow("main", async (ctx) => {
      const one = await ctx.child(double, 1);
      const [two, three] = await Promise.all([ctx.child(double, one), ctx.child(double, one + 1)]);
      const child = await ctx.startChild(double, 10);
      await ctx.step("between", () => "done");
      return [one, two, three, await child.result()];
    });
    const report = await crashEverywhere(main, undefined, { workflows: [double], effects: ledger });
    expect(report.output).toEqual([2, 4, 6, 20]);
    expect(report.crashes).toBeGreaterThan(20);
  });

  test("a child that fails, and a parent that catches it", async () => {
    const broken = workflow("broken", async (ctx) => {
      await ctx.sleep("first", "1m");
      throw new Error("no");
    });
    const main = workflow("main", async (ctx) => {
      try {
        return await ctx.child(broken);
      } catch (error) {
        return ctx.step("after", () => (error as HoldfastError).code);
      }
    });
    const report = await crashEverywhere(main, undefined, { workflows: [broken] });
    expect(report.output).toBe("run_failed");
  });

  test("children of children", async () => {
    const middle = workflow("middle", async (ctx, n: number) => {
      const [a, b] = await Promise.all([ctx.child(double, n), ctx.child(double, n + 1)]);
      return a + b;
    });
    const main = workflow("main", async (ctx) => ctx.child(middle, 1));
    const report = await crashEverywhere(main, undefined, { workflows: [double, middle], effects: ledger });
    expect(report.output).toBe(6);
  });
});

const CALLS: readonly StoreMethod[] = [
  "runs.start",
  "runs.commit",
  "runs.claim",
  "runs.read",
  "inbox.deliver",
  "inbox.read",
  "debts.read",
  "debts.pay",
];

describe("although calls fail", () => {
  for (const moment of ["before", "after"] as const)
    test.each(CALLS)(`every child is started once and answers once, failing ${moment} %s`, async (method) => {
      const world = openWorld();
      let executed = 0;
      const child = workflow("child", async (ctx, n: number) =>
        ctx.step("work", () => {
          executed += 1;
          return n * 10;
        }),
      );
      const main = workflow("main", async (ctx) => {
        const one = await ctx.child(child, 1);
        const [two, three] = await Promise.all([ctx.child(child, one), ctx.child(child, one + 1)]);
        return [one, two, three];
      });
      const client = world.client({ hooks: failing(method, moment, 4) });
      await world.worker(client, { workflows: [main, child] });
      await world.worker(world.client({ hooks: failing(method, moment, 3) }), { workflows: [child] });
      const run = await world.client().start(main);
      expect(await world.clock.until(run.result())).toEqual([10, 100, 110]);
      await world.clock.advance("1m");
      const { runs, debts } = world.store.state;
      expect({ executed, runs: runs.size, debts: debts.size }).toEqual({ executed: 3, runs: 4, debts: 0 });
    });
});

test("a process that dies before it has paid leaves that to the sweep of another", async () => {
  const world = openWorld();
  const child = workflow("child", async () => "done");
  const main = workflow("main", async (ctx) => ctx.child(child));
  const never = (): Promise<never> => new Promise<never>(() => {});
  await world.worker(world.client(), { workflows: [main] });
  // Whoever executes the child never comes to pay.
  await world.worker(world.client({ hooks: { "debts.read": never } }), { workflows: [child] });
  const run = await world.client().start(main);
  expect(await world.clock.until(run.result(), "2m")).toBe("done");
  expect(world.store.state.debts.size).toBe(0);
});

test("a start that is on its way when the child is given up creates nothing any more", async () => {
  const world = openWorld();
  const child = workflow("child", async (ctx) => ctx.sleep("long", "30 days"));
  const main = workflow("main", async (ctx) => {
    await ctx.race([(c) => c.child(child), (c) => c.sleep("timer", "1m")]);
    await ctx.sleep("on", "20m");
    return "on";
  });
  const client = world.client({
    hooks: {
      "runs.start": async (params, call) => {
        if (params.starts.some(({ parent }) => parent)) await world.later(600_000);
        return call();
      },
    },
  });
  await world.worker(client, { workflows: [main, child] });
  const run = await world.client().start(main);
  expect(await world.clock.until(run.result())).toBe("on");
  expect(world.store.state.runs.size).toBe(1);
});
