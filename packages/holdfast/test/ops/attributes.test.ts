import { workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

describe("search attributes", () => {
  test("given at the start and set by the code are merged, readable and filterable from outside", async () => {
    const order = workflow("order", async (ctx) => {
      ctx.set({ stage: "paid", cents: 990 });
      await ctx.sleep("nap", "1h");
      ctx.set({ stage: "shipped", express: true, note: null });
    });
    const t = await openEngine(order);
    const run = await t.client.start(order, undefined, { attributes: { customer: "ann", stage: "new" } });
    await t.clock.settle();
    expect((await run.describe()).attributes).toEqual({ customer: "ann", stage: "paid", cents: 990 });
    expect(await t.client.count({ attributes: { stage: "paid", customer: "ann" } })).toBe(1);
    expect(await t.client.count({ attributes: { stage: "new" } })).toBe(0);
    await run.result();
    const all = { customer: "ann", stage: "shipped", cents: 990, express: true, note: null };
    expect((await run.describe()).attributes).toEqual(all);
    const { runs } = await t.client.list({ attributes: { express: true, note: null } });
    expect(runs.map(({ runId, attributes }) => [runId, attributes])).toEqual([[run.runId, all]]);
  });

  test("are compared by value and type", async () => {
    const one = workflow("one", async () => {});
    const t = await openEngine(one);
    await t.run(one, undefined, { attributes: { n: 1 } });
    expect(await t.client.count({ attributes: { n: 1 } })).toBe(1);
    expect(await t.client.count({ attributes: { n: "1" } })).toBe(0);
    expect(await t.client.count({ attributes: { m: 1 } })).toBe(0);
  });

  test("are the same after replays and on other workers, and stand in history", async () => {
    let round = 0;
    const order = workflow("order", async (ctx) => {
      for (const nap of ["a", "b", "c"]) {
        round += 1;
        ctx.set({ nap, [`seen ${nap}`]: true });
        await ctx.sleep(nap, "1h");
      }
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [order] });
    const run = await fleet.client().start(order);
    await fleet.result(run);
    expect(round).toBeGreaterThan(3);
    expect((await run.describe()).attributes).toEqual({ nap: "c", "seen a": true, "seen b": true, "seen c": true });
    const set = (await run.history()).filter((event) => event.type === "attributes_set");
    expect(set.map((event) => [event.category, event.attributes])).toEqual(
      ["a", "b", "c"].map((nap) => ["search_attribute", { nap, [`seen ${nap}`]: true }]),
    );
  });

  test("that cannot be stored or compared are refused with their name", async () => {
    const bad = workflow("bad", async (ctx, which: "value" | "name") => {
      if (which === "value") ctx.set({ when: new Date(0) as never });
      else ctx.set({ "": 1 });
    });
    const t = await openEngine(bad);
    await expect(t.run(bad, "value")).rejects.toMatchObject({
      cause: {
        cause: {
          code: "invalid_option",
          message: 'ctx.set: attribute "when" is not a string, a finite number, a boolean or null.',
        },
      },
    });
    await expect(t.run(bad, "name")).rejects.toMatchObject({
      cause: { cause: { code: "invalid_name", message: 'ctx.set: the attribute name "" is empty.' } },
    });
    for (const text of ["a\u0000b", "\ud800"]) {
      await expect(t.client.start(bad, "name", { attributes: { text } })).rejects.toMatchObject({
        code: "invalid_option",
        message: 'start of workflow "bad": attribute "text" contains a NUL or half of a surrogate pair.',
      });
    }
    await expect(t.client.start(bad, "name", { attributes: { n: Number.NaN } })).rejects.toMatchObject({
      code: "invalid_option",
      message: 'start of workflow "bad": attribute "n" is not a string, a finite number, a boolean or null.',
    });
  });
});
