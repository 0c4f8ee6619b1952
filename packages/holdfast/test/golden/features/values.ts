import { workflow } from "holdfast";
import { declined, ended, type Feature } from "../feature.ts";

const values = workflow("values", async (ctx) => {
  const flag = ctx.sideEffect("flag", () => ({ on: true }));
  let thrown = "";
  try {
    ctx.sideEffect("broken", declined);
  } catch (error) {
    thrown = (error as Error).message;
  }
  ctx.set({ stage: "new", amount: 12 });
  await ctx.step("work", () => 1);
  ctx.set({ stage: "done" });
  return [flag, thrown];
});

export const valuesAndAttributes: Feature = {
  name: "values-and-attributes",
  workflows: [values],
  async happen(fleet) {
    await ended(fleet, await fleet.client().start(values));
  },
};
