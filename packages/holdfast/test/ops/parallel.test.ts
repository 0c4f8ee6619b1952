import { workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { type Deferred, deferred } from "../lab/deferred.ts";
import { openEngine, openFleet } from "../lab/fleet.ts";

describe("ctx.parallel", () => {
  test("gives results in the shape and order of the branches, whichever ends first", async () => {
    const shapes = workflow("shapes", async (ctx) => ({
      object: await ctx.parallel({
        slow: async (c) => {
          await c.sleep("slow", "3h");
          return "slow";
        },
        quick: (c) => c.step("quick", () => 1),
        plain: () => true,
      }),
      list: await ctx.parallel([(c) => c.sleep("last", "2h").then(() => "a"), (c) => c.step("first", () => "b")]),
      none: [await ctx.parallel({}), await ctx.parallel([])],
    }));
    const t = await openEngine(shapes);
    const result = await t.run(shapes);
    expect(result).toEqual({ object: { slow: "slow", quick: 1, plain: true }, list: ["a", "b"], none: [{}, []] });
    expect(Object.keys(result.object)).toEqual(["slow", "quick", "plain"]);
  });

  test("runs its steps at the same time", async () => {
    const gates: Deferred<number>[] = [];
    const fan = workflow("fan", (ctx) =>
      ctx.parallel(
        Array.from(
          { length: 5 },
          (_, i) => () =>
            ctx.step(`part ${i}`, () => {
              const gate = deferred<number>();
              gates.push(gate);
              return gate.promise;
            }),
        ),
      ),
    );
    const fleet = openFleet();
    await fleet.worker({ workflows: [fan] });
    const run = await fleet.client().start(fan);
    await fleet.clock.settle();
    expect(gates).toHaveLength(5);
    for (const [i, gate] of [...gates.entries()].reverse()) gate.resolve(i);
    expect(await fleet.result(run)).toEqual([0, 1, 2, 3, 4]);
  });

  test("fails fast: the first error rejects, the other branches are canceled and their steps aborted", async () => {
    const aborted: string[] = [];
    const began: string[] = [];
    const fan = workflow("fan", async (ctx) => {
      try {
        await ctx.parallel({
          bad: async (c) => {
            await c.sleep("a moment", "1s");
            throw new Error("bad branch");
          },
          busy: (c) =>
            c.step("busy", (s) => {
              s.signal.addEventListener("abort", () => aborted.push(String(s.signal.reason.message)));
              return new Promise<never>(() => {});
            }),
          asleep: async (c) => {
            await c.sleep("asleep", "1 day").catch((error) => began.push(error.code));
            await c.step("after the nap", () => began.push("after the nap"));
          },
        });
      } catch (error) {
        await ctx.sleep("goes on", "1h");
        return (error as Error).message;
      }
      return "not reached";
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [fan] });
    const start = fleet.clock.now();
    const run = await fleet.client().start(fan);
    expect(await fleet.result(run)).toBe("bad branch");
    expect(fleet.clock.now() - start).toBe(3_601_000);
    expect(aborted).toEqual(["The result of this step is no longer needed."]);
    expect(began).toEqual(["op_canceled"]);
  });

  test("with collect-all waits for every branch and gives every outcome", async () => {
    const fan = workflow("fan", async (ctx) => {
      const outcomes = await ctx.parallel(
        {
          good: (c) => c.step("good", () => 1),
          bad: (c) => c.step("bad", () => Promise.reject(new Error("no")), { retry: "none" }),
          slow: (c) => c.sleep("slow", "1h").then(() => "slow"),
        },
        { onError: "collect-all" },
      );
      const { good, bad, slow } = outcomes;
      return {
        good: good.status === "fulfilled" ? good.value : undefined,
        bad: bad.status === "rejected" ? (bad.reason as Error).message : undefined,
        slow: slow.status === "fulfilled" ? slow.value : undefined,
      };
    });
    const t = await openEngine(fan);
    expect(await t.run(fan)).toEqual({ good: 1, bad: "no", slow: "slow" });
  });

  test.each(["fail-fast", "collect-all"] as const)("keeps to its limit with %s", async (onError) => {
    const gates: Deferred<number>[] = [];
    const fan = workflow("fan", (ctx) =>
      ctx.parallel(
        Array.from(
          { length: 7 },
          (_, i) => () =>
            ctx.step(`part ${i}`, () => {
              const gate = deferred<number>();
              gates.push(gate);
              return gate.promise;
            }),
        ),
        { limit: 3, onError },
      ),
    );
    const fleet = openFleet();
    await fleet.worker({ workflows: [fan] });
    const run = await fleet.client().start(fan);
    for (let done = 0; done < 7; done++) {
      await fleet.clock.settle();
      expect(gates).toHaveLength(Math.min(7, done + 3));
      gates[done]?.resolve(done);
    }
    expect(await fleet.result(run)).toHaveLength(7);
  });

  test("repeats after a restart only what had not finished", async () => {
    const calls: string[] = [];
    const stuck = deferred<string>();
    const fan = workflow("fan", (ctx) =>
      ctx.parallel({
        a: () => ctx.step("a", () => calls.push("a")),
        b: () =>
          ctx.step("b", () => {
            calls.push("b");
            return calls.filter((call) => call === "b").length === 1 ? stuck.promise : "b again";
          }),
        c: () => ctx.step("c", () => calls.push("c")),
      }),
    );
    const fleet = openFleet();
    const first = await fleet.worker({ workflows: [fan] });
    const run = await fleet.client().start(fan);
    await fleet.clock.settle();
    expect(calls).toEqual(["a", "b", "c"]);
    await fleet.clock.until(first.stop());
    await fleet.worker({ workflows: [fan] });
    expect(await fleet.result(run)).toEqual({ a: 1, b: "b again", c: 3 });
    expect(calls).toEqual(["a", "b", "c", "b"]);
  });

  test("may be nested, and canceling a branch reaches what is inside it", async () => {
    const codes: string[] = [];
    const nest = workflow("nest", (ctx) =>
      ctx
        .parallel([
          (c) =>
            c.parallel([
              (inner) => inner.sleep("deep", "1 day").catch((error) => void codes.push(error.code)),
              (inner) => inner.sleep("deeper", "2 days").catch((error) => void codes.push(error.code)),
            ]),
          async (c) => {
            await c.sleep("short", "1s");
            throw new Error("stop");
          },
        ])
        .catch((error: Error) => error.message),
    );
    const t = await openEngine(nest);
    const began = t.clock.now();
    expect(await t.run(nest)).toBe("stop");
    expect(t.clock.now() - began).toBe(1_000);
    expect(codes).toEqual(["op_canceled", "op_canceled"]);
  });

  test("refuses a promise in place of a function, and a limit that is none, saying what to write", async () => {
    const wrong = workflow("wrong", async (ctx, what: "promise" | "limit") => {
      if (what === "limit") return ctx.parallel([() => 1], { limit: 0 });
      const promise = Promise.resolve(1) as never;
      return ctx.parallel({ now: promise });
    });
    const t = await openEngine(wrong);
    await expect(t.run(wrong, "promise")).rejects.toMatchObject({
      cause: {
        cause: {
          code: "invalid_option",
          message: 'ctx.parallel: branch "now" is not a function. Write () => ctx.step(…), not the promise itself.',
        },
      },
    });
    await expect(t.run(wrong, "limit")).rejects.toMatchObject({
      cause: { cause: { message: "ctx.parallel: limit is 0; it must be a whole number from 1 up." } },
    });
  });
});

describe("native promises", () => {
  test("work as well: all, race, any, allSettled and concurrent chains give the same answer on every replay", async () => {
    const seen = new Set<string>();
    const native = workflow("native", async (ctx) => {
      const log: string[] = [];
      const chain = async (name: string, pause: string): Promise<string> => {
        await ctx.step(`${name} 1`, () => 1);
        await ctx.sleep(`${name} nap`, pause);
        log.push(name);
        return name;
      };
      const all = await Promise.all([chain("a", "2h"), chain("b", "1h")]);
      const first = await Promise.race([chain("c", "2h"), chain("d", "1h")]);
      const any = await Promise.any([
        ctx.step("e", () => Promise.reject(new Error("e")), { retry: "none" }),
        chain("f", "1h"),
      ]);
      const settled = await Promise.allSettled([chain("g", "1h"), Promise.reject(new Error("x"))]);
      await ctx.sleep("end", "1h");
      seen.add(JSON.stringify(log));
      return { all, first, any, settled: settled.map(({ status }) => status) };
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [native] });
    expect(await fleet.result(await fleet.client().start(native))).toEqual({
      all: ["a", "b"],
      first: "d",
      any: "f",
      settled: ["fulfilled", "rejected"],
    });
    expect([...seen]).toEqual(['["b","a","d","c","f","g"]']);
  });

  test("a step that nobody awaits when the run ends is aborted, and the run does not wait for it", async () => {
    let aborted = false;
    const loose = workflow("loose", async (ctx) => {
      void ctx.step("loose", (s) => {
        s.signal.addEventListener("abort", () => {
          aborted = true;
        });
        return new Promise(() => {});
      });
      await ctx.step("main", () => 1);
      return "done";
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [loose] });
    expect(await fleet.result(await fleet.client().start(loose))).toBe("done");
    expect(aborted).toBe(true);
  });
});
