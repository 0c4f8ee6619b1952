import { signal, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, test } from "vitest";

const go = signal<null>("go");

test("a signal that came while a failed run was cleaning up does not make its retry diverge", async () => {
  let healthy = false;
  const order = workflow("order", async (ctx) => {
    try {
      return await ctx.parallel([
        () =>
          ctx.step(
            "charge",
            () => {
              if (!healthy) throw new Error("bank closed");
              return "paid";
            },
            { retry: "none" },
          ),
        async (branch) => {
          await branch.receive(go);
          await branch.sleep("pause", "1s"); // a command of a turn that was never taken live
          return "went";
        },
      ]);
    } catch (error) {
      await ctx.sleep("breathe", "1 minute");
      throw error;
    }
  });
  const t = await testEngine({ workflows: [order] });
  const run = await t.client.start(order, undefined, { id: "o" });
  await t.clock.advance("1s"); // "charge" has failed, the other branch is canceled, the code breathes
  await run.signal(go, null);
  await expect(run.result()).rejects.toMatchObject({ code: "run_failed" });
  healthy = true;
  await run.retry();
  await t.clock.advance("1 hour");
  expect(await run.describe()).toMatchObject({ status: "completed" });
  await t.close();
});
