import { type HoldfastError, RunCanceledError, RunTerminatedError, signal, workflow } from "holdfast";
import { crashEverywhere, type TestEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openEngine } from "../lab/fleet.ts";
import { openWorld } from "../lab/world.ts";

const POLICIES = ["cancel", "terminate", "abandon"] as const;
const ENDS = { cancel: "canceled", terminate: "terminated", abandon: "sleeping" } as const;

const slow = workflow("slow", async (ctx) => ctx.sleep("long", "30 days"));
const go = signal("go");

/** The status of the newest run of an id, once everything has settled. */
async function statusOf(t: TestEngine, id: string): Promise<string> {
  await t.clock.settle();
  return t.client.get(id).status();
}

describe("the end of a parent", () => {
  const endings = {
    completes: async (): Promise<unknown> => "done",
    fails: async (): Promise<unknown> => {
      throw new Error("no");
    },
  };

  for (const [how, ending] of Object.entries(endings))
    test.each(POLICIES)(`that ${how} does to its children what their policy says: %s`, async (onParentClose) => {
      const main = workflow("main", async (ctx) => {
        await ctx.startChild(slow, undefined, { id: "kid", onParentClose });
        return ending();
      });
      const t = await openEngine(main, slow);
      await t.run(main).catch(() => {});
      expect(await statusOf(t, "kid")).toBe(ENDS[onParentClose]);
      expect(t.store.state.debts.size).toBe(0);
    });

  test.each(POLICIES)("that is terminated does what the policy says: %s", async (onParentClose) => {
    const main = workflow("main", async (ctx) => ctx.child(slow, undefined, { id: "kid", onParentClose }));
    const t = await openEngine(main, slow);
    const run = await t.client.start(main);
    await t.clock.settle();
    await run.terminate();
    expect(await statusOf(t, "kid")).toBe(ENDS[onParentClose]);
  });

  test.each(POLICIES)("that is replaced does what the policy says: %s", async (onParentClose) => {
    const main = workflow("main", async (ctx, n: number) =>
      n === 1 ? ctx.child(slow, undefined, { id: "kid", onParentClose }) : undefined,
    );
    const t = await openEngine(main, slow);
    await t.client.start(main, 1, { id: "m" });
    await t.clock.settle();
    await t.client.start(main, 2, { id: "m", ifRunning: "replace" });
    expect(await statusOf(t, "kid")).toBe(ENDS[onParentClose]);
  });

  test.each(POLICIES)("that continues as new counts as its end: %s", async (onParentClose) => {
    const main = workflow("main", async (ctx, n: number): Promise<string> => {
      if (n === 2) return "second";
      await ctx.startChild(slow, undefined, { id: "kid", onParentClose });
      return ctx.continueAsNew(2);
    });
    const t = await openEngine(main, slow);
    expect(await t.run(main, 1)).toBe("second");
    expect(await statusOf(t, "kid")).toBe(ENDS[onParentClose]);
  });

  test("that times out before it has begun to do anything else cancels its children", async () => {
    const main = workflow({ name: "main", timeout: "1h" }, async (ctx) => ctx.child(slow, undefined, { id: "kid" }));
    const t = await openEngine(main, slow);
    await expect(t.run(main)).rejects.toMatchObject({ code: "run_timed_out" });
    expect(await statusOf(t, "kid")).toBe("canceled");
  });

  test("reaches the children of its children", async () => {
    const middle = workflow("middle", async (ctx) => ctx.child(slow, undefined, { id: "grandchild" }));
    const main = workflow("main", async (ctx) => {
      await ctx.startChild(middle, undefined, { id: "kid", onParentClose: "terminate" });
      await ctx.sleep("a while", "1m");
    });
    const t = await openEngine(main, middle, slow);
    await t.run(main);
    expect([await statusOf(t, "kid"), await statusOf(t, "grandchild")]).toEqual(["terminated", "canceled"]);
  });

  test("reaches a child that has continued as new", async () => {
    const moving = workflow("moving", async (ctx, n: number): Promise<void> => {
      await ctx.sleep("a while", n === 1 ? "1m" : "30 days");
      return ctx.continueAsNew(n + 1);
    });
    for (const onParentClose of ["cancel", "terminate"] as const) {
      const main = workflow("main", async (ctx) => {
        await ctx.startChild(moving, 1, { id: "kid", onParentClose });
        await ctx.sleep("longer", "1h");
      });
      const t = await openEngine(main, moving);
      await t.run(main);
      expect(await statusOf(t, "kid")).toBe(ENDS[onParentClose]);
    }
  });
});

