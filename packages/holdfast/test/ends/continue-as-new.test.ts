import { type Context, type HoldfastError, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const add = signal<number>("add");

const counter = workflow("counter", async (ctx, input: { rounds: number; total: number }): Promise<number> => {
  const n = await ctx.receive(add);
  const total = input.total + n;
  if (input.rounds === 1) return total;
  return ctx.continueAsNew({ rounds: input.rounds - 1, total });
});

describe("ctx.continueAsNew", () => {
  test("goes on in a fresh run of the same id, and result() follows to the end", async () => {
    const t = await openEngine(counter);
    const run = await t.client.start(counter, { rounds: 3, total: 0 }, { id: "sum" });
    for (const n of [1, 2, 3]) {
      await run.signal(add, n);
      await t.clock.settle();
    }
    expect(await run.result()).toBe(6);
    expect(await t.client.get(counter, "sum").result()).toBe(6);
    const { runs } = await t.client.list({ id: "sum" });
    expect(runs.map(({ status }) => status)).toEqual(["completed", "continued", "continued"]);
    expect(runs.map((one) => one.continuedFrom)).toEqual([runs[1]?.runId, runs[2]?.runId, null]);
    expect(runs.map((one) => one.continuedAs)).toEqual([null, runs[0]?.runId, runs[1]?.runId]);
    expect((await run.history()).map((event) => event.type)).toEqual([
      "run_started",
      "signal_received",
      "run_continued",
    ]);
  });

  test("takes along the signals that were not received, in order and once each", async () => {
    const t = await openEngine(counter);
    const run = await t.client.start(counter, { rounds: 5, total: 0 }, { id: "sum" });
    await Promise.all([1, 10, 100, 1_000, 10_000].map((n) => run.signal(add, n, { id: `add ${n}` })));
    await run.signal(add, 1, { id: "add 1" });
    expect(await run.result()).toBe(11_111);
  });

  test("hands on what a signal says, nothing at all included", async () => {
    const mixed = signal<unknown>("mixed");
    const relay = workflow("relay", async (ctx, seen: unknown[]): Promise<unknown[]> => {
      await ctx.sleep("late", "1h");
      const all = [...seen, await ctx.receive(mixed)];
      return all.length === 4 ? all : ctx.continueAsNew(all);
    });
    const t = await openEngine(relay);
    const run = await t.client.start(relay, [], { id: "relay" });
    await run.signal(mixed);
    for (const payload of [null, false, undefined]) await run.signal(mixed, payload);
    expect(await run.result()).toEqual([true, null, false, true]);
  });

  test("keeps attributes, queue, priority, version and timeout, and starts with an empty history", async () => {
    const chain = workflow(
      { name: "chain", version: "3", queue: "q", priority: 4, timeout: "1h" },
      async (ctx, n: number) => {
        ctx.set({ [`round ${n}`]: n });
        if (n < 2) ctx.continueAsNew(n + 1);
        return ctx.info.historyLength;
      },
    );
    const t = await openEngine(chain);
    const run = await t.client.start(chain, 0, { id: "c", attributes: { customer: "ann" } });
    expect(await run.result()).toBe(1);
    const last = await t.client.get("c").describe();
    expect(last).toMatchObject({
      version: "3",
      queue: "q",
      priority: 4,
      attributes: { customer: "ann", "round 0": 0, "round 1": 1, "round 2": 2 },
      input: 2,
    });
    expect(Number(last.deadlineAt) - Number(last.createdAt)).toBe(3_600_000);
  });

  test("gives every run of a long chain its whole timeout", async () => {
    const chain = workflow({ name: "chain", timeout: "1m" }, async (ctx, n: number) => {
      if (n < 400) ctx.continueAsNew(n + 1);
      await ctx.sleep("nap", "50s");
      return n;
    });
    const t = await openEngine(chain);
    expect(await t.run(chain, 0)).toBe(400);
  });

  test("can be canceled and terminated through the handle of the first run", async () => {
    const endless = workflow("endless", async (ctx): Promise<never> => {
      await ctx.sleep("nap", "1h");
      return ctx.continueAsNew();
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [endless] });
    const client = fleet.client();
    const first = await client.start(endless, undefined, { id: "e" });
    await fleet.clock.advance("5h");
    expect(await first.status()).toBe("continued");
    await first.cancel("enough");
    await expect(fleet.result(first)).rejects.toMatchObject({ code: "run_canceled", data: { reason: "enough" } });
    const second = await client.start(endless, undefined, { id: "e", ifClosed: "start" });
    await fleet.clock.advance("5h");
    await second.terminate("really");
    await expect(fleet.result(second)).rejects.toMatchObject({ code: "run_terminated", data: { reason: "really" } });
    expect(await client.get("e").status()).toBe("terminated");
  });

  test("works from inside parallel and race, whatever becomes of the other branches", async () => {
    const inside = workflow("inside", async (ctx, how: "done" | "all" | "collect" | "race"): Promise<string> => {
      if (how === "done") return "done";
      const leave = (): never => ctx.continueAsNew("done");
      const branches = [leave, () => ctx.sleep("nap", "1 day")];
      if (how === "race") await ctx.race(branches);
      else await ctx.parallel(branches, { onError: how === "collect" ? "collect-all" : "fail-fast" });
      return "not reached";
    });
    const t = await openEngine(inside);
    const began = t.clock.now();
    for (const how of ["all", "collect", "race"] as const) expect(await t.run(inside, how)).toBe("done");
    expect(t.clock.now()).toBe(began);
  });

  test("refuses an input that cannot be stored by failing the run with the reason", async () => {
    const bad = workflow("bad", async (ctx, _input: unknown) => ctx.continueAsNew({ fn: () => 1 }));
    const t = await openEngine(bad);
    await expect(t.run(bad)).rejects.toMatchObject({ cause: { code: "unserializable_value" } });
  });
});

describe("ctx.continueAsNew decides at once", () => {
  const HOPS = 2;

  test.for<{ name: string; code: (ctx: Context, hop: number) => Promise<unknown> }>([
    {
      name: "code that catches it and returns does not undo it",
      code: async (ctx, hop) => {
        try {
          if (hop < HOPS) ctx.continueAsNew(hop + 1);
        } catch {
          return "swallowed";
        }
        return hop;
      },
    },
    {
      name: "code that catches it and throws something else does not undo it",
      code: async (ctx, hop) => {
        try {
          if (hop < HOPS) ctx.continueAsNew(hop + 1);
        } catch {
          throw new Error("swallowed");
        }
        return hop;
      },
    },
    {
      name: "nor does a branch that catches it, nor one that goes on beside it",
      code: async (ctx, hop) => {
        await ctx.parallel([
          async () => {
            try {
              if (hop < HOPS) ctx.continueAsNew(hop + 1);
            } catch {}
          },
          () => ctx.sleep("nap", "1 day"),
        ]);
        return hop;
      },
    },
    {
      name: "nor code that catches it and waits for something outside",
      code: async (ctx, hop) => {
        try {
          if (hop < HOPS) ctx.continueAsNew(hop + 1);
        } catch {
          // tidy-allow: the mistake that this program makes is to wait for something that is not a ctx operation
          await new Promise((resolve) => setImmediate(resolve));
        }
        return hop;
      },
    },
  ])("$name", async ({ code }) => {
    const relay = workflow("relay", code);
    const t = await openEngine(relay);
    expect(await t.run(relay, 0)).toBe(HOPS);
  });

  test("what is pending is withdrawn, what is asked for afterwards is refused, and nothing of either is executed", async () => {
    const log: string[] = [];
    const relay = workflow("relay", async (ctx, hop: number): Promise<number> => {
      if (hop === 1) return hop;
      await ctx.step("first", () => log.push("first"));
      void ctx.step("pending", () => log.push("pending"), { compensate: () => log.push("undo pending") });
      try {
        return ctx.continueAsNew(hop + 1);
      } finally {
        for (const ask of [() => ctx.step("late", () => log.push("late")), () => ctx.sleep("nap", "1h")])
          try {
            await ask();
          } catch (error) {
            log.push((error as HoldfastError).code);
          }
      }
    });
    const t = await openEngine(relay);
    const run = await t.client.start(relay, 0);
    expect(await run.result()).toBe(1);
    expect(log).toEqual(["first", "run_ended", "run_ended"]);
  });

  test("but not when it is called by a branch that has lost", async () => {
    const relay = workflow("relay", async (ctx, hop: number) => {
      const stubborn = async (branch: Context): Promise<void> => {
        try {
          await branch.sleep("nap", "1h");
        } catch {
          branch.continueAsNew(hop + 1);
        }
      };
      await ctx.race([(branch) => branch.step("quick", () => 1), stubborn]);
      return hop;
    });
    const t = await openEngine(relay);
    expect(await t.run(relay, 0)).toBe(0);
  });

  test("but not for a run that is already being compensated", async () => {
    const log: string[] = [];
    const relay = workflow("relay", async (ctx, hop: number) => {
      await ctx.step("charge", () => 1, { compensate: () => void log.push(`refund ${hop}`) });
      const stubborn = (async (): Promise<void> => {
        try {
          await ctx.sleep("nap", "1h");
        } catch {
          ctx.continueAsNew(hop + 1);
        }
      })();
      stubborn.catch(() => {});
      await ctx.step("fails", () => Promise.reject(new Error("no stock")), { retry: "none" });
    });
    const t = await openEngine(relay);
    await expect(t.run(relay, 0)).rejects.toMatchObject({ cause: { message: "no stock" } });
    expect(log).toEqual(["refund 0"]);
  });
});
