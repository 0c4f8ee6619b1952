import { type CompensationInfo, NonRetryableError, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { deferred } from "../lab/deferred.ts";
import { openEngine, openFleet } from "../lab/fleet.ts";

/** A compensation that records what it received. */
function undoing(log: string[], name: string) {
  return (result: unknown, { outcome }: CompensationInfo): void => {
    log.push(`undo ${name}: ${outcome} ${String(result)}`);
  };
}

describe("compensation", () => {
  test("is tried ten times, after 1 s, 2 s … up to a minute, whatever it throws and whatever the step's own retry says", async () => {
    const at: number[] = [];
    const charge = workflow("charge", async (ctx) => {
      await ctx.step("charge", () => "paid", {
        retry: "none",
        retryIf: "never",
        compensate: () => {
          at.push(t.clock.now());
          throw new TypeError("bank gone");
        },
      });
      throw new Error("address unknown");
    });
    const t = await openEngine(charge);
    await t.run(charge).catch(() => {});
    const delaysS = at.slice(1).map((ms, i) => (ms - (at[i] as number)) / 1_000);
    const wanted = [1, 2, 4, 8, 16, 32, 60, 60, 60];
    expect(delaysS).toHaveLength(wanted.length);
    wanted.forEach((seconds, i) => {
      expect(delaysS[i]).toBeGreaterThanOrEqual(seconds * 0.75);
      expect(delaysS[i]).toBeLessThanOrEqual(seconds * 1.25);
    });
  });

  test("gives up at once when it throws a NonRetryableError", async () => {
    let attempts = 0;
    const charge = workflow("charge", async (ctx) => {
      ctx.compensate("refund", () => {
        attempts += 1;
        throw new NonRetryableError("the account is closed");
      });
      throw new Error("address unknown");
    });
    const t = await openEngine(charge);
    await t.run(charge).catch(() => {});
    expect(attempts).toBe(1);
  });

  test("undoes in reverse order what was done, and the run keeps the original error and says compensated", async () => {
    const log: string[] = [];
    const saga = workflow("saga", async (ctx) => {
      for (const name of ["reserve", "charge", "ship"])
        await ctx.step(name, () => `${name}d`, { compensate: undoing(log, name) });
      throw new Error("address unknown");
    });
    const t = await openEngine(saga);
    const run = await t.client.start(saga);
    await expect(run.result()).rejects.toMatchObject({ code: "run_failed", cause: { message: "address unknown" } });
    expect(log).toEqual([
      "undo ship: completed shipd",
      "undo charge: completed charged",
      "undo reserve: completed reserved",
    ]);
    expect(await run.describe()).toMatchObject({
      status: "failed",
      compensation: "compensated",
      error: { message: "address unknown" },
    });
    expect((await run.history()).map(({ type, op }) => (op === null ? type : `${type} ${op}`))).toEqual([
      "run_started",
      ...["reserve", "charge", "ship"].flatMap((op) => [`step_started ${op}`, `step_completed ${op}`]),
      ...["ship", "charge", "reserve"].map((op) => `step_completed compensate:${op}`),
      "run_failed",
    ]);
  });

  test("includes the step that failed, which is told so, and leaves out what never began", async () => {
    const log: string[] = [];
    const saga = workflow("saga", async (ctx) => {
      await ctx.step("reserve", () => "ok", { compensate: undoing(log, "reserve") });
      await ctx.step("charge", () => Promise.reject(new Error("declined")), {
        retry: { attempts: 2, fixed: "1s" },
        compensate: undoing(log, "charge"),
      });
      await ctx.step("ship", () => "ok", { compensate: undoing(log, "ship") });
    });
    const t = await openEngine(saga);
    await expect(t.run(saga)).rejects.toMatchObject({ cause: { message: "declined", attempts: 2 } });
    expect(log).toEqual(["undo charge: failed undefined", "undo reserve: completed ok"]);
  });

  test("does not happen when the run completes, nor when the code has caught the error", async () => {
    const log: string[] = [];
    const saga = workflow("saga", async (ctx) => {
      await ctx.step("charge", () => 1, { compensate: undoing(log, "charge") });
      await ctx.step("bad", () => Promise.reject(new Error("no")), { retry: "none" }).catch(() => {});
      return "done";
    });
    const t = await openEngine(saga);
    const run = await t.client.start(saga);
    expect(await run.result()).toBe("done");
    expect(log).toEqual([]);
    expect((await run.describe()).compensation).toBeNull();
  });

  test("is given the idempotency key of the step, the same at every attempt", async () => {
    const keys: string[] = [];
    const saga = workflow("saga", async (ctx) => {
      await ctx.step("charge", (s) => keys.push(s.idempotencyKey), {
        compensate: (_, c) => {
          keys.push(c.idempotencyKey);
          if (c.attempt < 3) throw new Error("bank closed");
        },
      });
      throw new Error("stop");
    });
    const t = await openEngine(saga);
    await expect(t.run(saga)).rejects.toMatchObject({ cause: { message: "stop" } });
    expect(keys).toHaveLength(4);
    expect(new Set(keys).size).toBe(1);
  });

  test("has retries of its own, whatever those of the step, as durable timers during which the run is compensating", async () => {
    let bankIsOpen = false;
    const saga = workflow("saga", async (ctx) => {
      await ctx.step("charge", () => 1, {
        retry: "none",
        compensate: () => {
          if (!bankIsOpen) throw new Error("bank closed");
        },
      });
      throw new Error("stop");
    });
    const fleet = openFleet();
    const first = await fleet.worker({ workflows: [saga] });
    const run = await fleet.client().start(saga);
    await fleet.clock.advance("4s");
    expect(await run.describe()).toMatchObject({
      status: "compensating",
      waitingFor: ["compensate:charge"],
      workerId: null,
    });
    await fleet.clock.until(first.stop());
    bankIsOpen = true;
    await fleet.worker({ workflows: [saga] });
    await expect(fleet.result(run)).rejects.toMatchObject({
      message: expect.stringMatching(/ failed: Error: stop$/),
      data: { compensation: "compensated" },
      cause: { message: "stop" },
    });
    expect(await run.describe()).toMatchObject({ status: "failed", compensation: "compensated" });
  });

  test("that fails for good does not keep the others from running, and the run says compensation_failed", async () => {
    const log: string[] = [];
    const saga = workflow("saga", async (ctx) => {
      await ctx.step("reserve", () => 1, { compensate: undoing(log, "reserve") });
      await ctx.step("charge", () => 2, { compensate: () => Promise.reject(new Error("bank gone")) });
      await ctx.step("ship", () => 3, { compensate: undoing(log, "ship") });
      throw new Error("stop");
    });
    const t = await openEngine(saga);
    const run = await t.client.start(saga);
    await expect(run.result()).rejects.toMatchObject({
      code: "run_failed",
      message: expect.stringMatching(/ failed, and its compensation failed \(see steps\(\)\): Error: stop$/),
      data: { compensation: "compensation_failed" },
      cause: { message: "stop" },
    });
    // A later caller reads it from the store, and gets the same.
    await expect(t.client.get(run.id).result()).rejects.toMatchObject({
      data: { compensation: "compensation_failed" },
    });
    expect(log).toEqual(["undo ship: completed 3", "undo reserve: completed 1"]);
    expect(await run.describe()).toMatchObject({
      status: "failed",
      compensation: "compensation_failed",
      error: { message: "stop" },
    });
    const failed = (await run.steps()).filter((step) => step.status === "failed");
    expect(failed).toMatchObject([{ op: "compensate:charge", attempts: 10, error: { message: "bank gone" } }]);
  });

  test("follows a cancel too: a step in flight is aborted, its outcome awaited, and the run ends canceled", async () => {
    const log: string[] = [];
    const saga = workflow("saga", async (ctx) => {
      await ctx.step("reserve", () => "ok", { compensate: undoing(log, "reserve") });
      await ctx.step(
        "charge",
        (s) =>
          new Promise<string>((resolve) => {
            s.signal.addEventListener("abort", () => {
              log.push("charge aborted");
              resolve("charged all the same");
            });
          }),
        { compensate: undoing(log, "charge") },
      );
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [saga] });
    const run = await fleet.client().start(saga);
    await fleet.clock.settle();
    await run.cancel();
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    expect(log).toEqual([
      "charge aborted",
      "undo charge: completed charged all the same",
      "undo reserve: completed ok",
    ]);
    expect(await run.describe()).toMatchObject({ status: "canceled", compensation: "compensated" });
  });

  test("of a step that does not stop when it is aborted begins after its timeout, with outcome unknown", async () => {
    const log: string[] = [];
    const saga = workflow("saga", (ctx) =>
      ctx.step("charge", () => new Promise<string>(() => {}), {
        timeout: "1h",
        compensate: undoing(log, "charge"),
      }),
    );
    const fleet = openFleet();
    await fleet.worker({ workflows: [saga] });
    const run = await fleet.client().start(saga);
    await fleet.clock.advance("10m");
    const asked = fleet.clock.now();
    await run.cancel();
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    expect(fleet.clock.now() - asked).toBe(3_600_000);
    expect(log).toEqual(["undo charge: unknown undefined"]);
  });

  test("of a step that was cut off by a crash is told that the outcome is unknown", async () => {
    const log: string[] = [];
    const saga = workflow("saga", (ctx) =>
      ctx.step("charge", () => new Promise<string>(() => {}), { onCrash: "fail", compensate: undoing(log, "charge") }),
    );
    const fleet = openFleet();
    const first = await fleet.worker({ workflows: [saga] });
    const run = await fleet.client().start(saga);
    await fleet.clock.settle();
    await fleet.clock.until(first.stop());
    await fleet.worker({ workflows: [saga] });
    await expect(fleet.result(run)).rejects.toMatchObject({ cause: { recordedCode: "step_crashed", op: "charge" } });
    expect(log).toEqual(["undo charge: unknown undefined"]);
  });

  test("is not disturbed by a cancel or by the timeout of the run that come while it is under way", async () => {
    let tries = 0;
    const saga = workflow({ name: "saga", timeout: "10s" }, async (ctx) => {
      await ctx.step("charge", () => 1, {
        compensate: () => {
          tries += 1;
          if (tries < 6) throw new Error("bank closed");
        },
      });
      await ctx.sleep("nap", "8s");
      throw new Error("the original error");
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [saga], lease: "30s" });
    const run = await fleet.client().start(saga);
    await fleet.clock.advance("9s");
    await run.cancel();
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_failed" });
    expect(await run.describe()).toMatchObject({
      status: "failed",
      compensation: "compensated",
      error: { message: "the original error" },
    });
    expect(tries).toBe(6);
    expect(fleet.store.calls["runs.claim"]).toBeLessThan(15);
  });

  test("follows the timeout of the run, and takes its own time even when that is far longer", async () => {
    let tries = 0;
    const saga = workflow({ name: "saga", timeout: "10s" }, async (ctx) => {
      await ctx.step("charge", () => 1, {
        compensate: () => {
          tries += 1;
          if (tries < 9) throw new Error("bank closed");
        },
      });
      await ctx.sleep("nap", "1 day");
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [saga], lease: "2s" });
    const run = await fleet.client().start(saga);
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_timed_out" });
    expect(tries).toBe(9);
    expect(await run.describe()).toMatchObject({ status: "timed_out", compensation: "compensated" });
    expect(fleet.store.calls["runs.claim"]).toBeLessThan(20);
  });

  test("still runs when the run has used up its ops, and for steps with the longest of names", async () => {
    const log: string[] = [];
    const name = "n".repeat(200);
    const endless = workflow("endless", async (ctx) => {
      await ctx.step(name, () => 1, { compensate: undoing(log, "first") });
      for (;;) await ctx.step("more", () => 1);
    });
    const t = await testEngine({ workflows: [endless], limits: { opsMax: 5 } });
    const run = await t.client.start(endless);
    await expect(run.result()).rejects.toMatchObject({ cause: { code: "too_many_ops" } });
    expect(log).toEqual(["undo first: completed 1"]);
    expect((await run.describe()).compensation).toBe("compensated");
    await t.close();
  });

  test("of parallel steps goes in the reverse order of asking", async () => {
    const log: string[] = [];
    const slow = deferred();
    const saga = workflow("saga", async (ctx) => {
      await ctx.parallel([
        () => ctx.step("a", () => slow.promise.then(() => "A"), { compensate: undoing(log, "a") }),
        () => ctx.step("b", () => "B", { compensate: undoing(log, "b") }),
      ]);
      throw new Error("stop");
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [saga] });
    const run = await fleet.client().start(saga);
    await fleet.clock.settle();
    slow.resolve();
    await expect(fleet.result(run)).rejects.toMatchObject({ cause: { message: "stop" } });
    expect(log).toEqual(["undo b: completed B", "undo a: completed A"]);
  });
});

describe("ctx.compensate", () => {
  test("adds something to undo by hand, among the others, each with a key of its own", async () => {
    const log: string[] = [];
    const keys = new Set<string>();
    const saga = workflow("saga", async (ctx) => {
      for (const item of [1, 2]) {
        ctx.compensate("release", (_, c) => {
          keys.add(c.idempotencyKey);
          log.push(`release ${item}`);
        });
      }
      await ctx.step("charge", () => 1, { compensate: () => void log.push("refund") });
      ctx.compensate("notify", () => void log.push("notify"));
      throw new Error("stop");
    });
    const t = await openEngine(saga);
    const run = await t.client.start(saga);
    await expect(run.result()).rejects.toMatchObject({ cause: { message: "stop" } });
    expect(log).toEqual(["notify", "refund", "release 2", "release 1"]);
    expect(keys.size).toBe(2);
    expect((await run.describe()).compensation).toBe("compensated");
  });

  test("counts only from where it stands: what failed before it is not undone by it", async () => {
    const log: string[] = [];
    const saga = workflow("saga", async (ctx) => {
      await ctx.step("bad", () => Promise.reject(new Error("early")), { retry: "none" });
      ctx.compensate("late", () => log.push("late"));
    });
    const t = await openEngine(saga);
    const run = await t.client.start(saga);
    await expect(run.result()).rejects.toMatchObject({ cause: { message: "early" } });
    expect(log).toEqual([]);
    expect((await run.describe()).compensation).toBeNull();
  });
});

describe("onCrash", () => {
  test('"fail" runs a step at most once; the default repeats it', async () => {
    const calls: string[] = [];
    const once = workflow("once", (ctx) =>
      ctx.parallel(
        {
          atMostOnce: () => ctx.step("mail", () => hang("mail"), { onCrash: "fail" }),
          atLeastOnce: () => ctx.step("read", () => hang("read")),
        },
        { onError: "collect-all" },
      ),
    );
    const hang = (name: string): Promise<string> | string => {
      calls.push(name);
      return calls.length > 2 ? name : new Promise(() => {});
    };
    const fleet = openFleet();
    const first = await fleet.worker({ workflows: [once] });
    const run = await fleet.client().start(once);
    await fleet.clock.settle();
    await fleet.clock.until(first.stop());
    await fleet.worker({ workflows: [once] });
    const result = await fleet.result(run);
    expect(calls.toSorted()).toEqual(["mail", "read", "read"]);
    expect(result.atLeastOnce).toEqual({ status: "fulfilled", value: "read" });
    expect(result.atMostOnce).toMatchObject({
      status: "rejected",
      reason: { message: expect.stringContaining("was cut off by a crash; whether it took effect is unknown") },
    });
  });
});
