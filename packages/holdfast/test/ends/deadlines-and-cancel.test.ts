import { type Context, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { Line, openWorld, WORKER_CALLS } from "../lab/world.ts";

const never = signal("never");
const released = signal("released");

describe("a run past its deadline", () => {
  test("is left alone while it cleans up, for as long as it waits, and is compensated in the end", async () => {
    const world = openWorld();
    const undone: string[] = [];
    const rental = workflow({ name: "rental", timeout: "10s" }, async (ctx) => {
      await ctx.step("book", () => "car", { compensate: (what) => void undone.push(`undo ${what}`) });
      try {
        await ctx.receive(never);
      } finally {
        await ctx.uncancelable((shielded) => shielded.receive(released));
      }
    });
    const client = world.client();
    await world.worker(client, { workflows: [rental], lease: "5s" });
    const run = await client.start(rental);
    await world.clock.advance("10m");
    expect(await run.status()).toBe("waiting");
    expect(undone).toEqual([]);
    await run.signal(released);
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_timed_out" });
    expect(undone).toEqual(["undo car"]);
    expect(await run.describe()).toMatchObject({ status: "timed_out", compensation: "compensated" });
  });

  test("goes on cleaning up when its worker dies, as soon as there is another one", async () => {
    const world = openWorld();
    const line = new Line(...WORKER_CALLS);
    const did: string[] = [];
    const rental = workflow({ name: "rental", timeout: "10s" }, async (ctx) => {
      await ctx.step("book", () => "car", { compensate: (what) => void did.push(`undo ${what}`) });
      const clean = async (): Promise<void> => {
        did.push("clean");
        await world.later(15_000);
      };
      try {
        await ctx.receive(never);
      } finally {
        await ctx.uncancelable((shielded) => shielded.step("clean", clean));
      }
    });
    const first = world.client({ hooks: line.hooks });
    await world.worker(first, { workflows: [rental], lease: "5s" });
    // A worker that sweeps, and ends overdue runs that no worker holds.
    await world.worker(world.client(), { workflows: [], lease: "5s" });
    const run = await first.start(rental);
    await world.clock.advance("16s");
    expect(did).toEqual(["clean"]);
    line.down = true;
    await world.clock.advance("1m");
    expect(world.row(run)).toMatchObject({ heldBy: null, deaths: 1 });
    const second = world.client();
    await world.worker(second, { workflows: [rental], lease: "5s" });
    await expect(world.result(second.get(rental, run.id))).rejects.toMatchObject({ code: "run_timed_out" });
    expect(did).toEqual(["clean", "clean", "undo car"]);
    expect(world.row(run)).toMatchObject({ status: "timed_out", compensation: "compensated" });
  });

  test("holds no slot while it waits", async () => {
    const world = openWorld();
    const stuck = workflow({ name: "stuck", timeout: "5s" }, async (ctx) => {
      try {
        await ctx.receive(never);
      } finally {
        await ctx.uncancelable((shielded) => shielded.receive(released));
      }
    });
    const quick = workflow("quick", async () => "quick");
    const client = world.client();
    const worker = await world.worker(client, { workflows: [stuck, quick], concurrency: 2 });
    const overdue = await client.startMany([{ workflow: stuck }, { workflow: stuck }]);
    await world.clock.advance("10s");
    expect(overdue.map((run) => world.row(run).status)).toEqual(["waiting", "waiting"]);
    expect(worker.activeRuns).toBe(0);
    const claims = world.store.calls["runs.claim"] ?? 0;
    const beganMs = world.clock.monotonic();
    expect(await world.clock.until(client.run(quick))).toBe("quick");
    expect(world.clock.monotonic()).toBe(beganMs);
    await world.clock.advance("10s");
    expect((world.store.calls["runs.claim"] ?? 0) - claims).toBeLessThan(10);
  });
});

describe("a cancel", () => {
  test("lets a run clean up that a worker had begun and taken to its grave before it wrote anything", async () => {
    const world = openWorld();
    const line = new Line(...WORKER_CALLS);
    const did: string[] = [];
    const payment = workflow("payment", async (ctx) => {
      const charge = async (): Promise<void> => {
        did.push("charge");
        await world.later(60_000);
      };
      try {
        await ctx.step("charge", charge);
      } catch (error) {
        await ctx.uncancelable((shielded) => shielded.step("refund", () => void did.push("refund")));
        throw error;
      }
    });
    const first = world.client({ hooks: line.hooks });
    await world.worker(first, { workflows: [payment], lease: "5s" });
    const run = await first.start(payment);
    await world.clock.advance("500ms");
    line.down = true;
    expect(world.events(run)).toEqual([]);
    const second = world.client();
    await second.get(run.id).cancel("too late");
    await world.worker(second, { workflows: [payment], lease: "5s" });
    await expect(world.result(second.get(run.id))).rejects.toMatchObject({ code: "run_canceled" });
    expect(did).toEqual(["charge", "refund"]);
  });

  test("that the code ignores in a loop parks the run and stops neither the worker nor other runs", async () => {
    const world = openWorld();
    let ignored = 0;
    const poll = async (ctx: Context): Promise<void> => {
      await ctx.step("poll", () => "nothing new");
      await ctx.sleep("pause", "1m");
    };
    const stubborn = workflow("stubborn", async (ctx) => {
      // The limit is for this test: without a cure the loop would never give the process back.
      while (ignored < 100_000) {
        await poll(ctx).catch(() => {
          ignored += 1;
        });
      }
    });
    const neighbour = workflow("neighbour", async (ctx) => {
      await ctx.sleep("nap", "1s");
      return "fine";
    });
    const client = world.client();
    const worker = await world.worker(client, { workflows: [stubborn, neighbour] });
    const run = await client.start(stubborn);
    const beside = await client.start(neighbour);
    await world.clock.settle();
    await run.cancel();
    expect(await world.result(beside)).toBe("fine");
    expect(ignored).toBeLessThanOrEqual(1_001);
    expect(await run.describe()).toMatchObject({ status: "parked", error: { code: "cancel_ignored" } });
    expect(worker.activeRuns).toBe(0);
    await world.clock.until(worker.stop());
    const cured = workflow("stubborn", async (ctx) => {
      for (;;) await poll(ctx);
    });
    await world.worker(client, { workflows: [cured] });
    await run.resume();
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_canceled" });
  });
});
