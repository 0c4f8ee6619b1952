import { type RunHandle, signal, update, workflow } from "holdfast";
import { expect } from "vitest";
import type { ClientSuite } from "./client-suite.ts";

const SIGNALS = 10_000;
const UPDATES = 1_000;
/** How many are under way at once. */
const AT_ONCE = 1_000;

const item = signal<number>("item");
const add = update<number, number>("add");

/** Returns how many signals came out of order. */
const inOrder = workflow("in-order", async (ctx) => {
  let wrong = 0;
  for (let i = 0; i < SIGNALS; i++) if ((await ctx.receive(item)) !== i) wrong += 1;
  // What came twice would still be here.
  return [wrong, await ctx.receive(item, { timeout: "0ms" })];
});

const account = workflow("account", async (ctx) => {
  let sum = 0;
  ctx.on(add, async (n) => {
    const booked = await ctx.step("book", () => n);
    sum += booked;
    return sum;
  });
  await ctx.until(() => sum === UPDATES);
  return sum;
});

/** Every tenth is sent twice. */
function send(run: RunHandle, n: number): Promise<unknown> {
  const once = run.signal(item, n, { id: `item ${n}` });
  return n % 10 === 0 ? Promise.all([once, run.signal(item, n, { id: `item ${n}` })]) : once;
}

export const manyMessages: ClientSuite = {
  noun: "that sends a great many messages to one run",
  cases: {
    "has ten thousand signals received, once and in order": async (t) => {
      const [client, other] = [await t.connect(), await t.connect()];
      await other.worker({ workflows: [inOrder] }).start();
      const run = await client.start(inOrder);
      for (let from = 0; from < SIGNALS; from += AT_ONCE)
        await Promise.all(Array.from({ length: AT_ONCE }, (_, i) => send(run, from + i)));
      expect(await run.result()).toEqual([0, undefined]);
    },

    "has a thousand updates answered at once, each with a result of its own, and the same when asked again": async (
      t,
    ) => {
      const [client, other] = [await t.connect(), await t.connect()];
      await other.worker({ workflows: [account] }).start();
      const run = await client.start(account);
      const ask = (id: number): Promise<number> => run.update(add, 1, { id: `u${id}` });
      const ids = Array.from({ length: UPDATES }, (_, i) => i);
      const answers = await Promise.all(ids.map(ask));
      expect(answers.toSorted((a, b) => a - b)).toEqual(ids.map((id) => id + 1));
      expect(await run.result()).toBe(UPDATES);
      expect(await Promise.all(ids.map(ask))).toEqual(answers);
    },
  },
};
