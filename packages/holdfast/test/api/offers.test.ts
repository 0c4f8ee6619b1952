// A workflow that lists its signals, updates and queries: what its handles and its code take, and what they refuse.
import {
  type Context,
  connect,
  type OffersOf,
  query,
  type RunHandle,
  signal,
  silentLogger,
  update,
  workflow,
} from "holdfast";
import { testEngine } from "holdfast/testing";
import { expect, expectTypeOf, onTestFinished, test } from "vitest";
import { z } from "zod";

const approve = signal<{ by: string }>("approve");
const stop = signal("stop");
const add = update<{ item: string }, number>("add");
const rename = update("rename", z.object({ to: z.string() }));
const total = query<number>("total");
const price = query<string, number>("price");

const cart = workflow(
  { name: "cart", signals: [approve, stop], updates: [add, rename], queries: [total, price] },
  async (ctx, owner: string) => {
    const items: string[] = [];
    ctx.on(add, ({ item }) => {
      expectTypeOf(item).toEqualTypeOf<string>();
      return items.push(item);
    });
    ctx.on(rename, { handle: ({ to }) => to.length });
    ctx.on(total, () => items.length);
    ctx.on(price, (factor) => String(factor * items.length));
    const first = await ctx.receive(approve);
    expectTypeOf(first).toEqualTypeOf<{ by: string }>();
    const second = await ctx.receive(stop, { timeout: "1 day" });
    expectTypeOf(second).toEqualTypeOf<true | undefined>();
    return { owner, by: first.by, items };
  },
);

// Foreign to the cart.
const other = signal<number>("other");
const alike = signal<{ by: string }>("aprove");
const remove = update<number, string>("remove");
const addAlike = update<{ item: string }, number>("ad");
const count = query<Date>("count");
const totalAlike = query<number>("totals");

async function engine() {
  const t = await testEngine({ workflows: [cart] });
  onTestFinished(() => t.close());
  return t.client;
}

test("a handle made from a definition with lists sends what they name, with everything inferred", async () => {
  const client = await engine();
  const run = await client.start(cart, "ann", { id: "c" });
  expectTypeOf(run).toExtend<RunHandle<{ owner: string; by: string; items: string[] }>>();
  expectTypeOf(await run.update(add, { item: "lamp" })).toEqualTypeOf<number>();
  const accepted = await client.get(cart, "c").update(add, { item: "bulb" }, { wait: "accepted" });
  expect(await accepted.result()).toBe(2);
  expect(await run.update(rename, { to: "xyz" })).toBe(3);
  expectTypeOf(await run.query(total)).toEqualTypeOf<number>();
  expect(await run.query(price, 3)).toBe("6");
  await run.signal(approve, { by: "ann" });
  await client.signalWithStart(cart, "ann", stop, undefined, { id: "c" });
  expect(await run.result()).toEqual({ owner: "ann", by: "ann", items: ["lamp", "bulb"] });
});

test("without lists, a workflow is what it was", () => {
  const plain = workflow({ name: "plain" }, async (ctx) => ctx.receive(other));
  expectTypeOf<OffersOf<typeof plain>>().toEqualTypeOf<OffersOf<string>>();
  const half = workflow({ name: "half", signals: [] }, async (ctx) => {
    ctx.on(add, () => 1);
  });
  expectTypeOf<OffersOf<typeof half>["updates"]>().toEqualTypeOf<unknown>();
  const given = workflow<number, string>({ name: "given", signals: [other] }, async (_ctx, n) => String(n));
  expectTypeOf(given.inputType).toEqualTypeOf<number | undefined>();
});

test("input, output and schemas are inferred beside lists", () => {
  const both = workflow(
    {
      name: "both",
      input: z.object({ at: z.coerce.date() }),
      output: z.object({ n: z.literal("one") }),
      signals: [stop],
    },
    async (ctx, { at }) => {
      expectTypeOf(at).toEqualTypeOf<Date>();
      await ctx.receive(stop);
      if (at.getTime() > 0) return ctx.continueAsNew({ at });
      return { n: "one" };
    },
  );
  expectTypeOf(both.outputType).toEqualTypeOf<{ n: "one" } | undefined>();
});

test("a workflow with lists may be its own child", () => {
  const dig = workflow({ name: "dig", signals: [stop], updates: [add] }, async (ctx, n: number): Promise<number> => {
    const deeper = await ctx.startChild(dig, n + 1);
    await deeper.signal(stop);
    return deeper.update(add, { item: "x" });
  });
  expectTypeOf(dig.outputType).toEqualTypeOf<number | undefined>();
});

