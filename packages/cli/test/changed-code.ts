// The workflow "order" after a change that does not fit the runs of before: its first step has another name.
import { workflow } from "holdfast";

export const order = workflow("order", async (ctx, input: { cents: number }) => {
  const by = ctx.info.id;
  const payment = await ctx.step("charge-card", () => `payment of ${input.cents}`);
  return { payment, by };
});
