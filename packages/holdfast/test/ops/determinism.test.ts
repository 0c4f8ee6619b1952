import { type Context, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

/** Runs the function at the start of a run that is then replayed three times; gives what it returned each time. */
async function overReplays<T>(fn: (ctx: Context) => T): Promise<T[]> {
  const seen: T[] = [];
  const replayed = workflow("replayed", async (ctx) => {
    await ctx.step("before", () => 1);
    seen.push(fn(ctx));
    for (const nap of ["a", "b", "c"]) await ctx.sleep(nap, "1h");
  });
  const fleet = openFleet();
  await fleet.forgetful({ workflows: [replayed] });
  await fleet.result(await fleet.client().start(replayed));
  expect(seen).toHaveLength(4);
  return seen;
}

describe("on every replay", () => {
  test("ctx.now() says the time of the event that the code has just seen", async () => {
    const times = await overReplays((ctx) => ctx.now().getTime());
    expect(new Set(times).size).toBe(1);
    const clock = workflow("clock", async (ctx) => {
      const start = ctx.now();
      await ctx.sleep("nap", "1h");
      return Number(ctx.now()) - Number(start);
    });
    const t = await openEngine(clock);
    expect(await t.run(clock)).toBe(3_600_000);
  });

  test("ctx.random() draws the same numbers, in [0, 1), and other runs draw others", async () => {
    const draws = await overReplays((ctx) => Array.from({ length: 100 }, () => ctx.random()));
    for (const draw of draws) expect(draw).toEqual(draws[0]);
    const numbers = draws[0] ?? [];
    expect(new Set(numbers).size).toBe(100);
    expect(numbers.every((n) => n >= 0 && n < 1)).toBe(true);
    const dice = workflow("dice", async (ctx) => ctx.random());
    const t = await openEngine(dice);
    expect(await t.run(dice)).not.toBe(await t.run(dice));
  });

  test("ctx.uuid() makes the same UUIDs, no two alike", async () => {
    const draws = await overReplays((ctx) => [ctx.uuid(), ctx.uuid(), ctx.uuid()]);
    for (const draw of draws) expect(draw).toEqual(draws[0]);
    expect(new Set(draws[0]).size).toBe(3);
    for (const uuid of draws[0] ?? [])
      expect(uuid).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  test("ctx.uuid(name) is the same wherever in the run it is asked for, and differs by name and by run", async () => {
    const named = workflow("named", async (ctx) => {
      const early = ctx.uuid("order");
      ctx.uuid();
      await ctx.sleep("nap", "1h");
      return { early, late: ctx.uuid("order"), other: ctx.uuid("invoice") };
    });
    const t = await openEngine(named);
    const [one, two] = [await t.run(named), await t.run(named)];
    expect(one.early).toBe(one.late);
    expect(one.other).not.toBe(one.early);
    expect(two.early).not.toBe(one.early);
  });

  test("ctx.sideEffect gives the value that was computed the first time, and computes it only then", async () => {
    let flag = 0;
    const values = await overReplays((ctx) => ctx.sideEffect("flag", () => ({ flag: ++flag, at: new Date(0) })));
    expect(values).toEqual(Array.from({ length: 4 }, () => ({ flag: 1, at: new Date(0) })));
    expect(flag).toBe(1);
  });

  test("ctx.log is silent, so that a line is written once", async () => {
    const talk = workflow("talk", async (ctx) => {
      ctx.log.info({ n: 1 }, "begun");
      await ctx.sleep("a", "1h");
      ctx.log.warn({ n: 2 }, "halfway");
      await ctx.sleep("b", "1h");
      ctx.log.error({ n: 3 }, "done");
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [talk] });
    const run = await fleet.client().start(talk, undefined, { id: "t" });
    await fleet.result(run);
    const about = { namespace: "default", workflow: "talk", id: "t", runId: run.runId };
    expect(fleet.lines.filter((line) => "n" in line.fields)).toEqual([
      { level: "info", message: "begun", fields: { ...about, n: 1 } },
      { level: "warn", message: "halfway", fields: { ...about, n: 2 } },
      { level: "error", message: "done", fields: { ...about, n: 3 } },
    ]);
  });
});

describe("free of charge", () => {
  test("random numbers, UUIDs, the time and side effects need no commit of their own", async () => {
    const cheap = workflow("cheap", async (ctx) => {
      for (let i = 0; i < 50; i++) [ctx.random(), ctx.uuid(), ctx.uuid("x"), ctx.now()];
      const flags = [1, 2, 3].map((n) => ctx.sideEffect("flag", () => n));
      await ctx.step("work", () => 1);
      return flags;
    });
    const t = await openEngine(cheap);
    expect(await t.run(cheap)).toEqual([1, 2, 3]);
    // One commit before the step may begin (it saw the flags), one with its result and the end.
    expect(t.store.calls["runs.commit"]).toBe(2);
  });
});

describe("ctx.sideEffect", () => {
  test("stands in history with its value, one for each call", async () => {
    const flags = workflow("flags", async (ctx) => [
      ctx.sideEffect("flag", () => "a"),
      ctx.sideEffect("flag", () => undefined),
    ]);
    const t = await openEngine(flags);
    const run = await t.client.start(flags);
    expect(await run.result()).toEqual(["a", undefined]);
    expect((await run.steps()).map(({ op, kind, output }) => [op, kind, output])).toEqual([
      ["flag", "side_effect", "a"],
      ["flag#2", "side_effect", undefined],
    ]);
  });

  test("that throws is recorded too: code that catches it takes the same way on every replay", async () => {
    const seen: string[] = [];
    const flags = workflow("flags", async (ctx) => {
      let flag = "the default";
      try {
        flag = ctx.sideEffect("flag", (): string => {
          seen.push("asked");
          throw Object.assign(new Error("no flag service"), { status: 503 });
        });
      } catch (error) {
        seen.push(`${(error as Error).message} ${(error as { kind?: string }).kind}`);
      }
      await ctx.step("work", () => 1);
      await ctx.sleep("until it is replayed", "1h");
      return flag;
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [flags] });
    const run = await fleet.client().start(flags);
    expect(await fleet.result(run)).toBe("the default");
    const caught = "no flag service ServiceUnavailable";
    expect(seen).toEqual(["asked", caught, caught]);
    expect((await run.steps())[0]).toMatchObject({ op: "flag", kind: "side_effect", status: "failed" });
  });

  test("refuses the use of ctx inside its function, which a replay would leave out", async () => {
    const nested = workflow("nested", async (ctx, use: "uuid" | "step") =>
      ctx.sideEffect("id", () => (use === "uuid" ? ctx.uuid() : void ctx.step("inner", () => 1))),
    );
    const t = await openEngine(nested);
    for (const [use, call] of [
      ["uuid", "ctx.uuid"],
      ["step", 'ctx.step("inner")'],
    ] as const) {
      await expect(t.run(nested, use)).rejects.toMatchObject({
        cause: {
          code: "inside_step",
          message: `${call} was called inside ctx.sideEffect("id"), whose function is not called again on replay. Call it before ctx.sideEffect("id"), and use its value inside.`,
        },
      });
    }
  });

  test("refuses an asynchronous function and says to use a step", async () => {
    // @ts-expect-error the types refuse it too
    const wrong = workflow("wrong", async (ctx) => ctx.sideEffect("flag", async () => 1));
    const t = await openEngine(wrong);
    await expect(t.run(wrong)).rejects.toMatchObject({
      cause: {
        cause: { code: "invalid_option", message: expect.stringContaining("Use ctx.step for work that takes time.") },
      },
    });
  });
});

describe("ctx.info", () => {
  test("says which run this is, and how long its history has grown", async () => {
    const about = workflow({ name: "about", version: "7", queue: "q" }, async (ctx) => {
      const before = ctx.info.historyLength;
      await ctx.step("one", () => 1);
      return { ...ctx.info, grown: ctx.info.historyLength - before };
    });
    const t = await openEngine(about);
    const run = await t.client.start(about, undefined, { id: "a-1" });
    expect(await run.result()).toEqual({
      runId: run.runId,
      id: "a-1",
      workflow: "about",
      version: "7",
      namespace: "default",
      queue: "q",
      historyLength: 1,
      grown: 1,
    });
  });
});
