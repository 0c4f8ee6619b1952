import { signal, workflow } from "holdfast";
import { ended, type Feature } from "../feature.ts";

const go = signal<number>("go");

const timers = workflow("timers", async (ctx) => {
  const began = ctx.now();
  await ctx.sleep("nap", "1h");
  await ctx.sleep("nap", "2h");
  await ctx.sleepUntil("then", new Date(began.getTime() + 86_400_000));
  return [ctx.random(), ctx.uuid(), ctx.uuid("named"), ctx.now().getTime() - began.getTime()];
});

const signals = workflow("signals", async (ctx) => {
  const early = await ctx.receive(go);
  const inTime = await ctx.receive(go, { timeout: "1h" });
  const late = await ctx.receive(go, { timeout: "1h" });
  return [early, inTime, late];
});

export const timersAndSignals: Feature = {
  name: "timers-and-signals",
  workflows: [timers, signals],
  async happen(fleet) {
    const client = fleet.client();
    await ended(fleet, await client.start(timers));
    const run = await client.start(signals);
    await run.signal(go, 1);
    await fleet.clock.settle();
    await fleet.clock.advance("1 minute");
    await run.signal(go, 2);
    await ended(fleet, run);
  },
};
