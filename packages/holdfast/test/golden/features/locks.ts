import { workflow } from "holdfast";
import { declined, ended, type Feature } from "../feature.ts";

let fails = false;

const guarded = workflow("locks-guarded", async (ctx) => {
  await ctx.withLock("room", { limit: 1, timeout: "2h" }, async () => {
    await ctx.step("enter", () => (fails ? declined() : "in"), { retry: "none" });
    await ctx.sleep("stay", "1h");
  });
  return ctx.step("after", () => "out");
});

const hasty = workflow("locks-hasty", async (ctx) => {
  const answer = await ctx.withLock("room", { timeout: "1 minute" }, () => "in").catch((error) => error.code);
  const [value] = await ctx.parallel([(c) => c.withLock("other", { limit: 3 }, () => c.step("inside", () => 1))]);
  return [answer, value];
});

export const locks: Feature = {
  name: "locks",
  workflows: [guarded, hasty],
  async happen(fleet) {
    const client = fleet.client();
    const first = await client.start(guarded);
    await fleet.clock.settle();
    const waiting = await client.start(guarded);
    const late = await client.start(hasty);
    await ended(fleet, first, waiting, late);
    fails = true;
    const failed = await client.start(guarded);
    await ended(fleet, failed);
    fails = false;
    await failed.retry();
    await fleet.clock.advance("1 minute");
    const fork = await failed.fork({ before: "stay" });
    await ended(fleet, failed, fork);
  },
};
