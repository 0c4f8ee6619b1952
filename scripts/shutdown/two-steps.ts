import { type StepInfo, workflow } from "holdfast";

export interface TwoSteps {
  readonly first: (s: StepInfo) => unknown;
  readonly second: () => unknown;
}

export function twoSteps({ first, second }: TwoSteps) {
  return workflow("two-steps", async (ctx) => {
    await ctx.step("first", async (s) => void (await first(s)));
    await ctx.step("second", async () => void (await second()));
    return "done";
  });
}
