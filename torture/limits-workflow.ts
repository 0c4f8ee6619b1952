import process from "node:process";
import { type Context, workflow } from "holdfast";

/** For the average use of a limit: much longer than it takes the next one to come. */
const STAY = process.env["HOLDFAST_TORTURE_ALL"] ? "1s" : "60ms";

/** What is inside of the queue with limits: the steps of a run say when it came and when it left. */
export function stayWorkflow(effect: (line: string) => void) {
  return workflow({ name: "stay", queue: "limited" }, async (ctx: Context, key: string) => {
    await ctx.step("in", () => effect(`${key} in ${ctx.info.id}`));
    await ctx.sleep("inside", STAY);
    await ctx.step("out", () => effect(`${key} out ${ctx.info.id}`));
    return "done";
  });
}
