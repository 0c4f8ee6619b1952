import { type Context, signal, update, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const go = signal("go");
const add = update<number, number>("add");

const child = workflow("child", async (ctx) => {
  await ctx.receive(go);
  return "child";
});

/** Starts a run under the old code, and brings it to a worker that has only the new code. */
async function deploy(before: (ctx: Context) => Promise<unknown>, after: (ctx: Context) => Promise<unknown>) {
  const fleet = openFleet();
  const old = await fleet.worker({ workflows: [workflow("order", before), child] });
  const client = fleet.client();
  const run = await client.start("order", undefined, { id: "o-1" });
  await fleet.clock.settle();
  await fleet.clock.until(old.stop());
  await fleet.worker({ workflows: [workflow("order", after), child] });
  await fleet.clock.settle();
  return { fleet, client, run };
}

describe("ctx.retired for a child that was in flight when its code was replaced", () => {
  for (const [how, before] of [
    ["awaited", (ctx: Context) => ctx.child(child, undefined, { id: "c-1" })],
    [
      "started with a handle that was used",
      async (ctx: Context) => (await ctx.startChild(child, undefined, { id: "c-1" })).result(),
    ],
  ] as const)
    test(`and that was ${how}: the run goes on without it when it has ended`, async () => {
      const { fleet, client, run } = await deploy(before, async (ctx) => {
        ctx.retired("child");
        await ctx.sleep("nap", "1m");
        return ctx.step("mail", () => "new");
      });
      await client.get("c-1").signal(go);
      await fleet.clock.advance("2m");
      expect(await fleet.clock.until(run.result())).toBe("new");
      const types = (await run.history()).map(({ type, op }) => `${type} ${op ?? ""}`.trim());
      expect(types).toContain("op_retired child");
      expect(types).toContain("timer_fired nap");
    });

  test("the run may end at once", async () => {
    const { fleet, client, run } = await deploy(
      (ctx) => ctx.child(child, undefined, { id: "c-1" }),
      async (ctx) => {
        ctx.retired("child");
        return "new";
      },
    );
    await client.get("c-1").signal(go);
    expect(await fleet.clock.until(run.result())).toBe("new");
  });
});

test("the handler of an update cannot be retired: the error says to keep it, and the run goes on with it", async () => {
  const count = async (ctx: Context, validate?: () => void) => {
    let sum = 0;
    ctx.on(add, { ...(validate ? { validate } : {}), handle: (n) => (sum += n) });
    await ctx.receive(go);
    return sum;
  };
  const { fleet, client, run } = await deploy(count, async (ctx) => {
    expect(() => ctx.retired("update:add")).toThrow(
      expect.objectContaining({ code: "invalid_option", message: expect.stringContaining("Keep it with ctx.on") }),
    );
    return count(ctx, () => {
      throw new Error("no more of these");
    });
  });
  await expect(fleet.clock.until(client.get("o-1").update(add, 2))).rejects.toMatchObject({ code: "update_rejected" });
  await run.signal(go);
  expect(await fleet.clock.until(run.result())).toBe(0);
});
