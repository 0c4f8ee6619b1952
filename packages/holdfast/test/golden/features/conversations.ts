import { signal, update, workflow } from "holdfast";
import { declined, ended, type Feature } from "../feature.ts";

const put = update<number, number>("put");
const go = signal<number>("go");

const counter = workflow("conversations-counter", async (ctx) => {
  let sum = 0;
  ctx.on(put, {
    validate: (n) => {
      if (n < 0) declined();
    },
    handle: async (n) => {
      sum += n;
      await ctx.step("note", () => n);
      return n === 2 ? declined() : sum;
    },
  });
  const soon = await ctx.until(() => sum > 100, { timeout: "1m" });
  await ctx.until(() => sum > 2);
  return [soon, sum, await ctx.receive(go)];
});

export const conversations: Feature = {
  name: "conversations",
  workflows: [counter],
  async happen(fleet) {
    const run = await fleet.client().start(counter);
    await fleet.clock.settle();
    for (const n of [-1, 1, 2]) await fleet.clock.until(run.update(put, n, { id: `u${n}` })).catch(() => {});
    await fleet.clock.advance("2 minutes");
    await run.signal(go, 3);
    await ended(fleet, run);
  },
};