test("what is not in a list does not compile, as far as types tell it apart", () => {
  expectTypeOf(async (run: RunHandle<number, OffersOf<typeof cart>>) => {
    // @ts-expect-error a signal of another payload
    await run.signal(other, 1);
    // @ts-expect-error the payload is that of the signal
    await run.signal(approve, { by: 1 });
    // @ts-expect-error an update of another argument
    await run.update(remove, 1);
    // @ts-expect-error also where the caller does not wait
    await run.update(remove, 1, { wait: "accepted" });
    // @ts-expect-error a query of another answer
    await run.query(count);
  }).toBeFunction();
  const silent = workflow({ name: "silent", signals: [], updates: [], queries: [] }, async (ctx) => {
    // @ts-expect-error it has none
    await ctx.receive(stop);
    // @ts-expect-error it has none
    ctx.on(add, () => 1);
    // @ts-expect-error it has none
    ctx.on(total, () => 1);
  });
  workflow({ name: "parent", signals: [stop] }, async (ctx) => {
    // @ts-expect-error not one of its own
    await ctx.receive(other);
    const child = await ctx.startChild(cart, "ann");
    await ctx.signal(child, approve, { by: "ann" });
    expectTypeOf(await child.update(add, { item: "a" })).toEqualTypeOf<number>();
    // @ts-expect-error not one of the child's
    await child.signal(other, 1);
    // @ts-expect-error nor through ctx
    await ctx.signal(child, other, 1);
    // @ts-expect-error nor this update
    await child.update(remove, 1);
    await ctx.signal("any-id", other, 1);
    await ctx.signal({ id: "any", namespace: "else" }, other, 1);
    await helper(ctx);
    await ctx.parallel([(branch) => branch.receive(stop)]);
  });
  async function helper(ctx: Context): Promise<void> {
    await ctx.receive(stop);
  }
  // @ts-expect-error a list holds definitions of its kind
  expectTypeOf(() => workflow({ name: "mixed", signals: [add] }, async () => {})).toBeFunction();
  expectTypeOf(async (hf: Awaited<ReturnType<typeof engine>>) => {
    // @ts-expect-error not one of the cart's
    await hf.signalWithStart(cart, "ann", other, 1, { id: "c" });
    // @ts-expect-error not one of the cart's
    await hf.updateWithStart(cart, "ann", remove, 1, { id: "c" });
    const { run } = await hf.updateWithStart(cart, "ann", add, { item: "a" }, { id: "c" });
    // @ts-expect-error the handle it returns knows as well
    await run.query(count);
    const [first] = await hf.startMany([{ workflow: cart, input: "ann" }]);
    // @ts-expect-error and those of startMany
    await first.signal(other, 1);
    // @ts-expect-error and one of a workflow with empty lists
    await hf.get(silent, "s").signal(stop);
    await hf.get("s").signal(other, 1);
    await hf.signalWithStart("cart", "ann", other, 1, { id: "c" });
  }).toBeFunction();
});

test("what is not in a list is refused before anything is sent, with the workflow and what it offers", async () => {
  const client = await engine();
  const run = await client.start(cart, "ann", { id: "c" });
  const handles = [run, client.get(cart, "c"), (await client.startMany([{ workflow: cart, input: "b" }]))[0]];
  for (const handle of handles) {
    await expect(handle.signal(alike, { by: "ann" })).rejects.toMatchObject({
      code: "invalid_argument",
      message:
        'signal: workflow "cart" does not offer signal "aprove". The signals that it lists are "approve", "stop". Did you mean "approve"? Nothing was sent.',
      data: { workflow: "cart", kind: "signal", name: "aprove", offered: ["approve", "stop"] },
    });
    await expect(handle.update(addAlike, { item: "a" })).rejects.toMatchObject({ code: "invalid_argument" });
    await expect(handle.query(totalAlike)).rejects.toMatchObject({ code: "invalid_argument" });
  }
  const id = "new";
  await expect(client.signalWithStart(cart, "ann", alike, { by: "a" }, { id })).rejects.toMatchObject({
    code: "invalid_argument",
  });
  await expect(client.updateWithStart(cart, "ann", addAlike, { item: "a" }, { id })).rejects.toMatchObject({
    code: "invalid_argument",
  });
  await expect(client.get(id).describe()).rejects.toMatchObject({ code: "run_not_found" });
  expect((await run.history()).map(({ type }) => type)).toEqual(["run_started"]);
  // One made from the id alone, or by name, knows no lists.
  await client.get("c").signal(alike, { by: "ann" });
  await run.signal(approve, { by: "ann" });
  await run.signal(stop);
  await run.result();
  expect((await run.history()).filter(({ type }) => type === "signal_received").map(({ op }) => op)).toEqual([
    "aprove",
    "approve",
    "stop",
  ]);
});

