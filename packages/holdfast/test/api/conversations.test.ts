// What the API page promises about updates and queries, as programs that compile without a cast and run.
import { type Offers, query, type RunHandle, signal, update, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, expectTypeOf, onTestFinished, test } from "vitest";
import { z } from "zod";

test("arguments and answers are inferred, with and without schemas", async () => {
  const add = update<{ item: string; at: Date }, { count: number; last: Date }>("add");
  const clear = update("clear");
  const rename = update("rename", z.object({ to: z.string().transform((text) => text.trim()) }));
  const scaled = update<number, string>("scaled", z.number());
  const items = query<string[]>("items");
  const price = query<{ cents: number }, { currency: string }>("price");
  const stop = signal("stop");
  const cart = workflow("cart", async (ctx, owner: string) => {
    const got: string[] = [];
    ctx.on(add, ({ item, at }) => {
      expectTypeOf(at).toEqualTypeOf<Date>();
      got.push(item);
      return { count: got.length, last: at };
    });
    ctx.on(clear, () => {
      got.length = 0;
    });
    ctx.on(rename, ({ to }) => {
      expectTypeOf(to).toEqualTypeOf<string>();
      return `[${to}]`;
    });
    ctx.on(scaled, {
      validate: (n) => expectTypeOf(n).toEqualTypeOf<number>() && undefined,
      handle: async (n) => "x".repeat(n),
    });
    ctx.on(items, () => got);
    ctx.on(price, ({ currency }) => ({ cents: currency === "EUR" ? 1 : 2 }));
    const heard = ctx.receive(stop);
    expectTypeOf(await ctx.until(() => got.length === 2)).toEqualTypeOf<true>();
    expectTypeOf(await ctx.until(() => false, { timeout: "1s" })).toEqualTypeOf<boolean>();
    await heard;
    return { owner, got };
  });
  const t = await testEngine({ workflows: [cart] });
  onTestFinished(() => t.close());
  const at = new Date(0);
  const { run, result } = await t.client.updateWithStart(cart, "ann", add, { item: "a", at }, { id: "c" });
  expectTypeOf(run).toEqualTypeOf<RunHandle<{ owner: string; got: string[] }, Offers, string>>();
  expectTypeOf(result).toEqualTypeOf<{ count: number; last: Date }>();
  expect(result).toEqual({ count: 1, last: at });
  const nothing = await run.update(clear);
  expectTypeOf(nothing).toEqualTypeOf<undefined>();
  const accepted = await run.update(add, { item: "b", at }, { wait: "accepted", timeout: "5s" });
  expectTypeOf(accepted.result).returns.resolves.toEqualTypeOf<{ count: number; last: Date }>();
  expect(await accepted.result()).toEqual({ count: 1, last: at });
  expect(await run.update(rename, { to: "  x " })).toBe("[x]");
  expect(await run.update(scaled, 3)).toBe("xxx");
  await expect(run.update(scaled, "3" as never)).rejects.toMatchObject({ code: "invalid_input" });
  const shown = await run.query(items);
  expectTypeOf(shown).toEqualTypeOf<string[]>();
  expect(shown).toEqual(["b"]);
  expect(await run.query(price, { currency: "EUR" })).toEqual({ cents: 1 });
  const handle = await t.client.signalWithStart(cart, "bob", stop, undefined, { id: "c" });
  expectTypeOf(handle).toEqualTypeOf<RunHandle<{ owner: string; got: string[] }, Offers, string>>();
  await run.update(add, { item: "c", at });
  expect(await handle.result()).toEqual({ owner: "ann", got: ["b", "c"] });
});

test("a schema that converts says what is sent and what the handler gets; one under explicit types must not convert", async () => {
  const number = z.object({ n: z.string().transform(Number) });
  const add = update("add", number);
  const twice = query("twice", number);
  const named = update<{ n: number }, string>("named", z.object({ n: z.number() }));
  // @ts-expect-error: what is sent would not be what the type says
  update<{ n: number }, string>("converts", number);
  const adder = workflow("adder", async (ctx) => {
    let sum = 0;
    ctx.on(add, ({ n }) => {
      expectTypeOf(n).toEqualTypeOf<number>();
      sum += n;
    });
    ctx.on(twice, ({ n }) => 2 * n);
    ctx.on(named, ({ n }) => String(n));
    await ctx.until(() => sum > 5);
    return sum;
  });
  const t = await testEngine({ workflows: [adder] });
  onTestFinished(() => t.close());
  const run = await t.client.start(adder);
  expect(await run.query(twice, { n: "5" })).toBe(10);
  // @ts-expect-error: the schema takes text
  await expect(run.query(twice, { n: 5 })).rejects.toMatchObject({ code: "invalid_input" });
  // @ts-expect-error: the schema takes text
  await expect(run.update(add, { n: 5 })).rejects.toMatchObject({ code: "invalid_input" });
  expect(await run.update(named, { n: 1 })).toBe("1");
  await run.update(add, { n: "7" });
  expect(await run.result()).toBe(7);
});

test("validate answers at once: an async one does not compile", () => {
  workflow("w", async (ctx) => {
    // @ts-expect-error: it returns a promise
    ctx.on(update<number, number>("u"), { validate: async () => {}, handle: (n) => n });
  });
});
