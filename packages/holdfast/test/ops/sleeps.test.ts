import { workflow } from "holdfast";
import { crashEverywhere } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const HOUR_MS = 3_600_000;

describe("a sleep", () => {
  test.each([
    ["250ms", 250],
    ["30s", 30_000],
    ["2h 30m", 2.5 * HOUR_MS],
    ["1 day", 24 * HOUR_MS],
    [{ minutes: 5, seconds: 1 }, 301_000],
    ["0s", 0],
  ])("of %j lasts exactly that long", async (duration, ms) => {
    const nap = workflow("nap", async (ctx) => {
      const before = ctx.now();
      await ctx.sleep("nap", duration);
      return Number(ctx.now()) - Number(before);
    });
    const t = await openEngine(nap);
    const began = t.clock.now();
    expect(await t.run(nap)).toBe(ms);
    expect(t.clock.now() - began).toBe(ms);
  });

  test("of the longest duration is skipped by the test engine and survives a crash anywhere", async () => {
    const nap = workflow("nap", (ctx) => ctx.sleep("nap", "36525 days"));
    const t = await openEngine(nap);
    const began = t.clock.now();
    await t.run(nap);
    expect(t.clock.now() - began).toBe(36_525 * 24 * HOUR_MS);
    expect(await crashEverywhere(nap, undefined)).toMatchObject({ status: "completed" });
  });

  test("until a date ends at that date, and one until a date that has passed ends at once", async () => {
    const wait = workflow("wait", async (ctx, until: Date) => {
      await ctx.sleepUntil("until", until);
      return ctx.now();
    });
    const t = await openEngine(wait);
    const date = new Date(t.clock.now() + 400 * 24 * HOUR_MS);
    expect(await t.run(wait, date)).toEqual(date);
    expect(new Date(t.clock.now())).toEqual(date);
    expect(await t.run(wait, new Date(0))).toEqual(date);
  });

  test("holds no slot and nothing in memory, and the run says when it will go on", async () => {
    const nap = workflow("nap", (ctx) => ctx.sleep("nap", "365 days"));
    const fleet = openFleet();
    const worker = await fleet.forgetful({ workflows: [nap], concurrency: 1 });
    const client = fleet.client();
    const began = fleet.clock.now();
    const runs = await client.startMany(Array.from({ length: 20 }, () => ({ workflow: nap })));
    await fleet.clock.settle();
    expect(worker.activeRuns).toBe(0);
    for (const run of runs) {
      expect(await run.describe()).toMatchObject({
        status: "sleeping",
        waitingFor: ["nap"],
        workerId: null,
        availableAt: new Date(began + 365 * 24 * HOUR_MS),
      });
    }
    await Promise.all(runs.map((run) => fleet.result(run)));
    expect(fleet.clock.now() - began).toBe(365 * 24 * HOUR_MS);
  });

  test("goes on when no worker is there: the next worker wakes the run as soon as it comes", async () => {
    const nap = workflow("nap", async (ctx) => {
      await ctx.sleep("nap", "1 day");
      return ctx.now();
    });
    const fleet = openFleet();
    const first = await fleet.worker({ workflows: [nap] });
    const run = await fleet.client().start(nap);
    await fleet.clock.settle();
    const began = fleet.clock.now();
    await fleet.clock.until(first.stop());
    await fleet.clock.advance("3 days");
    expect(await run.status()).toBe("sleeping");
    await fleet.worker({ workflows: [nap] });
    expect(await fleet.result(run)).toEqual(new Date(began + 3 * 24 * HOUR_MS));
  });

  test("keeps the time that was promised when the code says another duration now", async () => {
    const nap = (duration: string) =>
      workflow("nap", async (ctx) => {
        await ctx.sleep("nap", duration);
        return ctx.now();
      });
    const fleet = openFleet();
    const before = nap("2 days");
    const old = await fleet.worker({ workflows: [before] });
    const run = await fleet.client().start(before);
    await fleet.clock.settle();
    const began = fleet.clock.now();
    await fleet.clock.until(old.stop());
    await fleet.worker({ workflows: [nap("9 days")] });
    expect(await fleet.result(run)).toEqual(new Date(began + 2 * 24 * HOUR_MS));
  });

  test("beside others ends in the order of their due times, not in the order of asking", async () => {
    const many = workflow("many", async (ctx) => {
      const order: string[] = [];
      await Promise.all(
        ["3h", "1h", "2h"].map(async (duration) => {
          await ctx.sleep(`nap ${duration}`, duration);
          order.push(duration);
        }),
      );
      return order;
    });
    const t = await openEngine(many);
    expect(await t.run(many)).toEqual(["1h", "2h", "3h"]);
  });

  test("appears in history as a timer that was created and one that fired", async () => {
    const nap = workflow("nap", (ctx) => ctx.sleep("nap", "1h"));
    const t = await openEngine(nap);
    const run = await t.client.start(nap);
    await run.result();
    const [, created, fired] = await run.history();
    expect(created).toMatchObject({ type: "timer_created", category: "timer", op: "nap" });
    expect(Number(created?.fireAt) - Number(created?.at)).toBe(HOUR_MS);
    expect(fired).toMatchObject({ type: "timer_fired", op: "nap", at: created?.fireAt });
    expect(await run.steps()).toMatchObject([{ op: "nap", kind: "timer", status: "completed", endedAt: fired?.at }]);
  });
});
