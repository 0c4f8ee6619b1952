import { type StepInfo, workflow } from "holdfast";
import { declined, ended, type Feature } from "../feature.ts";

const echo = workflow("echo", async (_ctx, n: number) => n);
const slow = workflow("slow", async (ctx) => ctx.sleep("long", "1 day"));
const undoing = workflow("undoing", async (ctx) => {
  await ctx.step("charge", () => 1, { compensate: () => {} });
  declined();
});

const parents = workflow("children-ends", async (ctx) => {
  const one = await ctx.child(echo, 1);
  const failed = await ctx.child(undoing).catch((error: Error) => error.name);
  const race = await ctx.race([(c) => c.child(slow), (c) => c.sleep("wait", "1s")]);
  const handle = await ctx.startChild(echo, 2);
  return [one, failed, race.winner, await handle.result()];
});

const replaced = workflow("children-replaced", async (ctx) => {
  await ctx.race([(c) => c.child(slow), (c) => c.sleep("wait", "1s")]);
  await ctx.sleep("on", "1h");
  await ctx.child(slow, undefined, { id: "kid" });
});

const closed = workflow("children-closed", async (ctx) => {
  await ctx.child(slow).catch(() => {});
  await ctx.uncancelable((c) => c.sleep("clean up", "1h"));
});

const undone = workflow("children-undone", async (ctx) => {
  const compensate = (): void => {};
  ctx.child(slow, undefined, { compensate }).catch(() => {});
  await ctx.step("first", () => 1);
  ctx.child(echo, 1, { compensate }).catch(() => {});
  declined();
});

const inSteps = workflow("children-in-steps", async (ctx) => {
  const start = async (s: StepInfo): Promise<void> => {
    await s.start(echo, 1);
    if (s.attempt === 1) declined();
  };
  await ctx.step("twice", start);
  await ctx.step("once", start, { retry: "none" });
});

export const children: Feature = {
  name: "children",
  workflows: [echo, slow, undoing, parents, replaced, closed, undone, inSteps],
  async happen(fleet) {
    const client = fleet.client();
    await ended(fleet, await client.start(parents));
    const run = await client.start(replaced);
    await fleet.clock.settle();
    await fleet.clock.advance("2h");
    await client.get("kid").terminate();
    await ended(fleet, run);
    await run.retry();
    await ended(fleet, run);
    const canceled = await client.start(closed);
    await fleet.clock.settle();
    await canceled.cancel("enough");
    await ended(fleet, canceled);
    await ended(fleet, await client.start(undone));
    await ended(fleet, await client.start(inSteps));
    await fleet.clock.advance("2 days");
  },
};
