import { signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openWorld, type World } from "../lab/world.ts";

const go = signal<string>("go");

const listen = workflow("listen", async (ctx) => {
  const before = await ctx.step("before", () => "before");
  return [before, await ctx.receive(go)];
});

describe("an error of the driver that passes", () => {
  const nap = workflow("nap", async (ctx, n: number) => {
    await ctx.step("note", () => n);
    await ctx.sleep("nap", "1s");
    return n;
  });

  test.each([1, 2, 20])("parks none of the %i runs in the flush that it hits", async (count) => {
    const world = openWorld();
    let failures = 0;
    const client = world.client({
      hooks: {
        "runs.commit": (params, call) => {
          if (failures > 0 || params.commits.length < count) return call();
          failures += 1;
          throw new TypeError("Cannot read properties of undefined");
        },
      },
    });
    await world.worker(client, { workflows: [nap] });
    const inputs = Array.from({ length: count }, (_, n) => n);
    const runs = await client.startMany(inputs.map((input) => ({ workflow: nap, input })));
    expect(await world.clock.until(Promise.all(runs.map((run) => run.result())))).toEqual(inputs);
    expect(failures).toBe(1);
  });
});

describe("an output that cannot be stored", () => {
  test("fails the run like any error of its code: what was done is undone", async () => {
    const world = openWorld();
    const undone: string[] = [];
    const booking = workflow("booking", async (ctx) => {
      await ctx.step("book", () => "seat 12", { compensate: (seat) => void undone.push(`undo ${seat}`) });
      return { confirm: () => "confirmed" };
    });
    const client = world.client();
    await world.worker(client, { workflows: [booking] });
    const run = await client.start(booking);
    await expect(world.result(run)).rejects.toMatchObject({ cause: { code: "unserializable_value" } });
    expect(undone).toEqual(["undo seat 12"]);
    expect(await run.describe()).toMatchObject({ status: "failed", compensation: "compensated" });
  });
});

describe("a history that cannot be read", () => {
  /** A run that waits for a signal, on a worker that has to read its history to go on. */
  async function waiting(world: World, readHistories?: () => void) {
    const client = world.client({
      hooks: {
        "histories.read": (_params, call) => {
          readHistories?.();
          return call();
        },
      },
    });
    const worker = await world.worker(client, { workflows: [listen], cacheSize: 0 });
    const run = await client.start(listen);
    await world.clock.settle();
    expect(world.row(run)).toMatchObject({ status: "waiting", epoch: 1 });
    return { worker, run };
  }

  test("because events are missing parks the run, which is not claimed again until it is resumed", async () => {
    const world = openWorld();
    const { worker, run } = await waiting(world);
    const whole = [...world.events(run)];
    world.store.state.events.set(run.runId, []);
    await run.signal(go, "now");
    await world.clock.advance("1h");
    expect(world.row(run)).toMatchObject({ status: "parked", epoch: 2, error: { code: "invariant_broken" } });
    expect(worker.activeRuns).toBe(0);
    // That it was parked is recorded all the same.
    world.store.state.events.set(run.runId, [...whole, ...world.events(run)]);
    await run.resume();
    expect(await world.result(run)).toEqual(["before", "now"]);
  });

  test("because the store fails gives the run back after a pause, until it can be read", async () => {
    const world = openWorld();
    const readsMs: number[] = [];
    const { run } = await waiting(world, () => {
      readsMs.push(world.clock.monotonic());
      if (readsMs.length < 4) throw new TypeError("Cannot read properties of undefined");
    });
    await run.signal(go, "now");
    expect(await world.result(run)).toEqual(["before", "now"]);
    const pausesMs = readsMs.slice(1).map((atMs, i) => atMs - (readsMs[i] ?? 0));
    expect(pausesMs).toHaveLength(3);
    for (const pauseMs of pausesMs) expect(pauseMs).toBeGreaterThan(500);
    for (const pauseMs of pausesMs) expect(pauseMs).toBeLessThan(2_000);
  });
});
