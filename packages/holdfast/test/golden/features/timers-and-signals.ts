import { type Context, signal, workflow } from "holdfast";
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

/** A branch that takes a signal and lets another one win in that turn: the receive beside the race gets it. */
const handedOn = workflow("handed-on", async (ctx) => {
  let taken = false;
  const loser = async (c: Context): Promise<void> => {
    await c.receive(go);
    taken = true;
    await c.sleep("for long", "1 day");
  };
  const race = (c: Context): Promise<unknown> => c.race({ loser, winner: (inner) => inner.until(() => taken) });
  return ctx.parallel({ race, other: (c) => c.receive(go, { timeout: "1h" }) });
});

export const timersAndSignals: Feature = {
  name: "timers-and-signals",
  workflows: [timers, signals, handedOn],
  async happen(fleet) {
    const client = fleet.client();
    await ended(fleet, await client.start(timers));
    const run = await client.start(signals);
    await run.signal(go, 1);
    await fleet.clock.settle();
    await fleet.clock.advance("1 minute");
    await run.signal(go, 2);
    await ended(fleet, run);
    const beside = await client.start(handedOn);
    await fleet.clock.settle();
    await beside.signal(go, 3);
    await ended(fleet, beside);
  },
};