describe("the reason that a child is told", () => {
  /** In the error of the run and in its history. */
  async function reasonsOf(t: TestEngine, id: string): Promise<unknown[]> {
    await t.clock.settle();
    const error = await t.client
      .get(id)
      .result()
      .catch((thrown: HoldfastError) => thrown);
    const request = (await t.client.get(id).history()).find(({ type }) => type === "cancel_requested");
    return [(error as HoldfastError).data["reason"], request?.reason];
  }

  const middle = workflow("middle", async (ctx) => ctx.child(slow, undefined, { id: "grandchild" }));
  const parents = {
    "ends at once": workflow("main", async (ctx) => ctx.child(middle, undefined, { id: "kid" })),
    "cleans up first": workflow("main", async (ctx) => {
      try {
        await ctx.child(middle, undefined, { id: "kid" });
      } finally {
        await ctx.uncancelable((c) => c.sleep("clean up", "1h"));
      }
    }),
    "undoes what the child has done": workflow("main", async (ctx) => {
      await ctx.child(middle, undefined, { id: "kid", compensate: () => {} });
    }),
  };
  test.each(Object.entries(parents))("names its parent and that one's reason: the parent %s", async (_, main) => {
    const t = await openEngine(main, middle, slow);
    const run = await t.client.start(main, undefined, { id: "top" });
    await t.clock.settle();
    await run.cancel("the customer has left");
    const told = 'parent "top" was canceled: the customer has left';
    expect(await reasonsOf(t, "kid")).toEqual([told, told]);
    const toldOn = `parent "kid" was canceled: ${told}`;
    expect(await reasonsOf(t, "grandchild")).toEqual([toldOn, toldOn]);
    await expect(run.result()).rejects.toMatchObject({ data: { reason: "the customer has left" } });
  });

  test("says how its parent has ended, or that it was given up", async () => {
    const main = workflow({ name: "main", timeout: "2h" }, async (ctx, how: string) => {
      if (how === "race")
        await ctx.race([(c) => c.child(slow, undefined, { id: how }), (c) => c.sleep("a while", "1m")]);
      else await ctx.startChild(slow, undefined, { id: how });
      if (how === "failed") throw new Error("no");
      if (how === "continued") ctx.continueAsNew("completed");
      if (how !== "completed") await ctx.receive(go, { timeout: "1 day" });
    });
    const t = await openEngine(main, slow);
    const told: Record<string, unknown> = {};
    for (const how of ["completed", "failed", "continued", "race", "canceled", "terminated", "late"]) {
      const run = await t.client.start(main, how, { id: "top", ifClosed: "start" });
      await t.clock.advance("2m");
      if (how === "canceled") await run.cancel();
      if (how === "terminated") await run.terminate("enough");
      if (how === "late") await t.clock.advance("3h");
      told[how] = (await reasonsOf(t, how))[0];
      await run.terminate();
    }
    expect(told).toEqual({
      completed: 'parent "top" has completed',
      failed: 'parent "top" has failed',
      continued: 'parent "top" has continued as new',
      race: 'parent "top" does not wait for it any more',
      canceled: 'parent "top" was canceled',
      terminated: 'parent "top" was terminated: enough',
      late: 'parent "top" has timed out',
    });
  });

  test("is the reason of a termination, too, and is cut to what a reason may be", async () => {
    const main = workflow("main", async (ctx) => {
      const kids = [ctx.child(slow, undefined, { id: "kid", onParentClose: "terminate" }), ctx.child(slow, undefined)];
      await Promise.all(kids);
    });
    const t = await openEngine(main, slow);
    for (const reason of ["enough", "x".repeat(4_000)]) {
      const run = await t.client.start(main, undefined, { id: "top", ifClosed: "start" });
      await t.clock.settle();
      await run.cancel(reason);
      await t.clock.settle();
      const { runs } = await t.client.list({ parent: run.runId, status: "canceled" });
      const [, told] = await reasonsOf(t, runs[0]?.id as string);
      expect(told).toMatch(/^parent "top" was canceled: (enough$|x{100})/);
      expect((told as string).length).toBeLessThanOrEqual(4_000);
      expect((await reasonsOf(t, "kid"))[0]).toMatch(/^parent "top" was canceled: (enough$|x{100})/);
      expect(await t.client.get("kid").status()).toBe("terminated");
    }
  });
});

