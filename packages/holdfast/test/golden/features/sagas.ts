import { workflow } from "holdfast";
import { declined, ended, type Feature } from "../feature.ts";

const undone = workflow("sagas-undone", async (ctx) => {
  await ctx.step("reserve", () => "r-1", { compensate: () => {} });
  ctx.compensate("tell", () => {});
  await ctx.step("charge", () => "c-1", { compensate: () => {} });
  await ctx.step("ship", declined, { retry: "none" });
});

const stuck = workflow("sagas-stuck", async (ctx) => {
  await ctx.step("reserve", () => "r-1", { compensate: () => {} });
  await ctx.step("charge", () => "c-1", { compensate: declined });
  declined();
});

const neverBegan = workflow("sagas-never-began", async (ctx) => {
  await Promise.all([
    ctx.step("charge", () => 1, { compensate: () => {} }),
    ctx.step("fail", declined, { retry: "none" }),
  ]);
});

const canceled = workflow("sagas-canceled", async (ctx) => {
  await ctx.step("reserve", () => "r-1", { compensate: () => {} });
  await ctx.sleep("rest", "1 day");
});

export const sagas: Feature = {
  name: "sagas",
  workflows: [undone, stuck, neverBegan, canceled],
  async happen(fleet) {
    const client = fleet.client();
    await ended(fleet, await client.start(undone));
    await ended(fleet, await client.start(stuck));
    await ended(fleet, await client.start(neverBegan));
    const run = await client.start(canceled);
    await fleet.clock.settle();
    await run.cancel("out of stock");
    await ended(fleet, run);
  },
};
