// What the worker of compose.yaml executes until there are workflows of your own.
import { workflow } from "holdfast";

export const greet = workflow("greet", async (ctx, input) => {
  const name = input?.name ?? "world";
  await ctx.sleep("a moment", "1s");
  return ctx.step("greet", () => `Hello, ${name}!`);
});
