import { type AnyWorkflow, workflow } from "holdfast";

/** One in a queue with a rate, and two in a queue with places: runs that take no time, and runs that take some. */
export function benchWorkflows(begun: (key: string) => void): AnyWorkflow[] {
  const note = (name: string, queue: string, ms: number): AnyWorkflow =>
    workflow({ name, queue }, async (ctx, key: string) => {
      await ctx.step("begin", () => begun(key));
      if (ms > 0) await ctx.sleep("work", { milliseconds: ms });
    });
  return [note("rated", "rated", 0), note("quick", "quick", 0), note("slow", "slow", 100)];
}
