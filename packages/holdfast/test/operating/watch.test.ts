import { signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";
import { openWorld } from "../lab/world.ts";

const go = signal("go");

describe("watch", () => {
  test("gives every event of a run once, in order, while it goes on, and ends with it", async () => {
    const order = workflow("order", async (ctx) => {
      await ctx.step("charge", () => "paid");
      await ctx.sleep("a month", "30 days");
      return ctx.step("ship", () => "sent");
    });
    const t = await openEngine(order);
    const run = await t.client.start(order, undefined, { id: "o" });
    const seen: string[] = [];
    for await (const { type, op, runId } of t.client.watch("o")) {
      expect(runId).toBe(run.runId);
      seen.push(op === null ? type : `${type} ${op}`);
    }
    const whole = (await run.history()).map(({ type, op }) => (op === null ? type : `${type} ${op}`));
    expect(seen).toEqual(whole);
    expect(seen.at(-1)).toBe("run_completed");
  });

  test("begins where it is asked to, also after the end", async () => {
    const three = workflow("three", async (ctx) => {
      for (const name of ["a", "b", "c"]) await ctx.step(name, () => name);
    });
    const t = await openEngine(three);
    await t.run(three, undefined, { id: "r" });
    const from = async (seq: number) => {
      const seqs: number[] = [];
      for await (const event of t.client.watch("r", { from: seq })) seqs.push(event.seq);
      return seqs;
    };
    expect(await from(0)).toEqual([0, 1, 2, 3, 4]);
    expect(await from(2)).toEqual([2, 3, 4]);
    expect(await from(100)).toEqual([]);
  });

  test("follows a run that continues as new", async () => {
    const counting = workflow("counting", async (ctx, n: number): Promise<number> => {
      await ctx.step("count", () => n);
      if (n < 3) return ctx.continueAsNew(n + 1);
      return n;
    });
    const t = await openEngine(counting);
    await t.client.start(counting, 1, { id: "c" });
    const events: string[] = [];
    const runIds = new Set<string>();
    for await (const { type, runId } of t.client.watch("c")) {
      events.push(type);
      runIds.add(runId);
    }
    expect([runIds.size, events.filter((type) => type === "step_completed").length]).toEqual([3, 3]);
    expect(events.at(-1)).toBe("run_completed");
  });

  test("sees what another process does within a second, and reads no more than the row meanwhile", async () => {
    const waiting = workflow("waiting", async (ctx) => {
      await ctx.receive(go);
    });
    const world = openWorld();
    const client = world.client({ deaf: true });
    const run = await client.start(waiting, undefined, { id: "w" });
    const events: string[] = [];
    const watched = (async () => {
      for await (const { type } of client.watch("w")) events.push(type);
    })();
    await world.clock.settle();
    expect(events).toEqual(["run_started"]);
    await world.worker(world.client({}), { workflows: [waiting] });
    await world.client({}).get("w").signal(go);
    await world.clock.advance("5s");
    await watched;
    expect(events).toEqual((await run.history()).map(({ type }) => type));
  });

  test("can be left, and leaves nothing behind", async () => {
    const waiting = workflow("waiting", async (ctx) => {
      await ctx.receive(go);
    });
    const fleet = openFleet();
    const client = fleet.client();
    await client.start(waiting, undefined, { id: "w" });
    for await (const { type } of client.watch("w")) {
      expect(type).toBe("run_started");
      break;
    }
    const watching = client.watch("w");
    await watching.next();
    const next = watching.next();
    await fleet.clock.settle();
    await client.close();
    await expect(next).rejects.toMatchObject({ code: "client_closed" });
  });

  test("of a run that is not there, or with options that make no sense, is an error", async () => {
    const { client } = await openEngine();
    await expect(client.watch("nobody").next()).rejects.toMatchObject({ code: "run_not_found" });
    expect(() => client.watch("")).toThrowError(expect.objectContaining({ code: "invalid_name" }));
    expect(() => client.watch("x", { from: -1 })).toThrowError(expect.objectContaining({ code: "invalid_option" }));
  });
});
