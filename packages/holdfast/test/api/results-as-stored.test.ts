// What a step returns, typed as what the codec gives back: each value is stored and read, and its type compared with both.
import { type Context, type Duration, type Offers, type RunHandle, type StepOptions, signal, workflow } from "holdfast";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { openEngine } from "../lab/fleet.ts";

class Money {
  readonly cents: number;
  readonly #currency = "EUR";
  constructor(cents: number) {
    this.cents = cents;
  }
  format(): string {
    return `${this.cents} ${this.#currency}`;
  }
  toJSON(): { readonly cents: number } {
    return { cents: this.cents };
  }
}

class Point {
  x = 1;
  y = 2;
}

class Version {
  readonly major = 3;
  toJSON(): { text: string } {
    return { text: `v${this.major}` };
  }
}

interface Line {
  readonly sku: string;
  readonly notes?: readonly string[];
  price: bigint;
  sent: Date | null;
}

interface Tree {
  value: number;
  children: Tree[];
  byName: Map<string, Tree>;
}

type UserId = string & { readonly brand: unique symbol };

const line: Line = { sku: "s", price: 5n, sent: null };

describe("what a step returns", () => {
  test("is the same type where nothing is lost", async () => {
    const kept = workflow("kept", async (ctx) => {
      const all = [
        await ctx.step("interface", () => line),
        await ctx.step("list", async () => [line] as readonly Line[]),
        await ctx.step("tuple", () => [1, "a"] as [number, string]),
        await ctx.step("fields of a class", () => ({ ...new Point() })),
        await ctx.step("map", () => new Map([["a", new Set([1])]])),
        await ctx.step("leaves", () => ({ d: new Date(0), r: /a/g, u: new URL("http://a/"), b: new Uint8Array(2) })),
        await ctx.step("error", () => new TypeError("no")),
        await ctx.step("brand", () => "u-1" as UserId),
        await ctx.step("union", () => ({ kind: "a", n: 1 }) as { kind: "a"; n: number } | { kind: "b"; s: string }),
        await ctx.step("tree", (): Tree => ({ value: 1, children: [], byName: new Map() })),
        await ctx.step("nothing", () => {}),
        await ctx.step("maybe", () => ({ a: undefined as string | undefined })),
        await ctx.step("any", () => JSON.parse("1")),
        await ctx.step("unknown", (): unknown => 1),
      ] as const;
      expectTypeOf(all[0]).toEqualTypeOf<Line>();
      expectTypeOf(all[1]).toEqualTypeOf<readonly Line[]>();
      expectTypeOf(all[2]).toEqualTypeOf<[number, string]>();
      expectTypeOf(all[3]).toEqualTypeOf<{ x: number; y: number }>();
      expectTypeOf(all[4]).toEqualTypeOf<Map<string, Set<number>>>();
      expectTypeOf(all[5]).toEqualTypeOf<{ d: Date; r: RegExp; u: URL; b: Uint8Array<ArrayBuffer> }>();
      expectTypeOf(all[6]).toEqualTypeOf<TypeError>();
      expectTypeOf(all[7]).toEqualTypeOf<UserId>();
      expectTypeOf(all[8]).toEqualTypeOf<{ kind: "a"; n: number } | { kind: "b"; s: string }>();
      expectTypeOf(all[9]).toEqualTypeOf<Tree>();
      expectTypeOf(all[10]).toEqualTypeOf<void>();
      expectTypeOf(all[11]).toEqualTypeOf<{ a: string | undefined }>();
      expectTypeOf(all[12]).toBeAny();
      expectTypeOf(all[13]).toBeUnknown();
      return all.length;
    });
    const t = await openEngine(kept);
    expect(await t.run(kept)).toBe(14);
  });

  test("is what toJSON of a class returns, and has none of its methods", async () => {
    const lossy = workflow("lossy", async (ctx) => {
      const money = await ctx.step("money", (s) => new Money(s.attempt), {
        compensate: (result) => expectTypeOf(result).toEqualTypeOf<{ readonly cents: number } | undefined>(),
      });
      expectTypeOf(money).toEqualTypeOf<{ readonly cents: number }>();
      const many = await ctx.step("many", () => ({ best: new Money(2), all: [new Money(3)], line }));
      expectTypeOf(many.all).toEqualTypeOf<{ readonly cents: number }[]>();
      expectTypeOf(many.line.sku).toEqualTypeOf<string>();
      const bytes = await ctx.step("bytes", () => Buffer.from("a"));
      expectTypeOf(bytes).toEqualTypeOf<Uint8Array<ArrayBuffer>>();
      const version = await ctx.step("version", () => new Version());
      expectTypeOf(version).toEqualTypeOf<{ text: string }>();
      const flag = ctx.sideEffect("flag", () => new Money(4));
      expectTypeOf(flag).toEqualTypeOf<{ readonly cents: number }>();
      expectTypeOf(ctx.sideEffect("plain", () => line)).toEqualTypeOf<Line>();
      return { money, many, bytes, version, flag, methods: [money, many.best, flag].map((one) => "format" in one) };
    });
    const t = await openEngine(lossy);
    const result = await t.run(lossy);
    expect(result).toMatchObject({ money: { cents: 1 }, many: { all: [{ cents: 3 }] }, version: { text: "v3" } });
    expect([result.methods, Buffer.isBuffer(result.bytes)]).toEqual([[false, false, false], false]);
  });

  test("keeps its type parameter in a generic helper", async () => {
    async function once<T>(ctx: Context, name: string, fn: () => Promise<T>): Promise<T> {
      return await ctx.step(name, fn, { compensate: (result, c) => void [result, c.outcome] });
    }
    async function saga<T>(ctx: Context, name: string, fn: () => T, undo: (r: T | undefined) => void): Promise<T[]> {
      const options: StepOptions<T> = { compensate: undo };
      return [await ctx.step(name, fn, { compensate: undo, timeout: "1s" }), await ctx.step(name, fn, options)];
    }
    async function boxed<T extends { id: string }>(ctx: Context, value: T): Promise<{ box: T }> {
      return ctx.step("box", () => ({ box: value }));
    }
    const helped = workflow("helped", async (ctx) => {
      const one = await once(ctx, "one", async () => 5);
      expectTypeOf(one).toEqualTypeOf<number>();
      const two = await saga(
        ctx,
        "two",
        () => line,
        (result) => expectTypeOf(result).toEqualTypeOf<Line | undefined>(),
      );
      expectTypeOf(two).toEqualTypeOf<Line[]>();
      const { box } = await boxed(ctx, { id: "b", n: 1 });
      return [one, two.length, box.n];
    });
    const t = await openEngine(helped);
    expect(await t.run(helped)).toEqual([5, 2, 1]);
  });
});

