import { signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine } from "../lab/fleet.ts";

const go = signal("go");
const leaf = workflow("leaf", async (ctx) => ctx.receive(go));
const middle = workflow("middle", async (ctx) => ctx.child(leaf, undefined, { id: "leaf-1" }));
const main = workflow("main", async (ctx) => ctx.child(middle, undefined, { id: "middle-1" }));

describe("lineage", () => {
  test("is in the description of every run", async () => {
    const t = await openEngine(main, middle, leaf);
    const top = await t.client.start(main, undefined, { id: "top" });
    await t.clock.settle();
    const [first, second, third] = await Promise.all(
      ["top", "middle-1", "leaf-1"].map((id) => t.client.get(id).describe()),
    );
    const root = { id: "top", runId: top.runId };
    expect(first).toMatchObject({ parent: null, root, depth: 0 });
    expect(second).toMatchObject({ parent: { ...root, op: "middle" }, root, depth: 1 });
    expect(third).toMatchObject({ parent: { id: "middle-1", runId: second?.runId, op: "leaf" }, root, depth: 2 });
    const { runs } = await t.client.list({ parent: top.runId });
    expect(runs.map(({ id, parent, depth }) => [id, parent, depth])).toEqual([
      ["middle-1", { ...root, op: "middle" }, 1],
    ]);
    expect(await t.client.count({ parent: second?.runId as string })).toBe(1);
    await expect(t.client.list({ parent: "top" })).rejects.toMatchObject({ code: "invalid_option" });
  });

  test("is inherited by a run that continues as new, and its parent's list has all of them", async () => {
    const moving = workflow("moving", async (ctx, n: number): Promise<string> => {
      await ctx.step("x", () => n);
      return n === 2 ? "there" : ctx.continueAsNew(2);
    });
    const parent = workflow("parent", async (ctx) => ctx.child(moving, 1, { id: "m" }));
    const t = await openEngine(parent, moving);
    const run = await t.client.start(parent);
    await run.result();
    const { runs } = await t.client.list({ parent: run.runId });
    expect(runs.map(({ id, status, depth }) => [id, status, depth])).toEqual([
      ["m", "completed", 1],
      ["m", "continued", 1],
    ]);
  });
});

describe("for the person on call", () => {
  test("why follows the chain of runs that wait for each other", async () => {
    const t = await openEngine(main, middle, leaf);
    await t.client.start(main, undefined, { id: "top" });
    await t.clock.settle();
    const { causes, reason } = await t.client.why("top");
    expect(causes).toMatchObject([
      {
        kind: "child",
        op: "middle",
        run: { id: "middle-1" },
        cause: { kind: "child", op: "leaf", run: { id: "leaf-1" }, cause: { kind: "signal", op: "receive:go" } },
      },
    ]);
    expect(reason).toContain('Child "middle" (run "middle-1") waits for run "leaf-1", which waits for signal "go".');
  });

  test("why finds runs that wait for each other in a circle", async () => {
    const waiter = workflow("waiter", async (ctx, other: string) => ctx.resultOf(other));
    const t = await openEngine(waiter);
    await t.client.start(waiter, "b", { id: "a", delay: "1m" });
    await t.client.start(waiter, "a", { id: "b", delay: "1m" });
    await t.clock.advance("2m");
    const { causes, reason } = await t.client.why("a");
    expect(causes).toMatchObject([{ kind: "child", op: "result:b", run: { id: "b" }, circle: ["a", "b"] }]);
    expect(reason).toContain('Runs "a" and "b" wait for each other in a circle');
  });

  test("why finds a child that waits for its ancestor, which waits for it", async () => {
    const kid = workflow("kid", async (ctx, ancestor: string) => ctx.resultOf(ancestor));
    const between = workflow("between", async (ctx, ancestor: string) => ctx.child(kid, ancestor, { id: "kid-1" }));
    const parent = workflow("parent", async (ctx) => ctx.child(between, ctx.info.id, { id: "between-1" }));
    const t = await openEngine(parent, between, kid);
    await t.client.start(parent, undefined, { id: "top" });
    await t.clock.settle();
    const circles: readonly (readonly [string, readonly string[]])[] = [
      ["top", ["top", "between-1", "kid-1"]],
      ["between-1", ["between-1", "kid-1", "top"]],
      ["kid-1", ["kid-1", "top", "between-1"]],
    ];
    for (const [id, circle] of circles) {
      const { causes, reason } = await t.client.why(id);
      expect(causes).toMatchObject([{ kind: "child", circle }]);
      const [first, second, third] = circle;
      expect(reason).toContain(`Runs "${first}", "${second}" and "${third}" wait for each other in a circle`);
    }
  });

  test("steps shows children and messages as ops of their own kind", async () => {
    const parent = workflow("parent", async (ctx) => {
      const kid = await ctx.startChild(leaf, undefined, { id: "kid" });
      await ctx.step("between", () => 1);
      await kid.signal(go);
      await kid.result();
      await ctx.child(leaf, undefined, { id: "kid-2" });
    });
    const t = await openEngine(parent, leaf);
    const run = await t.client.start(parent);
    await t.clock.settle();
    const steps = await run.steps();
    expect(steps.map(({ op, kind, status, run: other }) => [op, kind, status, other?.id])).toEqual([
      ["leaf", "child", "completed", "kid"],
      ["between", "step", "completed", undefined],
      ["signal:go", "message", "completed", "kid"],
      ["leaf#2", "child", "waiting", "kid-2"],
    ]);
  });
});
