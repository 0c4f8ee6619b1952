import { signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { Line, openWorld, type World } from "../lab/world.ts";

const go = signal("go");

function online(world: World): number {
  return [...world.store.state.workers.values()].filter(({ status }) => status !== "offline").length;
}

describe("closing a client", () => {
  test("while a worker of it starts leaves no worker that runs on", async () => {
    const world = openWorld();
    const line = new Line("workers.register");
    const quick = workflow("quick", async () => "quick");
    const client = world.client({ hooks: line.hooks });
    line.down = true;
    const worker = client.worker({ workflows: [quick] });
    const started = worker.start();
    await world.clock.settle();
    const closed = client.close();
    line.down = false;
    await world.clock.until(Promise.all([started, closed]));
    expect(online(world)).toBe(0);
    const run = await world.client().start(quick);
    await world.clock.advance("1m");
    expect(await run.status()).toBe("pending");
  });

  test("while a worker of it drains lets go of the store only when the drain is over", async () => {
    const world = openWorld();
    const order: string[] = [];
    const slow = workflow("slow", (ctx) => ctx.step("work", () => world.later(5_000)));
    const client = world.client({ onClose: () => order.push("store let go of") });
    const worker = await world.worker(client, { workflows: [slow] });
    const run = await client.start(slow);
    await world.clock.advance("1s");
    void worker.drain().then(() => order.push("drained"));
    await world.clock.advance("1s");
    await world.clock.until(client.close());
    expect(order).toEqual(["drained", "store let go of"]);
    expect(world.row(run)).toMatchObject({ heldBy: null, deaths: 0 });
    expect(online(world)).toBe(0);
  });
});

describe("a worker that leaves", () => {
  test("comes to the end of its drain also when nothing can be written", async () => {
    const world = openWorld();
    const line = new Line("runs.commit");
    const pair = workflow("pair", async (ctx) => [await ctx.step("a", () => 1), await ctx.step("b", () => 2)]);
    const client = world.client({ hooks: line.hooks });
    const worker = await world.worker(client, { workflows: [pair], drainTimeout: "10s" });
    line.down = true;
    const run = await client.start(pair);
    await world.clock.settle();
    const beganMs = world.clock.monotonic();
    await world.clock.until(worker.drain());
    // Once for the steps, and once for the flushes before and after what is left is dropped.
    expect(world.clock.monotonic() - beganMs).toBeLessThanOrEqual(3 * 10_000);
    expect(world.row(run)).toMatchObject({ status: "running", heldBy: null });
    const second = world.client();
    await world.worker(second, { workflows: [pair] });
    expect(await world.result(second.get(pair, run.id))).toEqual([1, 2]);
  });

  test("at once writes down the steps that are done, also those behind a flush that is on its way", async () => {
    const world = openWorld();
    const calls: string[] = [];
    const pair = workflow("pair", async (ctx) => {
      const quick = ctx.step("quick", () => calls.push("quick"));
      const slower = ctx.step("slower", async () => {
        await world.later(50);
        calls.push("slower");
      });
      await quick;
      await slower;
      return "done";
    });
    const first = world.client({
      hooks: {
        "runs.commit": async (_params, call) => {
          const answer = await call();
          await world.later(100);
          return answer;
        },
      },
    });
    const worker = await world.worker(first, { workflows: [pair] });
    const run = await first.start(pair);
    await world.clock.advance("80ms");
    expect(calls).toEqual(["quick", "slower"]);
    expect(world.events(run).map(({ op }) => op)).toEqual(["quick"]);
    await world.clock.until(worker.stop());
    expect(world.events(run).map(({ op }) => op)).toEqual(["quick", "slower"]);
    const second = world.client();
    await world.worker(second, { workflows: [pair] });
    expect(await world.result(second.get(pair, run.id))).toBe("done");
    expect(calls).toEqual(["quick", "slower"]);
  });

  test("does not make code run on that has turned out not to match its history", async () => {
    const world = openWorld();
    const first = world.client();
    const before = workflow("order", async (ctx) => {
      await ctx.step("charge", () => "paid");
      await ctx.receive(go);
    });
    const old = await world.worker(first, { workflows: [before] });
    const run = await first.start(before);
    await world.clock.settle();
    await world.clock.until(old.stop());
    const reached: string[] = [];
    const second = world.client();
    const after = workflow("order", async (ctx) => {
      const charged = ctx.step("charge", () => "paid again");
      // History knows of no such timer; the worker begins to drain in the same moment.
      void ctx.sleep("pause", "1m");
      void worker.drain();
      reached.push("before the charge");
      await charged;
      reached.push("after the charge");
    });
    const worker = second.worker({ workflows: [after] });
    await world.clock.until(worker.start());
    await second.get(run.id).signal(go);
    await world.clock.advance("1m");
    expect(await second.get(run.id).describe()).toMatchObject({
      status: "parked",
      error: { code: "replay_divergence" },
    });
    expect(new Set(reached)).toEqual(new Set(["before the charge"]));
  });
});