describe("a child that its parent gives up", () => {
  test.each(POLICIES)("in a lost race is closed as its policy says, while the parent goes on: %s", async (policy) => {
    const main = workflow("main", async (ctx) => {
      const { winner } = await ctx.race({
        kid: (c) => c.child(slow, undefined, { id: "kid", onParentClose: policy }),
        timer: (c) => c.sleep("timer", "1m"),
      });
      await ctx.receive(go);
      return winner;
    });
    const t = await openEngine(main, slow);
    const run = await t.client.start(main);
    await t.clock.advance("2m");
    expect(await statusOf(t, "kid")).toBe(ENDS[policy]);
    expect(await run.status()).toBe("waiting");
    await run.signal(go);
    expect(await run.result()).toBe("timer");
    const types = (await run.history()).map(({ type }) => type);
    expect(types).toContain("op_canceled");
  });

  test("because it is canceled itself is canceled, too", async () => {
    const main = workflow("main", async (ctx) => ctx.child(slow, undefined, { id: "kid" }));
    const t = await openEngine(main, slow);
    const run = await t.client.start(main);
    await t.clock.settle();
    await run.cancel("enough");
    await expect(run.result()).rejects.toThrow(RunCanceledError);
    expect(await statusOf(t, "kid")).toBe("canceled");
  });

  test("can clean up in its own time, and the parent is told nothing more", async () => {
    const tidy = workflow("tidy", async (ctx) => {
      try {
        await ctx.sleep("long", "30 days");
      } finally {
        await ctx.uncancelable((c) => c.sleep("tidying", "1h"));
      }
    });
    const main = workflow("main", async (ctx) => {
      await ctx.race([(c) => c.child(tidy, undefined, { id: "kid" }), (c) => c.sleep("timer", "1m")]);
      await ctx.sleep("on", "2h");
      return "on";
    });
    const t = await openEngine(main, tidy);
    const run = await t.client.start(main);
    expect(await run.result()).toBe("on");
    expect(await statusOf(t, "kid")).toBe("canceled");
    const types = (await run.history()).map(({ type }) => type);
    expect(types.filter((type) => type.startsWith("child_"))).toEqual(["child_started"]);
  });

  test("is canceled wherever the worker dies", async () => {
    const tidied = new Set<string>();
    const effects = { reset: () => tidied.clear(), snapshot: () => tidied.size };
    const tidy = workflow("tidy", async (ctx) => {
      try {
        await ctx.sleep("long", "30 days");
      } finally {
        await ctx.uncancelable((c) => c.step("tidy up", (s) => tidied.add(s.idempotencyKey).size));
      }
    });
    const main = workflow("main", async (ctx) => {
      const { winner } = await ctx.race({ kid: (c) => c.child(tidy), timer: (c) => c.sleep("timer", "1m") });
      await ctx.sleep("on", "1h");
      return [winner, tidied.size];
    });
    const report = await crashEverywhere(main, undefined, { workflows: [tidy], effects });
    expect(report.output).toEqual(["timer", 1]);
  });

  test("rejects its handle's result, when somebody terminates it", async () => {
    const main = workflow("main", async (ctx) => {
      const kid = await ctx.startChild(slow, undefined, { id: "kid" });
      return kid.result().catch((error: unknown) => error instanceof RunTerminatedError);
    });
    const t = await openEngine(main, slow);
    const run = await t.client.start(main);
    await t.clock.settle();
    await t.client.get("kid").terminate("now");
    expect(await run.result()).toBe(true);
  });
});

describe("a child that fails just before its parent's end reaches it, and is retried at once", () => {
  test.each([
    ["cancel", "inbox.deliver"],
    ["terminate", "runs.terminate"],
  ] as const)("is closed all the same: %s", async (onParentClose, call) => {
    const world = openWorld();
    const outside = world.client({});
    let broken = true;
    const kid = workflow("kid", async (ctx) => {
      await ctx.receive(go);
      await ctx.step("work", () => (broken ? Promise.reject(new Error("no")) : "done"), { retry: "none" });
      await ctx.sleep("long", "30 days");
    });
    const main = workflow("main", async (ctx) => {
      await ctx.startChild(kid, undefined, { id: "kid", onParentClose });
    });
    const failAndRetry = async <T>(closes: boolean, reach: () => Promise<T>): Promise<T> => {
      if (!closes || !broken) return reach();
      await outside.get("kid").signal(go);
      await expect(outside.get("kid").result()).rejects.toMatchObject({ code: "run_failed" });
      const answer = await reach();
      broken = false;
      await outside.get("kid").retry();
      return answer;
    };
    const client = world.client({
      hooks: {
        "inbox.deliver": (params, reach) =>
          failAndRetry(call === "inbox.deliver" && params.messages.some(({ kind }) => kind === "cancel"), reach),
        "runs.terminate": (_, reach) => failAndRetry(call === "runs.terminate", reach),
      },
    });
    await world.worker(client, { workflows: [main], cacheSize: 0 });
    await world.worker(outside, { workflows: [kid], cacheSize: 0 });
    await world.result(await outside.start(main));
    await world.clock.advance("1m");
    expect([broken, await outside.get("kid").status()]).toEqual([false, ENDS[onParentClose]]);
  });
});
