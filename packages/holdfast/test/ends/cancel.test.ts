import { type Context, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { deferred } from "../lab/deferred.ts";
import { openEngine, openFleet } from "../lab/fleet.ts";

const DAY_MS = 86_400_000;

const nap = workflow("nap", async (ctx, days: number) => {
  await ctx.sleep("nap", { days });
  return "rested";
});

describe("cancel", () => {
  test("ends a sleeping run at once, with its reason, and result() rejects with RunCanceledError", async () => {
    const t = await openEngine(nap);
    const run = await t.client.start(nap, 7, { id: "n" });
    await t.clock.advance("1 day");
    await run.cancel("the guest left");
    await expect(run.result()).rejects.toMatchObject({
      name: "RunCanceledError",
      code: "run_canceled",
      message: expect.stringMatching(/^Run "n" of workflow "nap" .* was canceled: the guest left$/),
      data: { reason: "the guest left" },
    });
    expect(await run.describe()).toMatchObject({ status: "canceled", compensation: null });
    expect((await run.history()).map((event) => [event.type, event.reason])).toEqual([
      ["run_started", undefined],
      ["timer_created", undefined],
      ["cancel_requested", "the guest left"],
      ["run_canceled", undefined],
    ]);
  });

  test("aborts a step that runs, without waiting for it, and the run ends canceled", async () => {
    const reasons: unknown[] = [];
    const busy = workflow("busy", (ctx) =>
      ctx.step("busy", (s) => {
        s.signal.addEventListener("abort", () => reasons.push(s.signal.reason));
        return new Promise<never>(() => {});
      }),
    );
    const fleet = openFleet();
    await fleet.worker({ workflows: [busy] });
    const run = await fleet.client().start(busy);
    await fleet.clock.settle();
    await run.cancel();
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    expect(reasons).toMatchObject([{ code: "run_canceled" }]);
  });

  test("aborts ctx.abortSignal with the same error that the code sees", async () => {
    const seen: unknown[] = [];
    const watch = workflow("watch", async (ctx) => {
      ctx.abortSignal.addEventListener("abort", () => seen.push(ctx.abortSignal.reason));
      await ctx.sleep("nap", "1h").catch((error) => {
        seen.push(error);
        throw error;
      });
    });
    const t = await openEngine(watch);
    const run = await t.client.start(watch);
    await t.clock.settle();
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "run_canceled" });
    expect(seen).toHaveLength(2);
    expect(seen[0]).toBe(seen[1]);
  });

  test("can be answered by the code: what it returns is the result, what else it throws is a failure", async () => {
    const polite = workflow("polite", async (ctx, answer: "return" | "throw" | "wrap") => {
      try {
        await ctx.sleep("nap", "1h");
      } catch (error) {
        if (answer === "return") return "half a nap";
        throw answer === "wrap" ? new Error("gave up", { cause: error }) : new Error("broke");
      }
      return "not reached";
    });
    const t = await openEngine(polite);
    const outcome = async (answer: "return" | "throw" | "wrap") => {
      const run = await t.client.start(polite, answer);
      await t.clock.settle();
      await run.cancel();
      await run.result().catch(() => {});
      return run.status();
    };
    expect(await outcome("return")).toBe("completed");
    expect(await outcome("throw")).toBe("failed");
    expect(await outcome("wrap")).toBe("canceled");
  });

  test("keeps its code and reason, whatever error the code wraps it in; that error is the cause", async () => {
    const wrapping = workflow("wrapping", async (ctx) => {
      try {
        await ctx.step("work", () => 1, { compensate: () => {} });
        await ctx.sleep("nap", "1 day");
      } catch (error) {
        throw new Error("gave up", { cause: new TypeError("no nap", { cause: error }) });
      }
    });
    const t = await openEngine(wrapping);
    const run = await t.client.start(wrapping, undefined, { id: "c" });
    await t.clock.settle();
    await run.cancel("over budget");
    const recorded = { code: "run_canceled", data: { reason: "over budget" }, cause: { message: "gave up" } };
    await expect(run.result()).rejects.toMatchObject({
      code: "run_canceled",
      data: { reason: "over budget" },
      message: expect.stringContaining("over budget"),
      cause: recorded,
    });
    expect(await run.describe()).toMatchObject({ status: "canceled", error: recorded, compensation: "compensated" });
    expect((await t.client.why("c")).reason).toContain("over budget");
  });

  test("by a timeout keeps its code, with what the code threw as cause", async () => {
    const slow = workflow("slow", async (ctx) => {
      await ctx.sleep("nap", "1 day").catch(() => {
        throw new Error("gave up");
      });
    });
    const t = await openEngine(slow);
    const run = await t.client.start(slow, undefined, { timeout: "1h" });
    await expect(run.result()).rejects.toMatchObject({ code: "run_timed_out" });
    expect((await run.describe()).error).toMatchObject({ code: "run_timed_out", cause: { message: "gave up" } });
  });

  test("lets nothing new begin except in ctx.uncancelable, where cleaning up takes its time", async () => {
    const done: string[] = [];
    const clean = async (ctx: Context): Promise<void> => {
      await ctx.step("save", () => done.push("saved"));
      await ctx.sleep("settle", "1h");
      await ctx.step("close", () => done.push("closed"));
    };
    const tidy = workflow("tidy", async (ctx) => {
      try {
        await ctx.sleep("work", "1 day");
      } catch (error) {
        await ctx.step("outside", () => done.push("outside")).catch((refused) => done.push(refused.code));
        await ctx.uncancelable(clean);
        throw error;
      }
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [tidy] });
    const run = await fleet.client().start(tidy);
    await fleet.clock.settle();
    await run.cancel();
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    expect(done.filter((entry) => entry !== "run_canceled")).toEqual(["saved", "closed"]);
    expect(done).toContain("run_canceled");
  });

  test("does not reach what began in ctx.uncancelable before it came", async () => {
    const step = deferred<string>();
    const shield = workflow("shield", async (ctx) => {
      const kept = await ctx.uncancelable((c) => c.step("kept", () => step.promise));
      const rest = await ctx.sleep("rest", "1h").catch((error) => error.code);
      return [kept, rest];
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [shield] });
    const run = await fleet.client().start(shield);
    await fleet.clock.settle();
    await run.cancel();
    await fleet.clock.settle();
    expect(await run.status()).toBe("running");
    step.resolve("kept");
    expect(await fleet.result(run)).toEqual(["kept", "run_canceled"]);
  });

  test("ends a run that has not begun without calling its code, whenever it was to begin", async () => {
    let calls = 0;
    const later = workflow("later", async () => ++calls);
    const fleet = openFleet();
    const client = fleet.client();
    const began = fleet.clock.now();
    const delayed = await client.start(later, undefined, { delay: "1 day" });
    const unclaimed = await client.start(later);
    await delayed.cancel("never mind");
    await unclaimed.cancel();
    await fleet.worker({ workflows: [later] });
    await expect(fleet.result(delayed)).rejects.toMatchObject({ code: "run_canceled", data: { reason: "never mind" } });
    await expect(fleet.result(unclaimed)).rejects.toMatchObject({ code: "run_canceled" });
    expect(fleet.clock.now()).toBe(began);
    expect(calls).toBe(0);
  });

  test("of a run that has ended changes nothing, and of one that does not exist says so", async () => {
    const t = await openEngine(nap);
    const run = await t.client.start(nap, 1);
    await run.result();
    await run.cancel();
    expect(await run.status()).toBe("completed");
    await expect(t.client.get("nobody").cancel()).rejects.toMatchObject({ code: "run_not_found" });
  });

  test("twice is the same as once", async () => {
    const t = await openEngine(nap);
    const run = await t.client.start(nap, 1);
    await t.clock.settle();
    await Promise.all([run.cancel("first"), run.cancel("second")]);
    await expect(run.result()).rejects.toMatchObject({ data: { reason: "first" } });
  });
});

