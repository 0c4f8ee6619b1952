import { workflow } from "holdfast";
import { askTransaction } from "holdfast/adapter";
import type { Fleet } from "../../lab/fleet.ts";
import { declined, ended, type Feature, taking } from "../feature.ts";

let lab: Fleet | undefined;

const flaky = workflow("steps-flaky", async (ctx) => {
  const first = await ctx.step("work", async ({ attempt }) => {
    await taking(lab as Fleet, 1_500);
    return attempt < 3 ? declined() : { attempt };
  });
  const again = await ctx.step("work", () => [1n, new Date(0), undefined]);
  return [first, again];
});

const failing = workflow("steps-failing", async (ctx) => {
  const once = await ctx.step("once", () => "once", { onCrash: "fail" });
  const caught = await ctx
    .step("slow", () => taking(lab as Fleet, 60_000), { retry: "none", timeout: "2s" })
    .catch((error: Error) => error.name);
  await ctx.step("last", declined, { retry: { attempts: 2, fixed: "1s" } });
  return [once, caught];
});

const parallel = workflow("steps-parallel", async (ctx) => {
  const results = await ctx.parallel(
    [1, 2, 3, 4].map((n) => (branch) => branch.step("part", () => n * n)),
    { limit: 2 },
  );
  const race = await ctx.race({
    slow: (branch) => branch.step("slow", () => taking(lab as Fleet, 10_000)),
    fast: (branch) => branch.step("fast", () => "fast"),
  });
  const all = await ctx.parallel([(c) => c.step("good", () => 1), (c) => c.step("bad", declined, { retry: "none" })], {
    onError: "collect-all",
  });
  return [results, race.winner, all.map(({ status }) => status)];
});

const transactions = workflow("steps-transactions", async (ctx) => {
  const moved = await askTransaction(ctx, "move", { kind: "memory", fn: () => "moved" });
  const refused = await askTransaction(ctx, "refuse", { kind: "memory", fn: declined }, { retry: "none" }).catch(
    (error: Error) => error.name,
  );
  return [moved, refused];
});

export const steps: Feature = {
  name: "steps",
  workflows: [flaky, failing, parallel, transactions],
  async happen(fleet) {
    lab = fleet;
    const client = fleet.client();
    for (const one of [flaky, failing, parallel, transactions]) await ended(fleet, await client.start(one));
  },
};
