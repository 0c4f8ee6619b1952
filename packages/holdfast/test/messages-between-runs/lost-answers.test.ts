import { type HoldfastError, signal, workflow } from "holdfast";
import type { StoreMethod } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { failing } from "../lab/failing-calls.ts";
import { openEngine } from "../lab/fleet.ts";
import { openWorld } from "../lab/world.ts";

const note = signal<string>("note");
const CALLS: readonly StoreMethod[] = ["inbox.deliver", "runs.watch", "runs.commit", "debts.read", "debts.pay"];

const listener = workflow("listener", async (ctx, count: number) => {
  const heard: string[] = [];
  while (heard.length < count) heard.push(await ctx.receive(note));
  return heard;
});

describe("although calls fail", () => {
  for (const moment of ["before", "after"] as const)
    test.each(CALLS)(`each message arrives once and in order, failing ${moment} %s`, async (method) => {
      const world = openWorld();
      const main = workflow("main", async (ctx) => {
        const result = ctx.resultOf(listener, "ear");
        await Promise.all([ctx.signal("ear", note, "1"), ctx.signal("ear", note, "2"), ctx.signal("ear", note, "3")]);
        await ctx.signal("ear", note, "4");
        return result;
      });
      const client = world.client({ hooks: failing(method, moment, 4) });
      await world.worker(client, { workflows: [main, listener] });
      const ear = await world.client().start(listener, 4, { id: "ear" });
      const run = await world.client().start(main);
      expect(await world.result(run)).toEqual(["1", "2", "3", "4"]);
      expect(await world.result(ear)).toEqual(["1", "2", "3", "4"]);
      await world.clock.advance("1m");
      expect(world.store.state.debts.size).toBe(0);
    });
});

test("a thousand signals from a hundred runs arrive once each, those of one run in order", async () => {
  const ears = workflow("ears", async (ctx) => {
    const heard: string[] = [];
    while (heard.length < 1_000) heard.push(await ctx.receive(note));
    return heard;
  });
  const mouth = workflow("mouth", async (ctx, name: number) => {
    for (let i = 0; i < 10; i++) await ctx.signal("ears", note, `${name}:${i}`);
  });
  const t = await openEngine(ears, mouth);
  const run = await t.client.start(ears, undefined, { id: "ears" });
  await t.client.startMany(Array.from({ length: 100 }, (_, name) => ({ workflow: mouth, input: name })));
  const heard = await run.result();
  expect(new Set(heard).size).toBe(1_000);
  const ofOne = heard.filter((text) => text.startsWith("42:"));
  expect(ofOne).toEqual(Array.from({ length: 10 }, (_, i) => `42:${i}`));
});

test("two runs that signal each other, over and over, both end", async () => {
  const ping = workflow("ping", async (ctx, { other, first }: { other: string; first: boolean }) => {
    for (let i = 0; i < 50; i++) {
      if (first) await ctx.signal(other, note, `${i}`);
      expect(await ctx.receive(note)).toBe(`${i}`);
      if (!first) await ctx.signal(other, note, `${i}`);
    }
    return "done";
  });
  const t = await openEngine(ping);
  const later = await t.client.start(ping, { other: "a", first: false }, { id: "b" });
  const first = await t.client.start(ping, { other: "b", first: true }, { id: "a" });
  expect(await Promise.all([first.result(), later.result()])).toEqual(["done", "done"]);
});

test("a payload that the schema of the signal refuses is refused where it is sent", async () => {
  const count = signal("count", z.number().int());
  const main = workflow("main", async (ctx) => {
    try {
      await ctx.signal("ear", count, 1.5);
      return "sent";
    } catch (error) {
      return (error as HoldfastError).code;
    }
  });
  const t = await openEngine(main);
  expect(await t.run(main)).toBe("invalid_signal");
});

test("any id can be sent to, also one that looks like an op", async () => {
  const main = workflow("main", async (ctx) => {
    await ctx.signal("ear#2", note, "x");
    const [heard] = await ctx.resultOf(listener, "ear#2");
    await ctx.cancel("ear#2");
    return heard;
  });
  const t = await openEngine(main, listener);
  await t.client.start(listener, 1, { id: "ear#2" });
  expect(await t.run(main)).toBe("x");
});

test("a run whose wait for another failed is retried, and takes what has become of the other since", async () => {
  let broken = true;
  const flaky = workflow("flaky", async (ctx) =>
    ctx.step(
      "work",
      () => {
        if (broken) throw new Error("no");
        return "done";
      },
      { retry: "none" },
    ),
  );
  const main = workflow("main", async (ctx) => ctx.resultOf(flaky, "f"));
  const t = await openEngine(main, flaky);
  const other = await t.client.start(flaky, undefined, { id: "f" });
  const run = await t.client.start(main);
  await expect(run.result()).rejects.toMatchObject({ cause: { code: "run_failed", op: "result:f" } });
  broken = false;
  await other.retry();
  await run.retry();
  expect(await run.result()).toBe("done");
});