describe("terminate", () => {
  test("ends the run at once without giving its code a chance, and aborts its steps", async () => {
    const log: string[] = [];
    const busy = workflow("busy", async (ctx) => {
      try {
        await ctx.step(
          "busy",
          (s) => {
            s.signal.addEventListener("abort", () => log.push(s.signal.reason.code));
            return new Promise<never>(() => {});
          },
          { compensate: () => log.push("compensated") },
        );
      } catch {
        log.push("caught");
      }
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [busy] });
    const run = await fleet.client().start(busy, undefined, { id: "b" });
    await fleet.clock.settle();
    await run.terminate("it went mad");
    await expect(fleet.result(run)).rejects.toMatchObject({
      name: "RunTerminatedError",
      code: "run_terminated",
      data: { id: "b", reason: "it went mad" },
    });
    expect(log).toEqual(["lease_lost"]);
    expect(await run.describe()).toMatchObject({ status: "terminated", compensation: null });
    expect((await run.history()).at(-1)).toMatchObject({ type: "run_terminated" });
  });

  test("works when no worker is there, leaves closed runs alone, and says when there is no such run", async () => {
    const fleet = openFleet();
    const client = fleet.client();
    const run = await client.start(nap, 1);
    await run.terminate();
    await run.terminate("again");
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_terminated", cause: { message: "terminated" } });
    await expect(client.get("nobody").terminate()).rejects.toMatchObject({ code: "run_not_found" });
  });
});

