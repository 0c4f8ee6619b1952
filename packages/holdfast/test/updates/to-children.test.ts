import { type HoldfastError, signal, update, workflow } from "holdfast";
import type { StoreMethod } from "holdfast/adapter";
import { crashEverywhere } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { failing } from "../lab/failing-calls.ts";
import { openEngine } from "../lab/fleet.ts";
import { openWorld } from "../lab/world.ts";

const add = update<number, number>("add");
const enough = signal("enough");

/** Adds up what it is sent, until it has had enough. */
const sum = workflow("sum", async (ctx) => {
  let total = 0;
  ctx.on(add, {
    validate: (n) => {
      if (n < 0) throw new Error("too small");
    },
    handle: async (n) => {
      await ctx.step("count", () => n);
      if (n === 13) throw new Error("unlucky");
      total += n;
      return total;
    },
  });
  await ctx.receive(enough);
  return total;
});

const main = workflow("main", async (ctx) => {
  const child = await ctx.startChild(sum);
  const first = await child.update(add, 1);
  const [second, third] = await Promise.all([child.update(add, 2), child.update(add, 3)]);
  await child.signal(enough);
  return { first, most: Math.max(second, third), total: await child.result() };
});

test("an update of a child resolves with the answer of its handler", async () => {
  const t = await openEngine(main, sum);
  const run = await t.client.start(main);
  expect(await run.result()).toEqual({ first: 1, most: 6, total: 6 });
  const types = (await run.history()).flatMap(({ type, op }) => (op?.startsWith("ask:") ? [`${type} ${op}`] : []));
  expect(types.sort()).toEqual(["message_sent ask:add", "message_sent ask:add#2", "message_sent ask:add#3"]);
});

test("an update that is refused, fails, has no handler, or is not answered rejects with the reason", async () => {
  const other = update("other");
  const asking = workflow("asking", async (ctx) => {
    const child = await ctx.startChild(sum);
    const code = (asked: Promise<unknown>) => asked.then(String, (error: HoldfastError) => error.code);
    const codes = [
      await code(child.update(add, -1)),
      await code(child.update(add, 13)),
      await code(child.update(other)),
    ];
    await child.signal(enough);
    await child.result();
    return [...codes, await code(child.update(add, 1))];
  });
  const t = await openEngine(asking, sum);
  const run = await t.client.start(asking);
  expect(await run.result()).toEqual(["update_rejected", "update_failed", "handler_not_found", "run_closed"]);
});

test("an update to a child that ends before it answers rejects with run_closed", async () => {
  const stuck = workflow("stuck", async (ctx) => {
    ctx.on(add, async () => {
      await ctx.sleep("long", "1d");
      return 1;
    });
    await ctx.sleep("a moment", "1m");
  });
  const asking = workflow("asking", async (ctx) => {
    const child = await ctx.startChild(stuck);
    return child.update(add, 1).catch((error: HoldfastError) => error.code);
  });
  const t = await openEngine(asking, stuck);
  const run = await t.client.start(asking);
  expect(await run.result()).toBe("run_closed");
});

test("an update that a child has not read goes to its continuation, which answers", async () => {
  const chain = workflow("chain", async (ctx, depth: number): Promise<number> => {
    if (depth < 2) return ctx.continueAsNew(depth + 1);
    ctx.on(add, (n) => n + depth);
    await ctx.receive(enough);
    return depth;
  });
  const asking = workflow("asking", async (ctx) => {
    const child = await ctx.startChild(chain, 0, { id: "c" });
    for (;;) {
      const answer = await child.update(add, 40).catch((error: HoldfastError) => error.code);
      if (typeof answer !== "number") continue;
      await child.signal(enough);
      return answer;
    }
  });
  const t = await openEngine(asking, chain);
  const run = await t.client.start(asking);
  expect(await run.result()).toBe(42);
});

test("what is not an update, or not its argument, is refused before anything is sent", async () => {
  const strict = update("strict", z.object({ n: z.number() }));
  const asking = workflow("asking", async (ctx) => {
    const child = await ctx.startChild(sum);
    const codes: string[] = [];
    for (const call of [() => child.update(enough as never), () => child.update(strict, { n: "x" } as never)])
      try {
        await call();
      } catch (error) {
        codes.push((error as HoldfastError).code);
      }
    await child.cancel();
    return codes;
  });
  const t = await openEngine(asking, sum);
  const run = await t.client.start(asking);
  expect(await run.result()).toEqual(["invalid_option", "invalid_input"]);
});

test("wherever a worker dies, every update is handled once and its answer comes back once", async () => {
  const report = await crashEverywhere(main, undefined, { workflows: [sum] });
  expect(report.output).toEqual({ first: 1, most: 6, total: 6 });
  expect(report.crashes).toBeGreaterThan(20);
});

const CALLS: readonly StoreMethod[] = ["inbox.deliver", "inbox.replies", "runs.commit", "debts.read", "debts.pay"];

describe("although calls fail", () => {
  for (const moment of ["before", "after"] as const)
    test.each(CALLS)(`each update is handled and answered once, failing ${moment} %s`, async (method) => {
      const world = openWorld();
      const client = world.client({ hooks: failing(method, moment, 4) });
      await world.worker(client, { workflows: [main, sum], cacheSize: 0 });
      const run = await world.client().start(main);
      expect(await world.result(run)).toEqual({ first: 1, most: 6, total: 6 });
      await world.clock.advance("1m");
      expect(world.store.state.debts.size).toBe(0);
    });
});

test("a run that is tried again gets the answer that its first attempt had given up", async () => {
  const world = openWorld();
  let broken = true;
  const slow = workflow("slow", async (ctx) => {
    let asked = 0;
    ctx.on(add, async () => {
      asked += 1;
      await ctx.sleep("think", "10s");
      return asked;
    });
    await ctx.receive(enough);
  });
  const asking = workflow({ name: "asking", retry: { attempts: 2, fixed: "1m" } }, async (ctx) => {
    const child = await ctx.startChild(slow, undefined, { onParentClose: "abandon" });
    return ctx.parallel([
      () => child.update(add, 1),
      (c) =>
        c.step(
          "check",
          () => {
            if (broken) throw new Error("not yet");
            return "checked";
          },
          { retry: "none" },
        ),
    ]);
  });
  const client = world.client({});
  await world.worker(client, { workflows: [asking, slow], cacheSize: 0 });
  const run = await client.start(asking);
  await world.clock.settle();
  broken = false;
  expect(await world.result(run)).toEqual([1, "checked"]);
});
