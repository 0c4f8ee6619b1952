import { type HoldfastError, type StepInfo, workflow } from "holdfast";
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

  test("is named by the step that has started it, also one that failed, or one of whose attempts did", async () => {
    const main = workflow("main", async (ctx) => {
      await ctx.step("plain", () => 1);
      await ctx.step("many", async (s) => {
        for (let n = 0; n < 25; n++) await s.start(slow, n, { id: `m${n}` });
      });
      await ctx.step("again", async (s) => {
        if (s.attempt === 1) await s.start(slow, 1, { id: "first" });
        if (s.attempt === 1) throw new Error("again");
      });
      const bad = async (s: StepInfo): Promise<never> => {
        await s.start(slow, 1, { id: "bad" });
        throw new Error("bad");
      };
      await ctx.step("bad", bad, { retry: "none" }).catch(() => {});
    });
    const t = await openEngine(main, slow);
    const run = await t.client.start(main);
    await run.result();
    const steps = await run.steps();
    expect(steps.map(({ op, kind, runs }) => [op, kind, runs?.length, runs?.[0]?.id])).toEqual([
      ["plain", "step", undefined, undefined],
      ["many", "step", 20, "m0"],
      ["again", "step", 1, "first"],
      ["bad", "step", 1, "bad"],
    ]);
    const first = await t.client.get("first").describe();
    expect(steps[2]?.runs).toEqual([{ id: "first", runId: first.runId }]);
    expect((await run.history()).filter(({ runs }) => runs).map(({ type, op }) => [type, op])).toEqual([
      ["step_completed", "many"],
      ["step_attempt_failed", "again"],
      ["step_failed", "bad"],
    ]);
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
