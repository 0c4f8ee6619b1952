import { signal, workflow } from "holdfast";
import { declined, ended, type Feature } from "../feature.ts";

const go = signal<number>("go");

const waiting = workflow("ends-waiting", (ctx) => ctx.receive(go));

const cleansUp = workflow("ends-cleans-up", async (ctx) => {
  try {
    await ctx.sleep("rest", "1 day");
  } finally {
    await ctx.uncancelable((c) => c.step("clean up", () => "clean"));
  }
});

const timed = workflow({ name: "ends-timed", timeout: "1m" }, async (ctx) => {
  await ctx.step("work", () => 1);
  await ctx.receive(go);
});

const continued = workflow("ends-continued", async (ctx, n: number): Promise<number> => {
  await ctx.step("work", () => n);
  return n < 2 ? ctx.continueAsNew(n + 1) : n;
});

let broken = true;
const retried = workflow({ name: "ends-retried", retry: { attempts: 2, fixed: "1s" } }, async (ctx) => {
  await ctx.step("first", () => 1);
  return ctx.step("second", () => (broken ? declined() : "mended"), { retry: "none" });
});

export const runEnds: Feature = {
  name: "run-ends",
  workflows: [waiting, cleansUp, timed, continued, retried],
  async happen(fleet) {
    const client = fleet.client();
    const canceled = await client.start(cleansUp);
    const terminated = await client.start(waiting);
    await fleet.clock.settle();
    await canceled.cancel("enough");
    await terminated.terminate("gone wild");
    await ended(fleet, canceled, terminated);
    await ended(fleet, await client.start(timed));
    await ended(fleet, await client.start(continued, 0));
    const mended = await client.start(retried);
    await ended(fleet, mended);
    broken = false;
    await mended.retry();
    await ended(fleet, mended);
    broken = true;
  },
};
