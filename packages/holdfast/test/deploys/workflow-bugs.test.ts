import { type Context, isHoldfastError, RunParkedError, signal, silentLogger, workflow } from "holdfast";
import { crashEverywhere, replay, testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const go = signal<{ amount: { cents: number } }>("go");
const PLACE = /workflow-bugs\.test\.ts:\d+:\d+/;

async function throwsTypeError(): Promise<number> {
  return (undefined as unknown as { cents: number }).cents;
}

const bugs: [name: string, code: (ctx: Context) => unknown][] = [
  ["TypeError", () => (undefined as unknown as { cents: number }).cents],
  // @ts-expect-error: that is the bug
  ["ReferenceError", () => notThere.cents],
  ["RangeError", () => new Array(-1)],
  ["SyntaxError", () => JSON.parse("{")],
  ["URIError", () => decodeURIComponent("%")],
  ["invalid_option", (ctx) => ctx.step("later", undefined as never)],
  ["invalid_option", (ctx) => ctx.parallel([], { limit: 0 })],
  ["invalid_name", (ctx) => ctx.step("", () => 1)],
  ["invalid_duration", (ctx) => ctx.sleep("nap", "3 dyas" as string)],
  ["invalid_duration", (ctx) => ctx.sleep("nap", 5 as never)],
  ["invalid_duration", (ctx) => ctx.receive(go, { timeout: 5 as never })],
  ["invalid_duration", (ctx) => ctx.step("slow", () => 1, { timeout: "1 fortnite" as string })],
  ["TypeError", (ctx) => ctx.parallel([throwsTypeError, (c) => c.sleep("nap", "1h")])],
  ["TypeError", (ctx) => ctx.uncancelable(throwsTypeError)],
  ["TypeError", (ctx) => ctx.race([throwsTypeError, throwsTypeError])],
  ["TypeError", (ctx) => ctx.race({ only: (c) => c.step("first", () => 1).then(throwsTypeError) })],
  ["TypeError", (ctx) => ctx.race([() => Promise.reject(new Error("no stock")), throwsTypeError])],
  ["TypeError", (ctx) => ctx.race([(c) => c.race([throwsTypeError])])],
  ["TypeError", () => Promise.any([throwsTypeError(), throwsTypeError()])],
  [
    "invalid_duration",
    (ctx) => ctx.race([(c) => c.sleep("a", "1 yaer" as string), (c) => c.sleep("b", "no" as string)]),
  ],
  ["TypeError", (ctx) => ctx.sideEffect("flag", () => (undefined as unknown as { cents: number }).cents)],
  [
    "TypeError",
    (ctx) => ctx.race([() => ctx.sideEffect("flag", () => (undefined as unknown as { cents: number }).cents)]),
  ],
  ["invalid_option", (ctx) => ctx.sideEffect("flag", (async () => 1) as never)],
];

async function parkingOf(run: Promise<unknown>): Promise<RunParkedError> {
  const error = await run.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(RunParkedError);
  return error as RunParkedError;
}

describe("a bug of the workflow code", () => {
  test.each(bugs)("parks the run instead of failing it: %s", async (name, code) => {
    const undone: string[] = [];
    const buggy = workflow("buggy", async (ctx) => {
      await ctx.step("charge", () => 1, { compensate: () => void undone.push("charge") });
      await code(ctx);
    });
    const t = await openEngine(buggy);
    const run = await t.client.start(buggy, undefined, { id: "b" });
    const error = await parkingOf(run.result());
    expect(error).toMatchObject({ code: "run_parked", data: { id: "b", workflow: "buggy" } });
    expect(error.message).toContain('Run "b" of workflow "buggy"');
    expect(error.message).toContain("handle.resume()");
    const { status, error: parked } = await run.describe();
    expect([status, parked?.code]).toEqual(["parked", "workflow_bug"]);
    expect(parked?.message).toMatch(PLACE);
    expect(parked?.message).toContain("Deploy fixed code");
    expect(parked?.cause).toMatchObject(name.includes("_") ? { code: name } : { name });
    expect((await t.client.why("b")).reason).toMatch(PLACE);
    expect(undone).toEqual([]);
  });

  test('fails the run and undoes it when the workflow says onBug: "fail"', async () => {
    const undone: string[] = [];
    const buggy = workflow({ name: "buggy", onBug: "fail" }, async (ctx) => {
      await ctx.step("charge", () => 1, { compensate: () => void undone.push("charge") });
      return (undefined as unknown as { cents: number }).cents;
    });
    const t = await openEngine(buggy);
    await expect(t.run(buggy)).rejects.toMatchObject({ code: "run_failed", cause: { name: "TypeError" } });
    expect(undone).toEqual(["charge"]);
  });

  test("is none when an op has failed with it, also when the error is thrown on or stands behind another", async () => {
    const throws = (ctx: Context) =>
      ctx.step("breaks", () => (undefined as unknown as { cents: number }).cents, { retry: "none" });
    const codes: ((ctx: Context) => unknown)[] = [
      (ctx) => throws(ctx),
      async (ctx) => {
        try {
          await throws(ctx);
        } catch (error) {
          throw error as Error;
        }
      },
      async (ctx) => {
        try {
          await throws(ctx);
        } catch (cause) {
          throw new TypeError("the answer makes no sense", { cause });
        }
      },
      (ctx) => ctx.parallel([throws]),
      (ctx) => ctx.race([throws]),
      (ctx) => Promise.all([throws(ctx)]),
      (ctx) =>
        throws(ctx).catch((cause) =>
          ctx.sideEffect("flag", () => {
            throw new TypeError("the answer makes no sense", { cause });
          }),
        ),
    ];
    for (const code of codes) {
      const failing = workflow("failing", async (ctx) => void (await code(ctx)));
      const t = await openEngine(failing);
      await expect(t.run(failing)).rejects.toMatchObject({ code: "run_failed" });
    }
  });

  test("is none when the code catches it, or throws an error of a class of its own", async () => {
    class OutOfStock extends RangeError {
      override readonly name = "OutOfStock";
    }
    const careful = workflow("careful", async (ctx) => {
      const [result] = await ctx.parallel([() => JSON.parse("{")], { onError: "collect-all" });
      if (result.status === "rejected") throw new OutOfStock("nothing left");
    });
    const t = await openEngine(careful);
    await expect(t.run(careful)).rejects.toMatchObject({ code: "run_failed", cause: { name: "OutOfStock" } });
  });

  test("in a side effect is not recorded unless the code catches it; fixed code computes the value anew", async () => {
    const fleet = openFleet();
    const order = (flag: () => string) => workflow("order", async (ctx) => ctx.sideEffect("flag", flag));
    const buggy = order(() => (undefined as unknown as { flag: string }).flag);
    const bad = await fleet.worker({ workflows: [buggy] });
    const run = await fleet.client().start(buggy);
    await parkingOf(fleet.result(run));
    expect((await run.history()).map(({ type }) => type)).toEqual(["run_started", "run_parked"]);
    await fleet.clock.until(bad.stop());
    await fleet.worker({ workflows: [order(() => "on")] });
    await run.resume();
    expect(await fleet.result(run)).toBe("on");

    const careful = workflow("careful", async (ctx) => {
      let flag = "off";
      try {
        flag = ctx.sideEffect("flag", () => JSON.parse("{"));
      } catch {}
      await ctx.sleep("nap", "1h");
      return flag;
    });
    expect((await crashEverywhere(careful, undefined)).output).toBe("off");
  });

  test("in a branch that loses a race is logged once, and the run goes on", async () => {
    const lines: unknown[] = [];
    const race = workflow("race", async (ctx) => {
      const { winner } = await ctx.race({
        early: throwsTypeError,
        late: (c) => c.sleep("late", "2h").catch(throwsTypeError),
        good: (c) => c.sleep("good", "1h"),
      });
      await ctx.sleep("more", "1h");
      return winner;
    });
    const logger = {
      ...silentLogger,
      warn: (fields: object, message?: string) => void lines.push({ ...fields, message }),
    };
    const t = await testEngine({ workflows: [race], logger });
    expect(await t.run(race)).toBe("good");
    await t.close();
    expect(lines).toMatchObject([
      {
        workflow: "race",
        branch: "early",
        message: expect.stringContaining('Branch "early" of ctx.race has a bug (TypeError'),
      },
      { workflow: "race", branch: "late", location: expect.stringMatching(PLACE) },
    ]);
  });

  test("keeps the event of its turn and nothing that the code did in it; fixed code takes the turn again", async () => {
    const fleet = openFleet();
    const log: string[] = [];
    const begin = async (ctx: Context) => {
      await ctx.step("reserve", () => log.push("reserve"));
      ctx.set({ stage: "reserved" });
      const sent = await ctx.receive(go);
      ctx.set({ stage: "approved" });
      const flag = ctx.sideEffect("flag", () => "on");
      void ctx.sleep("reminder", "1h");
      return { sent, flag, charged: ctx.step("charge", () => log.push("charge")) };
    };
    const buggy = workflow("order", async (ctx) => {
      const { sent, charged } = await begin(ctx);
      const { cents } = (sent as unknown as { total: { cents: number } }).total;
      await charged;
      return [cents, "off"];
    });
    const fixed = workflow("order", async (ctx) => {
      const { sent, flag, charged } = await begin(ctx);
      await charged;
      return [sent.amount.cents, flag];
    });
    const bad = await fleet.worker({ workflows: [buggy] });
    const run = await fleet.client().start(buggy);
    await fleet.clock.settle();
    await run.signal(go, { amount: { cents: 990 } });
    await fleet.clock.settle();
    await parkingOf(fleet.result(run));
    expect((await run.history()).map(({ type }) => type)).toEqual([
      "run_started",
      "step_completed",
      "attributes_set",
      "signal_received",
      "run_parked",
    ]);
    expect(await run.describe()).toMatchObject({ status: "parked", attributes: { stage: "reserved" } });
    expect(log).toEqual(["reserve"]);
    await fleet.clock.until(bad.stop());

    await fleet.worker({ workflows: [fixed] });
    expect(await fleet.clock.until(run.result({ onParked: "wait" }))).toEqual([990, "on"]);
    expect(log).toEqual(["reserve", "charge"]);
    expect((await run.describe()).attributes).toEqual({ stage: "approved" });
  });

  test("in the first turn leaves nothing behind but the record that it is parked", async () => {
    const buggy = workflow("buggy", async (ctx) => {
      ctx.set({ stage: "new" });
      void ctx.sleep("reminder", "1h");
      return (undefined as unknown as { cents: number }).cents;
    });
    const t = await openEngine(buggy);
    const run = await t.client.start(buggy);
    await parkingOf(run.result());
    expect(await run.describe()).toMatchObject({ status: "parked", historyLength: 2, attributes: {} });
  });

  test("in new code that only replays is found before anything is executed", async () => {
    const fleet = openFleet();
    const log: string[] = [];
    const order = (breaks: boolean) =>
      workflow("order", async (ctx) => {
        await ctx.step("charge", () => log.push("charge"), { compensate: () => void log.push("refund") });
        if (breaks) (undefined as unknown as { cents: number }).cents.toFixed();
        await ctx.sleep("nap", "1h");
        return ctx.step("ship", () => log.push("ship"));
      });
    const first = await fleet.worker({ workflows: [order(false)] });
    const run = await fleet.client().start(order(false));
    await fleet.clock.settle();
    await fleet.clock.until(first.stop());
    const second = await fleet.worker({ workflows: [order(true)] });
    await fleet.clock.advance("1h");
    expect(await run.describe()).toMatchObject({ status: "parked", error: { code: "workflow_bug" }, historyLength: 5 });
    await fleet.clock.until(second.stop());
    await fleet.worker({ workflows: [order(false)] });
    await run.resume();
    await fleet.result(run);
    expect(log).toEqual(["charge", "ship"]);
  });

  test("does not stop a run that has begun to undo what it did", async () => {
    const fleet = openFleet();
    const log: string[] = [];
    const order = (onBug: "fail" | "park") =>
      workflow({ name: "order", onBug }, async (ctx) => {
        const undo = (name: string) => () => {
          log.push(name);
          if (log.length === 1) throw new Error("not now");
        };
        await ctx.step("a", () => 1, { compensate: undo("undo a") });
        return (undefined as unknown as { cents: number }).cents;
      });
    const first = await fleet.worker({ workflows: [order("fail")] });
    const run = await fleet.client().start(order("fail"));
    await fleet.clock.settle();
    expect(await run.status()).toBe("compensating");
    await fleet.clock.until(first.stop());
    await fleet.worker({ workflows: [order("park")] });
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_failed" });
    expect(log).toEqual(["undo a", "undo a"]);
    expect((await run.describe()).compensation).toBe("compensated");
  });

  test("is shown by replay() and by crashEverywhere(); a history that failed with it still replays", async () => {
    const order = (onBug: "fail" | "park", breaks: boolean) =>
      workflow({ name: "order", onBug }, async (ctx) => {
        await ctx.step("charge", () => 1);
        return breaks ? (undefined as unknown as { cents: number }).cents : 1;
      });
    const ends = async (onBug: "fail" | "park", breaks: boolean) => {
      const t = await openEngine(order(onBug, breaks));
      const run = await t.client.start(order(onBug, breaks));
      await run.result().catch(() => {});
      return JSON.parse(JSON.stringify(await run.history()));
    };
    await expect(replay(order("park", true), await ends("park", false))).rejects.toMatchObject({
      code: "workflow_bug",
    });
    expect(await replay(order("park", true), await ends("fail", true))).toMatchObject({ error: { name: "TypeError" } });
    await expect(crashEverywhere(order("park", true), undefined)).rejects.toMatchObject({ code: "run_parked" });
  });

  test("onBug is one of two words", () => {
    expect(() => workflow({ name: "order", onBug: "explode" as never }, async () => 1)).toThrow(
      expect.objectContaining({
        code: "invalid_option",
        message: expect.stringContaining('onBug is "explode"; it may be "park", "fail"'),
      }),
    );
  });
});

describe("result() of a parked run", () => {
  const stuck = workflow("stuck", async (ctx) => {
    await ctx.receive(go);
    await new Promise(() => {});
  });

  test("rejects for whoever waits already, says why and what to do, and can be asked again", async () => {
    const t = await openEngine(stuck);
    const run = await t.client.start(stuck);
    await t.clock.settle();
    const [waiting, patient] = [parkingOf(run.result()), run.result({ onParked: "wait" }).catch((error) => error)];
    await run.signal(go, { amount: { cents: 1 } });
    const told = await waiting;
    // It has waited on, as far as a test engine in which nothing more can happen lets it.
    expect(await patient).toMatchObject({ code: "result_timeout", data: { status: "parked" } });
    expect(told).toMatchObject({ code: "run_parked", cause: { code: "foreign_await" } });
    expect((told as Error).message).toContain("not a ctx operation");
    await parkingOf(run.result());
    await parkingOf(run.result({ timeout: "1 day" }));
  });

  test("hf.run rejects too, and a word that is not known is refused", async () => {
    const t = await openEngine(workflow("buggy", async () => JSON.parse("{")));
    await parkingOf(t.client.run("buggy"));
    const run = await t.client.start("buggy");
    const refused = await run.result({ onParked: "ignore" as never }).catch((error: unknown) => error);
    expect(isHoldfastError(refused, "invalid_option")).toBe(true);
  });
});
