import { signal, workflow } from "holdfast";
import { expect } from "vitest";
import type { ClientSuite } from "./client-suite.ts";
import { gate } from "./gate.ts";

const go = signal<string>("go");

const wait = workflow({ name: "wait", signals: [go] }, (ctx) => ctx.receive(go));

/** What people do to runs, through the whole engine on each store. */
export const pausing: ClientSuite = {
  noun: "that pauses runs",
  cases: {
    "stops a run that waits, keeps its messages, and lets it go on": async (t) => {
      const client = await t.connect();
      await client.worker({ workflows: [wait] }).start();
      const run = await client.start(wait, undefined, { id: "w" });
      // Time is counted in round trips to the store.
      while ((await run.status()) !== "waiting");
      await run.pause({ by: "ana", reason: "a break" });
      await run.pause({ by: "ben" });
      expect(await run.describe()).toMatchObject({
        status: "parked",
        error: { code: "paused", data: { by: "ana", reason: "a break" } },
      });
      await run.signal(go, "on");
      expect(await client.why("w")).toMatchObject({ causes: [{ kind: "paused", by: "ana", reason: "a break" }] });
      await run.resume({ by: "ben" });
      expect(await run.result()).toBe("on");
      const done = (await run.history()).filter(({ category }) => category === "command");
      expect(done.map(({ type, data }) => [type, data])).toEqual([
        ["run_parked", { by: "ana", reason: "a break" }],
        ["run_resumed", { by: "ben" }],
      ]);
      await expect(run.pause()).rejects.toMatchObject({ code: "run_closed" });
    },

    "waits for the running step of a run that is held, and begins no other": async (t) => {
      const [began, ends] = [gate(), gate()];
      const steps: string[] = [];
      const two = workflow("two", async (ctx) => {
        await ctx.step("first", () => {
          steps.push("first");
          began.open();
          return ends.opened;
        });
        await ctx.step("second", () => void steps.push("second"));
      });
      const client = await t.connect();
      await client.worker({ workflows: [two] }).start();
      const run = await client.start(two);
      await began.opened;
      await run.pause({ by: "ana" });
      while ((await run.history()).length < 2);
      ends.open();
      while ((await run.status()) !== "parked");
      expect(steps).toEqual(["first"]);
      await run.resume();
      await run.result();
      expect(steps).toEqual(["first", "second"]);
      expect((await run.history()).map(({ type }) => type)).toEqual([
        "run_started",
        "pause_requested",
        "step_completed",
        "run_parked",
        "run_resumed",
        "step_completed",
        "run_completed",
      ]);
    },

    "keeps the start time of a run, and a cancel resumes it to end it": async (t) => {
      const client = await t.connect();
      const run = await client.start(wait, undefined, { delay: "1 day" });
      const { availableAt } = await run.describe();
      await run.pause();
      await run.resume();
      expect(await run.describe()).toMatchObject({ status: "pending", availableAt });
      await run.pause();
      await run.cancel({ by: "eve", reason: "enough" });
      await client.worker({ workflows: [wait] }).start();
      await expect(run.result()).rejects.toMatchObject({ code: "run_canceled" });
      expect((await run.history()).slice(1).map(({ type, by }) => [type, by])).toEqual([
        ["run_parked", undefined],
        ["run_resumed", undefined],
        ["run_parked", undefined],
        ["run_resumed", "eve"],
        ["cancel_requested", "eve"],
        ["run_canceled", undefined],
      ]);
    },
  },
};