test("a child's handle refuses what its workflow does not list, and so does ctx.signal with it", async () => {
  const said: unknown[] = [];
  const parent = workflow("parent", async (ctx) => {
    const child = await ctx.startChild(cart, "ann", { id: "the-child" });
    for (const send of [
      () => child.signal(alike, { by: "x" }),
      () => child.update(addAlike, { item: "x" }),
      () => ctx.signal(child, alike, { by: "x" }),
    ])
      try {
        await send();
      } catch (error) {
        said.push((error as { code: string }).code, (error as Error).message.split(":")[0]);
      }
    await child.signal(approve, { by: "bob" });
    await ctx.signal(child, stop);
    return child.result();
  });
  const t = await testEngine({ workflows: [parent, cart] });
  onTestFinished(() => t.close());
  expect(await t.run(parent)).toMatchObject({ by: "bob" });
  expect(said).toEqual(["child.signal", "child.update", "ctx.signal"].flatMap((call) => ["invalid_argument", call]));
  expect((await t.client.get("the-child").history()).filter(({ type }) => type === "signal_received")).toHaveLength(2);
});

test("code that receives or answers what its own workflow does not list is a bug: the run is parked", async () => {
  const receives = workflow({ name: "receives", signals: [approve] }, async (ctx) => ctx.receive(alike));
  const answers = workflow({ name: "answers", updates: [], queries: [total] }, async (ctx) => {
    ctx.on(totalAlike, () => 1);
  });
  const fails = workflow({ name: "fails", signals: [approve], onBug: "fail" }, async (ctx) => ctx.receive(alike));
  const t = await testEngine({ workflows: [receives, answers, fails] });
  onTestFinished(() => t.close());
  await expect(t.run(receives)).rejects.toMatchObject({
    code: "run_parked",
    message: expect.stringContaining(
      'ctx.receive: workflow "receives" does not offer signal "aprove". The signals that it lists are "approve". Did you mean "approve"? Add it to that list.',
    ),
  });
  await expect(t.run(answers)).rejects.toMatchObject({
    code: "run_parked",
    message: expect.stringContaining('ctx.on: workflow "answers" does not offer query "totals".'),
  });
  await expect(t.run(fails)).rejects.toMatchObject({ code: "run_failed" });
});

test("a run parked for a signal that was not listed is taken up by a worker whose list has it", async () => {
  const code = async (ctx: Context): Promise<string> => (await ctx.receive(alike)).by;
  const broken = workflow({ name: "w", signals: [approve] }, code);
  const hf = await connect("memory:", { logger: silentLogger });
  onTestFinished(() => hf.close());
  const worker = hf.worker({ workflows: [broken] });
  await worker.start();
  const run = await hf.start(broken, undefined, { id: "w" });
  await expect(run.result()).rejects.toMatchObject({ code: "run_parked" });
  await worker.stop();
  const fixed = workflow({ name: "w", signals: [approve, alike] }, code);
  await hf.worker({ workflows: [fixed] }).start();
  await hf.get(fixed, "w").signal(alike, { by: "ann" });
  expect(await run.result({ onParked: "wait" })).toBe("ann");
});

test.each([
  [{ signals: approve }, 'signals is {"kind":"signal","name":"approve"}, not an array'],
  [{ signals: [add] }, 'signals[0] is {"kind":"update","name":"add"}, not a signal'],
  [{ updates: ["add"] }, 'updates[0] is "add", not an update. Make one with update("name")'],
  [{ queries: [total, undefined] }, "queries[1] is undefined, not a query"],
  [{ signals: [stop, signal("stop")] }, 'signals has "stop" twice'],
])("lists that are no lists of definitions are refused: %#", (lists, message) => {
  const make = (): unknown => workflow({ name: "w", ...(lists as object) }, async () => {});
  expect(make).toThrow(expect.objectContaining({ code: "invalid_option", message: expect.stringContaining(message) }));
});