describe("the timeout of a run", () => {
  test("ends it as timed out, wherever it waits, and result() rejects with RunTimedOutError", async () => {
    const short = workflow({ name: "short", timeout: "2 days" }, (ctx) => ctx.sleep("nap", "7 days"));
    const t = await openEngine(short);
    const began = t.clock.now();
    const run = await t.client.start(short, undefined, { id: "s" });
    expect((await run.describe()).deadlineAt).toEqual(new Date(began + 2 * DAY_MS));
    await expect(run.result()).rejects.toMatchObject({
      name: "RunTimedOutError",
      code: "run_timed_out",
      kind: "Timeout",
      message: expect.stringContaining("did not end within its timeout"),
    });
    expect(t.clock.now() - began).toBe(2 * DAY_MS);
    expect(await run.status()).toBe("timed_out");
    expect((await run.history()).at(-1)).toMatchObject({ type: "run_timed_out" });
  });

  test("given at the start replaces that of the workflow, and aborts what runs like a cancel does", async () => {
    const reasons: string[] = [];
    const long = workflow({ name: "long", timeout: "365 days" }, (ctx) =>
      ctx.step("busy", (s) => {
        s.signal.addEventListener("abort", () => reasons.push(s.signal.reason.code));
        return new Promise<never>(() => {});
      }),
    );
    const fleet = openFleet();
    await fleet.worker({ workflows: [long] });
    const began = fleet.clock.now();
    const run = await fleet.client().start(long, undefined, { timeout: "1h" });
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_timed_out" });
    expect(fleet.clock.now() - began).toBe(3_600_000);
    expect(reasons).toEqual(["run_timed_out"]);
  });

  test("counts from the start, also while no worker is there, and lets the code clean up", async () => {
    const cleaned: string[] = [];
    const short = workflow({ name: "short", timeout: "1h" }, async (ctx) => {
      try {
        await ctx.sleep("nap", "1 day");
      } finally {
        await ctx.uncancelable(async (c) => {
          await c.sleep("wind down", "3h");
          await c.step("clean", () => cleaned.push("clean"));
        });
      }
    });
    const fleet = openFleet();
    const worker = await fleet.worker({ workflows: [short] });
    const run = await fleet.client().start(short);
    await fleet.clock.settle();
    await fleet.clock.until(worker.stop());
    await fleet.clock.advance("5h");
    expect(await run.status()).toBe("sleeping");
    const began = fleet.clock.now();
    const calls = fleet.calls;
    await fleet.worker({ workflows: [short], lease: "30s" });
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_timed_out" });
    expect(cleaned).toEqual(["clean"]);
    expect(fleet.clock.now() - began).toBe(3 * 3_600_000);
    // Heartbeats and sweeps of three hours, and not a claim after another while it winds down.
    expect(fleet.store.calls["runs.claim"]).toBeLessThan(10);
    expect(fleet.calls - calls).toBeLessThan(3_000);
  });

  test("of a run that nobody takes up is noticed by the workers of others", async () => {
    const lonely = workflow({ name: "lonely", timeout: "1h" }, async () => 1);
    const fleet = openFleet();
    await fleet.worker({ workflows: [nap], lease: "10s" });
    const run = await fleet.client().start(lonely);
    await expect(fleet.result(run)).rejects.toMatchObject({
      code: "run_timed_out",
      cause: { message: "The timeout passed while no worker could take the run." },
    });
  });
});
