import { type HoldfastError, workflow } from "holdfast";
import { crashEverywhere } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openEngine } from "../lab/fleet.ts";

const slow = workflow("slow", async (ctx, n: number) => {
  await ctx.sleep("a while", "1h");
  return n;
});

describe("a run that is started inside a step", () => {
  test("goes its own way, and knows where it comes from", async () => {
    const main = workflow("main", async (ctx) =>
      ctx.step("start", async (s) => {
        const first = await s.start(slow, 1, { id: "one", attributes: { a: 1 } });
        const second = await s.start(slow, 2);
        return [first, second];
      }),
    );
    const t = await openEngine(main, slow);
    const run = await t.client.start(main, undefined, { id: "m" });
    const [first, second] = (await run.result()) as [{ id: string; runId: string }, { id: string; runId: string }];
    expect(first.id).toBe("one");
    expect(second.id).toBe(second.runId);
    const described = await t.client.get("one").describe();
    expect(described).toMatchObject({ parent: { id: "m", runId: run.runId, op: null }, depth: 1 });
    expect(described.attributes).toEqual({ a: 1 });
    expect(await t.client.count({ parent: run.runId })).toBe(2);
    expect(await t.client.get("one").result()).toBe(1);
    expect(t.store.state.debts.size).toBe(0);
  });

  test("is the same run when the attempt is repeated", async () => {
    const main = workflow("main", async (ctx) =>
      ctx.step("start", async (s) => {
        const { runId } = await s.start(slow, 1);
        if (s.attempt < 3) throw new Error("again");
        return runId;
      }),
    );
    const t = await openEngine(main, slow);
    const runId = await t.run(main);
    expect([...t.store.state.runs.values()].filter(({ workflow: name }) => name === "slow")).toMatchObject([{ runId }]);
  });

  test("is started once, wherever the worker dies", async () => {
    const started = new Set<string>();
    const effects = { reset: () => started.clear(), snapshot: () => started.size };
    const main = workflow("main", async (ctx) => {
      await ctx.step("first", () => 1);
      return ctx.step("start", async (s) => {
        started.add((await s.start(slow, 1)).runId);
        return started.size;
      });
    });
    const report = await crashEverywhere(main, undefined, { workflows: [slow], effects });
    expect(report.output).toBe(1);
  });

  test("is refused if an open run has its id", async () => {
    const main = workflow("main", async (ctx) =>
      ctx.step("start", async (s) => s.start(slow, 1, { id: "taken" }).catch((error: HoldfastError) => error.code)),
    );
    const t = await openEngine(main, slow);
    await t.client.start(slow, 0, { id: "taken" });
    expect(await t.run(main)).toBe("run_already_exists");
  });
});
