import { type Context, workflow } from "holdfast";

/**
 * What is inside of the queue with limits: the steps of a run say when it came and when it left. It stays for much longer than it takes the
 * next one to come, also on a busy machine: how well a limit is used says something about limits then.
 */
export function stayWorkflow(effect: (line: string) => void) {
  return workflow({ name: "stay", queue: "limited" }, async (ctx: Context, key: string) => {
    await ctx.step("in", () => effect(`${key} in ${ctx.info.id}`));
    await ctx.sleep("inside", "1s");
    await ctx.step("out", () => effect(`${key} out ${ctx.info.id}`));
    return "done";
  });
}
