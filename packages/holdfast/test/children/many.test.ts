import { type HoldfastError, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import type { StartRunsParams } from "../../src/ports/store.ts";
import { openEngine, openFleet } from "../lab/fleet.ts";
import { Cluster, Gate } from "../lab/harness.ts";

describe("many children", () => {
  test("of one parent cost a constant number of calls each, in batches", async () => {
    const leaf = workflow("leaf", async (_ctx, n: number) => n);
    const main = workflow("main", async (ctx, count: number) => {
      const numbers = await Promise.all(Array.from({ length: count }, (_, i) => ctx.child(leaf, i)));
      return numbers.reduce((sum, n) => sum + n, 0);
    });
    const callsFor = async (count: number): Promise<number> => {
      const fleet = openFleet();
      await fleet.worker({ workflows: [main, leaf], concurrency: 1_000 });
      const run = await fleet.client().start(main, count);
      expect(await fleet.result(run)).toBe((count * (count - 1)) / 2);
      await fleet.clock.settle();
      expect(fleet.store.state.debts.size).toBe(0);
      // Whoever has ended a child knows what it owes.
      expect(fleet.store.calls["debts.read"] ?? 0).toBe(0);
      return fleet.calls;
    };
    const few = await callsFor(1_000);
    const many = await callsFor(10_000);
    process.stderr.write(`1,000 children: ${few} calls of the store; 10,000: ${many}\n`);
    expect(few).toBeLessThan(1_000);
    expect(many).toBeLessThan(15 * few);
  }, 120_000);

  test("of one parent come in one call until the first are there, so that no other finds their parent locked", async () => {
    const leaf = workflow("leaf", async (_ctx, n: number) => n);
    const main = workflow("main", async (ctx) => {
      await Promise.all(Array.from({ length: 600 }, (_, i) => ctx.child(leaf, i)));
    });
    const gate = new Gate();
    const cluster = new Cluster();
    let calls = 0;
    const process = cluster.process("p", async (method, params, next) => {
      if (method !== "runs.start" || !(params as StartRunsParams).starts[0]?.parent) return next();
      calls += 1;
      if (calls === 1) await gate.opened;
      return next();
    });
    await process.worker({ workflows: [main, leaf], concurrency: 1_000 });
    const run = await cluster.until(process.client.start(main));
    await cluster.until(cluster.wait(1_000));
    expect(calls).toBe(1);
    gate.open();
    await cluster.until(run.result());
    expect(calls).toBeGreaterThan(2);
  });

  test("are closed in batches when their parent ends", async () => {
    const slow = workflow("slow", async (ctx) => ctx.sleep("a while", "30 days"));
    const main = workflow("main", async (ctx) => {
      await Promise.all(Array.from({ length: 1_200 }, () => ctx.startChild(slow)));
      await ctx.sleep("first", "1m");
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [main, slow], concurrency: 2_000 });
    const client = fleet.client();
    const run = await client.start(main);
    await fleet.result(run);
    await fleet.clock.settle();
    expect(await client.count({ workflow: "slow", status: "canceled" })).toBe(1_200);
  }, 60_000);

  test("do not push their parent out of memory, so that it is not replayed at each of their ends", async () => {
    const replayed: string[] = [];
    const count = (metric: string, _by: number, { workflow: name }: { readonly workflow?: string }): void => {
      if (metric === "runs_replayed") replayed.push(name as string);
    };
    const leaf = workflow("leaf", async (ctx, n: number) => {
      await ctx.sleep("a while", { minutes: n });
      return n;
    });
    const main = workflow("main", async (ctx) =>
      Promise.all(Array.from({ length: 50 }, (_, i) => ctx.child(leaf, i + 1))),
    );
    const fleet = openFleet();
    await fleet.worker({ workflows: [main, leaf], cacheSize: 10 }, { telemetry: { count, duration() {} } });
    expect(await fleet.result(await fleet.client().start(main))).toHaveLength(50);
    expect(replayed.filter((name) => name === "main")).toEqual([]);
    expect(replayed.length).toBeGreaterThan(30);
  });

  test("may be nested a hundred levels deep, and no deeper", async () => {
    const dig = workflow("dig", async (ctx, n: number): Promise<number | string> => {
      try {
        return await ctx.child(dig, n + 1);
      } catch (error) {
        return (error as HoldfastError).code === "child_depth_exceeded" ? n : "other";
      }
    });
    const t = await openEngine(dig);
    expect(await t.run(dig, 0)).toBe(100);
  });
});
