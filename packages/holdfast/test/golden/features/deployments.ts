import { workflow } from "holdfast";
import { ended, type Feature } from "../feature.ts";

const PATCHED = { name: "deployments-patched" };
const RETIRED = { name: "deployments-retired" };
const VERSIONED = { name: "deployments-versioned", version: "2" };

const earlier = [
  workflow(PATCHED, async (ctx) => {
    for (let i = 0; i < 2; i++) await ctx.sleep("nap", "1h");
    return 0;
  }),
  workflow(RETIRED, async (ctx) => {
    await ctx.step("mail", () => "sent");
    await ctx.sleep("rest", "1h");
    return "old";
  }),
  workflow(VERSIONED, async (ctx) => ctx.step("work", () => ctx.info.version)),
] as const;

const later = [
  workflow(PATCHED, async (ctx) => {
    let checks = 0;
    for (let i = 0; i < 2; i++) {
      if (ctx.patched("check")) checks += await ctx.step("check", () => 1);
      await ctx.sleep("nap", "1h");
    }
    return checks;
  }),
  workflow(RETIRED, async (ctx) => {
    ctx.retired("mail");
    await ctx.sleep("rest", "1h");
    return "new";
  }),
  workflow(VERSIONED, async (ctx) => ctx.step("work", () => ctx.info.version)),
] as const;

export const deployments: Feature = {
  name: "deployments",
  workflows: earlier,
  later,
  async happen(fleet) {
    for (const [i, one] of earlier.entries()) await fleet.client().start(one, undefined, { id: `d${i}` });
    await fleet.clock.settle();
  },
  async happenLater(fleet) {
    const client = fleet.client();
    await client.start(later[1], undefined, { id: "d-new" });
    await ended(fleet, ...["d0", "d1", "d2", "d-new"].map((id) => client.get(id)));
  },
};
