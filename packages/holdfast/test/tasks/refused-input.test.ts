import { type HoldfastError, signal, task, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { expect, test } from "vitest";
import { z } from "zod";
import { openFleet } from "../lab/fleet.ts";

const go = signal<string>("go");
const strict = task({ name: "strict", input: z.object({ to: z.string() }) }, ({ to }) => to);

test("a task whose input is refused rejects, as a child does, and the code may go on", async () => {
  const order = workflow("order", async (ctx) => {
    const refused = ctx.task(strict, { to: 1 } as never);
    const reason = await refused.catch((error: HoldfastError) => error.code);
    await ctx.receive(go);
    return [reason, await ctx.task(strict, { to: "ana" })];
  });
  const fleet = openFleet();
  await fleet.forgetful({ workflows: [order], tasks: [strict] });
  const run = await fleet.client().start(order);
  await fleet.clock.settle();
  await run.signal(go, "on");
  const output = await fleet.result(run);
  expect(output).toEqual([expect.stringContaining("invalid"), "ana"]);
  expect((await run.history()).map(({ type, op }) => `${type} ${op}`)).toContain("task_scheduled strict#2");
  expect(await replay(order, await run.history())).toEqual({ output });
});

test("a task whose input cannot be encoded rejects, also if nobody awaits it", async () => {
  const order = workflow("order", async (ctx) => {
    void ctx.task(
      task("big", () => 1),
      1n as never,
    );
    return ctx.task(strict, { to: "ana" });
  });
  const fleet = openFleet();
  await fleet.forgetful({ workflows: [order], tasks: [strict] });
  expect(await fleet.result(await fleet.client().start(order))).toBe("ana");
});
