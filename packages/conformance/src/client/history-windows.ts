import { type Client, type EventWindow, signal, workflow } from "holdfast";
import { expect } from "vitest";
import type { ClientSuite } from "./client-suite.ts";

const approve = signal("approve");
const STEPS = 30;

const long = workflow("long", async (ctx) => {
  for (let i = 1; i <= STEPS; i++) await ctx.step("work", () => i);
  await ctx
    .step(
      "refused",
      () => {
        throw new Error("card refused");
      },
      { retry: { attempts: 2, fixed: "1ms" } },
    )
    .catch(() => {});
  await ctx.receive(approve);
});

/** The run has ended: its history is complete. */
async function longRun(client: Client) {
  await client.worker({ workflows: [long] }).start();
  const run = await client.start(long, undefined, { id: "r" });
  await run.signal(approve);
  await run.result();
  return { run, all: await run.history() };
}

export const historyWindows: ClientSuite = {
  noun: "that looks at a part of a history",
  cases: {
    "gets the events from a number on, as many as it asks for": async (t) => {
      const { run, all } = await longRun(await t.connect());
      for (const from of [0, 1, 7, all.length - 5]) {
        const window = await run.history({ from, limit: 5 });
        expect(window).toEqual(all.slice(from, from + 5));
        expect(window.next).toBe(from + 5 < all.length ? from + 5 : null);
      }
      expect(await run.history({})).toEqual(all);
      expect(await run.history({ from: all.length - 1 })).toEqual(all.slice(-1));
      expect(await run.history({ from: all.length })).toMatchObject({ length: 0, next: null });
      expect(await run.history({ from: 1_000_000 })).toMatchObject({ length: 0, next: null });
    },

    "scrolls from window to window without losing or repeating an event": async (t) => {
      const { run, all } = await longRun(await t.connect());
      const seen = [];
      for (let next: number | null = 0; next !== null; ) {
        const window: EventWindow = await run.history({ from: next, limit: 4 });
        seen.push(...window);
        next = window.next;
      }
      expect(seen).toEqual(all);
    },

    "gets only the events of some types, of some ops, or of failures": async (t) => {
      const { run, all } = await longRun(await t.connect());
      const completed = await run.history({ types: ["step_completed", "run_completed"] });
      expect(completed).toEqual(all.filter(({ type }) => /^(step|run)_completed$/.test(type)));
      expect((await run.history({ ops: ["work#3", "refused"] })).map(({ op }) => op)).toEqual([
        "work#3",
        "refused",
        "refused",
      ]);
      expect((await run.history({ ops: ["receive:approve"] })).map(({ type }) => type)).toEqual(["signal_received"]);
      const failed = await run.history({ failed: true });
      expect(failed.map(({ type }) => type)).toEqual(["step_attempt_failed", "step_failed"]);
      expect(failed.next).toBeNull();
      expect(await run.history({ failed: true, types: ["step_completed"] })).toHaveLength(0);
      expect(await run.history({ failed: false })).toEqual(all);
    },

    "goes on behind the last event of a filtered window": async (t) => {
      const { run, all } = await longRun(await t.connect());
      const wanted = all.filter(({ type, seq }) => type === "step_completed" && seq >= 5);
      const first = await run.history({ from: 5, limit: 2, types: ["step_completed"] });
      expect(first).toEqual(wanted.slice(0, 2));
      expect(first.next).toBe((first[1]?.seq ?? 0) + 1);
      expect(await run.history({ from: first.next as number, types: ["step_completed"] })).toEqual(wanted.slice(2));
    },

    "sees the end of an open run as the end so far": async (t) => {
      const client = await t.connect();
      await client.worker({ workflows: [long] }).start();
      const run = await client.start(long, undefined, { id: "r" });
      while ((await run.status()) !== "waiting");
      const { historyLength } = await run.describe();
      const window = await run.history({ from: historyLength - 2, limit: 10 });
      expect(window.map(({ type }) => type)).toEqual(["step_attempt_failed", "step_failed"]);
      expect(window.next).toBeNull();
      await run.signal(approve);
      await run.result();
      const more = await run.history({ from: historyLength });
      expect(more.map(({ type }) => type)).toEqual(["signal_received", "run_completed"]);
    },

    "is told what a window cannot be": async (t) => {
      const client = await t.connect();
      const run = client.get("r");
      const refused = async (options: object, message: string) =>
        expect(run.history(options)).rejects.toMatchObject({
          code: "invalid_option",
          message: expect.stringContaining(message),
        });
      await refused({ from: -1 }, "history(): from is -1; it must be a whole number from 0");
      await refused({ limit: 0 }, "limit is 0; it must be a whole number from 1 to 5000");
      await refused({ limit: 5_001 }, "from 1 to 5000");
      await refused({ types: ["step_complete"] }, 'Did you mean "step_completed"?');
      await refused({ ops: "work" }, 'ops is "work", not an array');
      await refused({ failed: 1 }, "it may be true or false");
      await refused({ form: 1 }, "Did you mean `from`?");
      await expect(run.history({ from: 1 })).rejects.toMatchObject({ code: "run_not_found" });
    },
  },
};
