import { workflow } from "holdfast";
import { ended, type Feature, taking } from "../feature.ts";

let work: () => Promise<void> = () => Promise.resolve();
const worked = workflow("operating-worked", async (ctx) => {
  await ctx.step("long", () => work());
  await ctx.sleep("rest", "1h");
  return "done";
});

export const operating: Feature = {
  name: "operating",
  workflows: [worked],
  async happen(fleet) {
    const client = fleet.client();
    work = () => taking(fleet, 5_000);
    const busy = await client.start(worked);
    await fleet.clock.advance("2s");
    await busy.pause({ by: "ana", reason: "the bank is closed" });
    await fleet.clock.advance("10s");
    await busy.resume({ by: "ben" });
    const asleep = await client.start(worked);
    await fleet.clock.advance("1m");
    await asleep.pause("wait");
    await asleep.cancel({ by: "ana", reason: "not needed" });
    await ended(fleet, busy, asleep);
  },
};
