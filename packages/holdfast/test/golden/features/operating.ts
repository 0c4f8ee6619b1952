import { signal, workflow } from "holdfast";
import { openFleet } from "../../lab/fleet.ts";
import { ended, type Feature, taking } from "../feature.ts";

let work: () => Promise<void> = () => Promise.resolve();
const worked = workflow("operating-worked", async (ctx) => {
  await ctx.step("long", () => work());
  await ctx.sleep("rest", "1h");
  return "done";
});

const approve = signal<string>("approve");
const parted = workflow("operating-parted", async (ctx, amount: number) => {
  const charged = await ctx.step("charge", () => amount, { compensate: () => {} });
  const id = ctx.uuid();
  ctx.set({ charged });
  const answer = await ctx.receive(approve, { timeout: "1h" });
  const shipped = await ctx.step("ship", () => charged + 1).catch((error: Error) => error.message);
  return [id, ctx.uuid(), answer, shipped];
});

export const operating: Feature = {
  name: "operating",
  workflows: [worked, parted],
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
    const origin = await client.start(parted, 5);
    await fleet.clock.advance("1m");
    const inFlight = await origin.fork({ before: 4, by: "ana", reason: "what if" });
    await ended(fleet, origin, inFlight);
    const edited = await origin.fork({
      before: "receive:approve",
      edit: { "receive:approve": { result: "yes" }, ship: { error: new Error("no parcel") } },
    });
    await ended(fleet, edited);
    const twice = await edited.fork({ before: "charge", input: 6, edit: { charge: { result: 7 } } });
    await ended(fleet, twice);
    const leaving = await client.start(parted, 8);
    await fleet.clock.advance("1m");
    await client.move({ to: openFleet().client(), by: "ana", reason: "growth" });
    await ended(fleet, leaving);
  },
};
