// Locks of runs that are canceled, or whose steps are undone.
import { type Context, workflow } from "holdfast";
import { expect, test } from "vitest";
import { openEngine } from "../lab/fleet.ts";
import { LockedRoom } from "../lab/locked-room.ts";

test("a run that is canceled in ctx.uncancelable keeps its lock until it has left", async () => {
  const room = new LockedRoom();
  const firm = workflow("firm", async (ctx: Context) => {
    await ctx.uncancelable((c) => room.visit(c, {}, "1 hour"));
    await ctx.sleep("after", "1 day");
  });
  const visit = workflow("visit", (ctx: Context) => room.visit(ctx));
  const t = await openEngine(firm, visit);
  const run = await t.client.start(firm, undefined, { id: "firm" });
  await t.clock.settle();
  const next = await t.client.start(visit, undefined, { id: "next" });
  await run.cancel();
  await t.clock.advance("30 minutes");
  expect([...room.inside]).toEqual(["firm"]);
  await expect(run.result()).rejects.toMatchObject({ code: "run_canceled" });
  expect(await next.result()).toBe("next");
  expect(room).toMatchObject({ most: 1, visits: ["firm", "next"] });
  expect(t.store.state.locks.size).toBe(0);
});

test("a run that is canceled while it waits for a lock in ctx.uncancelable still gets it", async () => {
  const room = new LockedRoom();
  const visit = workflow("visit", (ctx: Context) => room.visit(ctx, {}, "1 hour"));
  const tidy = workflow("tidy", async (ctx: Context) => {
    try {
      await ctx.sleep("long", "30 days");
    } finally {
      await ctx.uncancelable((c) => room.visit(c));
    }
  });
  const t = await openEngine(visit, tidy);
  const first = await t.client.start(visit, undefined, { id: "first" });
  const run = await t.client.start(tidy, undefined, { id: "tidy" });
  await t.clock.settle();
  await run.cancel();
  await t.clock.advance("30 minutes");
  expect(await run.status()).toBe("waiting");
  await first.result();
  await expect(run.result()).rejects.toMatchObject({ code: "run_canceled" });
  expect(room).toMatchObject({ most: 1, visits: ["first", "tidy"] });
  expect(t.store.state.locks.size).toBe(0);
});

test("a run that is canceled while it waits for a lock leaves the line", async () => {
  const room = new LockedRoom();
  const visit = workflow("visit", (ctx: Context) => room.visit(ctx, {}, "1 hour"));
  const t = await openEngine(visit);
  const runs = [];
  for (const id of ["a", "b", "c"]) {
    runs.push(await t.client.start(visit, undefined, { id }));
    await t.clock.settle();
  }
  await runs[1]?.cancel();
  await expect(runs[1]?.result()).rejects.toMatchObject({ code: "run_canceled" });
  expect(await runs[2]?.result()).toBe("c");
  expect(room).toMatchObject({ most: 1, visits: ["a", "c"] });
  expect(t.store.state.locks.size).toBe(0);
});

test.each(["fails", "is canceled"])(
  "when a run %s inside, steps are undone after it has left the lock",
  async (how) => {
    const order: string[] = [];
    const saga = workflow("saga", (ctx: Context) =>
      ctx.withLock("room", async () => {
        const note = (what: string): void => void order.push(`${what}, ${held()} held`);
        await ctx.step("charge", () => note("charge"), { compensate: () => note("refund") });
        await ctx.sleep("inside", "1 minute");
        await ctx.step("ship", () => Promise.reject(new Error("none left")), { retry: "none" });
      }),
    );
    const t = await openEngine(saga);
    const held = (): number => [...t.store.state.locks.values()].filter(({ givenBack }) => !givenBack).length;
    const run = await t.client.start(saga, undefined, { id: "saga" });
    await t.clock.settle();
    if (how === "is canceled") await run.cancel();
    const code = how === "fails" ? "run_failed" : "run_canceled";
    await expect(run.result()).rejects.toMatchObject({ code });
    expect(order).toEqual(["charge, 1 held", "refund, 0 held"]);
    expect(t.store.state.locks.size).toBe(0);
  },
);