describe("what comes back from a run", () => {
  test("is typed like the result of a step: results, handles and signals", async () => {
    const price = signal<Money>("price");
    const priced = workflow("priced", async (ctx) => {
      const got = await ctx.receive(price);
      expectTypeOf(got).toEqualTypeOf<{ readonly cents: number }>();
      return new Money(got.cents);
    });
    const t = await openEngine(priced);
    const run = await t.client.start(priced);
    expectTypeOf(run).toEqualTypeOf<RunHandle<{ readonly cents: number }, Offers, undefined>>();
    await run.signal(price, new Money(7));
    expect(await run.result()).toEqual({ cents: 7 });
  });

  test("is what the output schema makes of it", async () => {
    const made = workflow(
      { name: "made", input: z.object({ n: z.string() }), output: z.object({ n: z.coerce.number<string>() }) },
      async (_ctx, input) => ({ n: input.n }),
    );
    const literal = workflow({ name: "literal", output: z.enum(["yes", "no"]) }, async (ctx) =>
      ctx.now() ? "yes" : "no",
    );
    const answer = z.object({ state: z.enum(["done", "late"]), at: z.date().optional(), tags: z.array(z.string()) });
    const literals = workflow({ name: "literals", output: answer }, async (ctx, input: { late: boolean }) => {
      if (input.late) return { state: "late", tags: ["a"] };
      expectTypeOf(ctx.continueAsNew).parameters.toEqualTypeOf<[input: { late: boolean }]>();
      return { state: await ctx.step("x", () => "done" as const), at: ctx.now(), tags: [] };
    });
    const both = workflow({ name: "both", input: answer, output: answer }, (_ctx, input) => ({
      ...input,
      state: "late",
    }));
    const t = await openEngine(made, literal, literals, both);
    const result = await t.run(made, { n: "5" });
    expectTypeOf(result).toEqualTypeOf<{ n: number }>();
    expect(result).toEqual({ n: 5 });
    expectTypeOf(await t.run(literal)).toEqualTypeOf<"yes" | "no">();
    expectTypeOf(await t.run(literals, { late: true })).toEqualTypeOf<z.infer<typeof answer>>();
    expectTypeOf(await t.run(both, { state: "done", tags: [] })).toEqualTypeOf<z.infer<typeof answer>>();
  });

  test("has the type of its own request in startMany, also by name and in a list of any length", async () => {
    const double = workflow("double", async (_ctx, n: number) => n * 2);
    const hello = workflow("hello", async () => "hello");
    const t = await openEngine(double, hello);
    const [a, b, c] = await t.client.startMany([
      { workflow: double, input: 4, options: { id: "d", delay: "1s" } },
      { workflow: hello },
      { workflow: "double", input: 5 },
    ]);
    expectTypeOf(a).toEqualTypeOf<RunHandle<number, Offers, number>>();
    expectTypeOf(b).toEqualTypeOf<RunHandle<string, Offers, undefined>>();
    expectTypeOf(c).toEqualTypeOf<RunHandle<unknown>>();
    expect([await a.result(), await b.result(), await c.result()]).toEqual([8, "hello", 10]);
    const many = await t.client.startMany([1, 2].map((input) => ({ workflow: double, input })));
    expectTypeOf(many).toEqualTypeOf<RunHandle<number, Offers, number>[]>();
    expect(await Promise.all(many.map((one) => one.result()))).toEqual([2, 4]);
  });
});

