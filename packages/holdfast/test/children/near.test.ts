import { signal, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import type { CommitRunsParams } from "../../src/ports/store.ts";
import { Cluster, Gate } from "../lab/harness.ts";

const go = signal("go");
const double = workflow("double", async (ctx, n: number) => ctx.step("times two", () => n * 2));
const parent = workflow("parent", async (ctx, n: number) => (await ctx.child(double, n)) + 1);

/** Whether a commit of this call has such an event. */
function has(params: unknown, type: string): boolean {
  return (params as CommitRunsParams).commits.some(({ events }) => events.some((event) => event.type === type));
}

describe("a child on the worker of its parent", () => {
  test("tells it without a message, and neither of them is claimed", async () => {
    const t = await testEngine({ workflows: [parent, double] });
    expect(await t.run(parent, 1)).toBe(3);
    const before = { ...t.store.calls };
    expect(await t.run(parent, 20)).toBe(41);
    await t.clock.advance("1s");
    const calls = (name: string): number => (t.store.calls[name as never] ?? 0) - (before[name as never] ?? 0);
    expect([calls("inbox.deliver"), calls("runs.claim"), calls("runs.start"), calls("debts.pay")]).toEqual([
      0, 0, 2, 1,
    ]);
    expect(calls("runs.commit")).toBeLessThanOrEqual(3);
    expect(t.store.state.debts.size).toBe(0);
    await t.close();
  });

  test("is still owed if the worker dies before the parent has recorded it: another one tells it", async () => {
    const cluster = new Cluster();
    let died = false;
    const first = cluster.process("first", async (method, params, next) => {
      if (method === "runs.commit" && has(params, "child_completed")) {
        died = true;
        first.kill();
      }
      return next();
    });
    await first.worker({ workflows: [parent, double] });
    await cluster.until(first.client.start(parent, 4, { id: "p" }));
    const second = cluster.process("second");
    await second.worker({ workflows: [parent, double] });
    expect(await cluster.until(second.client.get("p").result())).toBe(9);
    expect(died).toBe(true);
    expect((await second.client.get("p").history()).filter(({ type }) => type === "child_completed")).toHaveLength(1);
    expect(cluster.store.state.debts.size).toBe(0);
  });

  test("is not forgotten when the parent has recorded it, and the worker dies before the debt is crossed out", async () => {
    const cluster = new Cluster();
    const first = cluster.process("first", async (method, _params, next) => {
      if (method === "debts.pay") first.kill();
      return next();
    });
    await first.worker({ workflows: [parent, double] });
    await cluster.until(first.client.start(parent, 4, { id: "p" }));
    const second = cluster.process("second");
    await second.worker({ workflows: [parent, double] });
    expect(await cluster.until(second.client.get("p").result())).toBe(9);
    await cluster.until(cluster.wait(120_000));
    expect(cluster.store.state.debts.size).toBe(0);
  });

  test("sends a message if the parent has been let go of meanwhile", async () => {
    const gate = new Gate();
    const slow = workflow("slow", async (ctx) => ctx.step("long", () => gate.opened.then(() => "late")));
    const waits = workflow("waits", async (ctx) => ctx.child(slow));
    const cluster = new Cluster();
    const process = cluster.process("p");
    await process.worker({ workflows: [waits, slow] });
    const run = await cluster.until(process.client.start(waits));
    await cluster.until(cluster.wait(2_000));
    expect(await cluster.until(run.status())).toBe("waiting");
    const before = cluster.store.calls["inbox.deliver"] ?? 0;
    gate.open();
    expect(await cluster.until(run.result())).toBe("late");
    expect((cluster.store.calls["inbox.deliver"] ?? 0) - before).toBe(1);
  });

  test("that is let go of lets its parent go", async () => {
    const sleeper = workflow("sleeper", async (ctx) => {
      await ctx.receive(go);
      return "awake";
    });
    const waits = workflow("waits", async (ctx) => ctx.child(sleeper, undefined, { id: "s" }));
    const cluster = new Cluster();
    const process = cluster.process("p");
    await process.worker({ workflows: [waits, sleeper] });
    const run = await cluster.until(process.client.start(waits));
    await cluster.until(cluster.wait(10));
    expect(await cluster.until(run.status())).toBe("waiting");
    await cluster.until(process.client.get("s").signal(go));
    expect(await cluster.until(run.result())).toBe("awake");
  });

  test("whose end nobody waits for any more is still crossed out", async () => {
    const gate = new Gate();
    const slow = workflow("slow", async (ctx) => ctx.step("long", () => gate.opened.then(() => "late")));
    const impatient = workflow("impatient", async (ctx) => {
      const winner = await ctx.race([
        () => ctx.child(slow, undefined, { onParentClose: "abandon" }),
        () => ctx.sleep("short", "100ms").then(() => "timer"),
      ]);
      await ctx.receive(go);
      return winner;
    });
    const cluster = new Cluster();
    const process = cluster.process("p");
    await process.worker({ workflows: [impatient, slow] });
    const run = await cluster.until(process.client.start(impatient));
    await cluster.until(cluster.wait(500));
    gate.open();
    await cluster.until(cluster.wait(500));
    await cluster.until(run.signal(go));
    await cluster.until(run.result());
    await cluster.until(cluster.wait(120_000));
    expect(cluster.store.state.debts.size).toBe(0);
  });
});
