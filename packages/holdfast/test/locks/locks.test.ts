// ctx.withLock, as the code of runs sees it.
import { type Client, type Context, type HoldfastError, signal, workflow } from "holdfast";
import type { HistoryEvent, StoreHooks } from "holdfast/adapter";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";
import { LockedRoom } from "../lab/locked-room.ts";
import { openWorld } from "../lab/world.ts";

const go = signal("go");

async function startAll(client: Client, definition: Parameters<Client["start"]>[0], ids: readonly string[]) {
  const runs = [];
  for (const id of ids) runs.push(await client.start(definition, undefined as never, { id }));
  return runs;
}

function types(events: readonly { readonly type: string }[]): string[] {
  return events.map(({ type }) => type);
}

describe("a lock", () => {
  test("lets in one run at a time, in the order in which they asked", async () => {
    const room = new LockedRoom();
    const visit = workflow("visit", (ctx: Context) => room.visit(ctx));
    const t = await openEngine(visit);
    const runs = await startAll(t.client, visit, ["a", "b", "c", "d"]);
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual(["a", "b", "c", "d"]);
    expect(room).toMatchObject({ most: 1, visits: ["a", "b", "c", "d"] });
    expect(room.fences).toEqual([...room.fences].sort((x, y) => x - y));
    expect(new Set(room.fences).size).toBe(4);
    expect(t.store.state.locks.size + t.store.state.debts.size).toBe(0);
  });

  test("with a limit of three lets in three", async () => {
    const room = new LockedRoom();
    const visit = workflow("visit", (ctx: Context) => room.visit(ctx, { limit: 3 }));
    const t = await openEngine(visit);
    const runs = await startAll(t.client, visit, ["a", "b", "c", "d", "e", "f", "g"]);
    await Promise.all(runs.map((run) => run.result()));
    expect(room.most).toBe(3);
    expect(room.visits).toEqual(["a", "b", "c", "d", "e", "f", "g"]);
  });

  test.each(["0ms", "10ms"] as const)(
    "that is free is granted within a timeout of %s, however slow the store is",
    async (timeout) => {
      const world = openWorld();
      const slow: StoreHooks = {
        "runs.commit": (params, call) => world.later(100).then(() => call(params)),
        "locks.pass": (params, call) => world.later(100).then(() => call(params)),
      };
      const hasty = workflow("hasty", (ctx) =>
        ctx
          .withLock("x", { timeout }, () => ctx.sleep("stay", "1 minute"))
          .then(
            () => "was inside",
            (error: HoldfastError) => error.code,
          ),
      );
      const client = world.client({ hooks: slow });
      await world.worker(client, { workflows: [hasty], cacheSize: 0 });
      const first = await client.start(hasty);
      await world.clock.advance("10s");
      const second = await client.start(hasty);
      await world.clock.advance("10s");
      expect(await second.status()).toBe("completed");
      expect([await world.result(first), await world.result(second)]).toEqual(["was inside", "lock_timeout"]);
    },
  );

  test("gives what its function gives, a value or an error, and the run goes on without it", async () => {
    const w = workflow("w", async (ctx) => {
      const value = await ctx.withLock("x", () => ctx.step("one", () => 1));
      const error = await ctx
        .withLock("x", async () => {
          throw new Error("inside");
        })
        .catch((thrown: Error) => thrown.message);
      const plain = await ctx.withLock("x", {}, ({ fence }) => fence);
      return [value, error, typeof plain];
    });
    const t = await openEngine(w);
    const run = await t.client.start(w, undefined, { id: "w" });
    expect(await run.result()).toEqual([1, "inside", "number"]);
    const steps = await run.steps();
    expect(steps.map(({ op, kind, status }) => [op, kind, status])).toEqual([
      ["lock:x", "lock", "completed"],
      ["one", "step", "completed"],
      ["lock:x#2", "lock", "completed"],
      ["lock:x#3", "lock", "completed"],
    ]);
    expect(t.store.state.locks.size).toBe(0);
  });

  test("starts nothing before the grant is durable, and costs a run without one nothing", async () => {
    const seen: string[] = [];
    const w = workflow("w", (ctx) => ctx.withLock("x", () => ctx.step("s", () => void seen.push(...types(history())))));
    const t = await openEngine(w);
    const run = await t.client.start(w);
    const history = (): readonly HistoryEvent[] => t.store.state.events.get(run.runId) ?? [];
    await run.result();
    expect(seen).toEqual(["lock_requested", "lock_granted"]);
    expect(types(history())).toEqual(["lock_requested", "lock_granted", "step_completed", "lock_released"]);
    const plain = workflow("plain", (ctx) => ctx.step("s", () => 1));
    const other = await openEngine(plain);
    await other.run(plain);
    expect(other.store.calls["locks.pass"]).toBeUndefined();
    expect(other.store.calls["debts.read"]).toBeUndefined();
  });

  test.each(["cancel", "terminate", "fail", "timeout", "complete", "continue"])(
    "is given back when its run ends: %s",
    async (how) => {
      const holder = workflow({ name: "holder", timeout: "1 hour" }, async (ctx, times: number) => {
        if (times > 0) return;
        const inside = ctx.withLock("x", async () => {
          await ctx.receive(go);
          if (how === "fail") throw new Error("failed");
          if (how === "continue") ctx.continueAsNew(1);
        });
        if (how !== "complete") return inside;
        await ctx.receive(go);
      });
      const next = workflow("next", (ctx) => ctx.withLock("x", { timeout: "365 days" }, () => ctx.now().getTime()));
      const t = await testEngine({ workflows: [holder, next], onForgotten: "warn" });
      const first = await t.client.start(holder, 0, { id: "first" });
      await t.clock.settle();
      const second = await t.client.start(next, undefined, { id: "second" });
      await t.clock.settle();
      expect(await second.status()).toBe("waiting");
      const before = t.clock.now();
      if (how === "cancel") await first.cancel();
      else if (how === "terminate") await first.terminate();
      else if (how !== "timeout") await first.signal(go);
      expect((await second.result()) - before).toBe(how === "timeout" ? 3_600_000 : 0);
      expect(t.store.state.locks.size).toBe(0);
      await t.close();
    },
  );

  test("that does not come in time: lock_timeout, and the run no longer stands in line", async () => {
    const room = new LockedRoom();
    const visit = workflow("visit", (ctx: Context) => room.visit(ctx, {}, "1 hour"));
    const hasty = workflow("hasty", async (ctx) => {
      const code = await ctx.withLock("room", { timeout: "1 minute" }, () => "in").catch((error) => error.code);
      await ctx.sleep("after", "1 day");
      return [code, await ctx.withLock("room", { timeout: "1 minute" }, () => "in")];
    });
    const t = await openEngine(visit, hasty);
    await t.client.start(visit, undefined, { id: "a" });
    const run = await t.client.start(hasty, undefined, { id: "b" });
    const last = await t.client.start(visit, undefined, { id: "c" });
    expect(await run.result()).toEqual(["lock_timeout", "in"]);
    await last.result();
    expect(room.visits).toEqual(["a", "c"]);
    expect((await run.steps())[0]).toMatchObject({ op: "lock:room", kind: "lock", status: "failed" });
  });

  test("that the same part of the run has already: lock_held, at once; branches wait for each other", async () => {
    const order: string[] = [];
    const w = workflow("w", async (ctx) => {
      const nested = await ctx.withLock("x", () => ctx.withLock("x", () => 1).catch((error) => error.code));
      const first = ctx.withLock("x", () => 1);
      const beside = await ctx.withLock("x", () => 2).catch((error) => error.code);
      await first;
      const inBranch = await ctx.withLock("x", () =>
        ctx.parallel([(c) => c.withLock("x", () => 1).catch((error) => error.code)]),
      );
      await ctx.parallel(
        ["a", "b"].map((name) => (c: Context) => c.withLock("x", () => c.step(name, () => void order.push(name)))),
      );
      return [nested, beside, inBranch[0]];
    });
    const t = await openEngine(w);
    expect(await t.run(w)).toEqual(["lock_held", "lock_held", "lock_held"]);
    expect(order).toEqual(["a", "b"]);
    expect(t.store.state.locks.size).toBe(0);
  });

  test("of a branch that loses is given back, whether it waits or is inside", async () => {
    const w = workflow("w", async (ctx) => {
      await ctx.race({
        inside: (c) => c.withLock("x", () => c.sleep("long", "365 days")),
        waiting: (c) => c.withLock("y", () => c.sleep("longer", "365 days")),
        quick: (c) => c.sleep("quick", "1 hour"),
      });
      await ctx.sleep("after", "1 hour");
      return "done";
    });
    const other = workflow("other", async (ctx) => {
      await ctx.withLock("y", () => ctx.sleep("hold", "90 minutes"));
      return ctx.withLock("x", { timeout: "1 minute" }, () => "got x");
    });
    const t = await openEngine(w, other);
    const first = await t.client.start(other);
    await t.clock.settle();
    const run = await t.client.start(w);
    expect(await first.result()).toBe("got x");
    expect(await run.result()).toBe("done");
    expect(t.store.state.locks.size).toBe(0);
  });

  test("is kept while its run is paused, and is granted to a run that is paused", async () => {
    const room = new LockedRoom();
    const visit = workflow("visit", (ctx: Context) => room.visit(ctx));
    const t = await openEngine(visit);
    const [a, b, c] = await startAll(t.client, visit, ["a", "b", "c"]);
    await t.clock.settle();
    await a?.pause();
    await b?.pause();
    await t.clock.advance("1 hour");
    expect(room.visits).toEqual(["a"]);
    await a?.resume();
    await a?.result();
    await t.clock.advance("1 hour");
    expect(room.visits).toEqual(["a"]);
    await b?.resume();
    await c?.result();
    expect(room).toMatchObject({ most: 1, visits: ["a", "b", "c"] });
  });

  test("survives its worker, and a cold replay", async () => {
    const fleet = openFleet();
    const room = new LockedRoom();
    const visit = workflow("visit", (ctx: Context) => room.visit(ctx));
    const client = fleet.client();
    const first = await fleet.forgetful({ workflows: [visit] });
    const runs = await Promise.all(["a", "b", "c"].map((id) => client.start(visit, undefined, { id })));
    await fleet.clock.advance("10s");
    expect(room.visits).toEqual(["a"]);
    await fleet.clock.until(first.stop());
    await fleet.forgetful({ workflows: [visit] });
    for (const run of runs) await fleet.result(run);
    expect(room).toMatchObject({ most: 1, visits: ["a", "b", "c"] });
  });

  test("the newest limit counts", async () => {
    const room = new LockedRoom();
    const visit = workflow("visit", (ctx: Context, limit: number) => room.visit(ctx, { limit }));
    const t = await openEngine(visit);
    const runs = [];
    for (const [id, limit] of [
      ["a", 1],
      ["b", 1],
      ["c", 2],
    ] as const) {
      runs.push(await t.client.start(visit, limit, { id }));
      await t.clock.settle();
    }
    expect([...room.inside]).toEqual(["a", "b"]);
    await Promise.all(runs.map((run) => run.result()));
    expect(room.most).toBe(2);
  });

  test("is refused with bad options before anything is written", async () => {
    const w = workflow("w", async (ctx) => {
      const codes = [];
      for (const attempt of [
        () => ctx.withLock("x", { limit: 0 }, () => 1),
        () => ctx.withLock("x", { limit: 10_001 }, () => 1),
        () => ctx.withLock("", () => 1),
        () => ctx.withLock("x".repeat(201), () => 1),
        () => ctx.withLock("x", {}, undefined as never),
        () => ctx.withLock("x", { timeout: "soon" as never }, () => 1),
      ])
        try {
          await attempt();
          codes.push("none");
        } catch (error) {
          codes.push((error as { code: string }).code);
        }
      return codes;
    });
    const t = await openEngine(w);
    const option = "invalid_option";
    expect(await t.run(w)).toEqual([option, option, "invalid_name", "invalid_name", option, "invalid_duration"]);
  });
});
