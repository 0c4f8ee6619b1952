import { workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, test } from "vitest";

test("a chain that goes on while the run is being undone leaves nothing that is not undone", async () => {
  const effects: string[] = [];
  const order = workflow("order", async (ctx) => {
    await ctx.step("reserve", () => effects.push("reserve"), { compensate: () => void effects.push("unreserve") });
    const fallback = (async () => {
      try {
        await ctx.sleep("wait", "1 hour");
      } catch {
        await ctx.step("charge", () => effects.push("charge"), { compensate: () => void effects.push("refund") });
      }
    })();
    fallback.catch(() => {});
    await ctx.sleep("a moment", "1s");
    throw new Error("no stock");
  });
  const t = await testEngine({ workflows: [order] });
  await expect(t.run(order)).rejects.toMatchObject({ code: "run_failed" });
  expect(effects).not.toEqual(expect.arrayContaining(["charge"]));
  await t.close();
});
