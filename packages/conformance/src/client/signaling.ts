import { type Client, isHoldfastError, signal, workflow } from "holdfast";
import { expect } from "vitest";
import type { ClientSuite } from "./client-suite.ts";

const word = signal<string>("word");

const eager = workflow("eager", async (ctx) => {
  const words: string[] = [];
  await ctx.step("open", () => {});
  for (;;) {
    const next = await ctx.receive(word, { timeout: "0ms" });
    if (next === undefined) return words;
    words.push(next);
  }
});

/** Sends until it is done or the run accepts no more. Returns the signals that were accepted. */
async function send(client: Client, id: string, sender: number): Promise<string[]> {
  const accepted: string[] = [];
  for (let n = 1; n <= 50; n++) {
    try {
      await client.get(id).signal(word, `${sender}.${n}`);
    } catch (error) {
      if (isHoldfastError(error, "run_closed")) return accepted;
      throw error;
    }
    accepted.push(`${sender}.${n}`);
  }
  return accepted;
}

export const signaling: ClientSuite = {
  noun: "that signals",
  cases: {
    "beside another, in a storm, has each signal received, or is told that the run is closed": async (t) => {
      const [one, other] = [await t.connect(), await t.connect()];
      await one.worker({ workflows: [eager] }).start();
      for (let round = 0; round < 10; round++) {
        const run = await one.start(eager, undefined, { id: `r${round}` });
        const accepted = await Promise.all([one, other, one, other].map((client, i) => send(client, run.id, i)));
        const received = await run.result();
        expect(received.toSorted()).toEqual(accepted.flat().toSorted());
        // And the signals of one sender in their order.
        const bySender = [0, 1, 2, 3].map((i) => received.filter((text) => text.startsWith(`${i}.`)));
        expect(bySender).toEqual(accepted);
      }
    },
  },
};