describe("types of the input", () => {
  test("continueAsNew takes what the function takes", async () => {
    const rounds = workflow(
      "rounds",
      async (ctx, n: number): Promise<number> => (n < 3 ? ctx.continueAsNew(n + 1) : n),
    );
    const dated = workflow(
      { name: "dated", input: z.object({ at: z.string().transform((text) => new Date(text)) }) },
      async (ctx, { at }): Promise<Date> =>
        at.getTime() < 5 ? ctx.continueAsNew({ at: new Date(at.getTime() + 5) }) : at,
    );
    const annotated = workflow(
      { name: "annotated", input: z.object({ n: z.number(), m: z.number() }) },
      async (ctx, input: { n: number }) => {
        expectTypeOf(ctx).toExtend<Context>();
        return input.n;
      },
    );
    const optional = workflow("optional", async (ctx, n?: number): Promise<string> => {
      if (n === undefined) ctx.continueAsNew(1);
      return n === 1 ? ctx.continueAsNew(2) : `${n}`;
    });
    const helper = (ctx: Context, next: unknown): never => ctx.continueAsNew(next);
    const helped = workflow("helped", async (ctx, n: number): Promise<number> => (n < 2 ? helper(ctx, n + 1) : n));
    const t = await openEngine(rounds, dated, annotated, optional, helped);
    expect(await t.run(rounds, 0)).toBe(3);
    expect(await t.run(dated, { at: "1970-01-01T00:00:00.000Z" })).toEqual(new Date(5));
    expect(await t.run(annotated, { n: 1, m: 2 })).toBe(1);
    expect(await t.run(optional)).toBe("2");
    expect(await t.run(helped, 0)).toBe(2);
  });

  test("durations may be variables, patterns and mixtures", async () => {
    const naps = workflow("naps", async (ctx, given: { text: string; either: Duration; n: number }) => {
      await ctx.sleep("a variable", given.text);
      await ctx.sleep("a duration", given.either);
      await ctx.sleep("a pattern", `${given.n} minutes`);
      await ctx.sleep("a strict pattern", `${given.n}s` as const);
      await ctx.sleep("one of two", given.n > 1 ? "1h" : { minutes: 5 });
      await ctx.sleep("words in any case", "1.5 Hours 3 MIN");
      const options = { timeout: "3s", retry: { attempts: 2, fixed: "1s" } };
      await ctx.step("widened", () => 1, options);
      await ctx.step("mixed", () => 1, { timeout: given.text, retry: { initial: "1s", max: { minutes: 5 } } });
    });
    const t = await openEngine(naps);
    expect(await t.run(naps, { text: "1s", either: { seconds: 1 }, n: 2 })).toBeUndefined();
  });
});
