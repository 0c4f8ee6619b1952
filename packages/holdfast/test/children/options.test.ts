// Every option of the calls that start runs from within runs, or with a message: it works, or it is refused.
import { type HoldfastError, signal, update, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const go = signal("go");
const add = update<number, number>("add");
const leaf = workflow({ name: "leaf", version: "7" }, async (ctx) => {
  ctx.on(add, (n) => n + 1);
  await ctx.receive(go);
});
const options = {
  id: "x",
  version: "7",
  queue: "default",
  priority: 4,
  timeout: "2 days",
  attributes: { city: "Ulm" },
} as const;
const shown = {
  id: "x",
  version: "7",
  queue: "default",
  priority: 4,
  attributes: { city: "Ulm" },
  deadlineAt: expect.any(Date),
};

describe("what a start says about its run", () => {
  const main = workflow("main", async (ctx, how: string) => {
    if (how === "child") await ctx.child(leaf, undefined, options);
    if (how === "startChild") await ctx.startChild(leaf, undefined, { ...options, onParentClose: "abandon" });
    if (how === "s.start") await ctx.step("start", (s) => s.start(leaf, undefined, options));
  });

  test.each(["child", "startChild", "s.start"])("is what %s was given", async (how) => {
    const t = await openEngine(main, leaf);
    const run = await t.client.start(main, how);
    await t.clock.settle();
    expect(await t.client.get("x").describe()).toMatchObject(shown);
    await t.client.get("x").signal(go);
    await run.result();
  });

  test("is what signalWithStart and updateWithStart were given, a delay included", async () => {
    const t = await openEngine(leaf);
    await t.client.signalWithStart(leaf, undefined, go, undefined, { ...options, delay: "1 hour", signalId: "s" });
    expect(await t.client.get("x").describe()).toMatchObject({ ...shown, status: "pending", startedAt: null });
    await t.client.get("x").result();
    const startAt = new Date(t.clock.now() + 3_600_000);
    const own = { ...options, startAt, updateId: "u", updateTimeout: "2 hours" } as const;
    const { run, result } = await t.client.updateWithStart(leaf, undefined, add, 1, own);
    expect(result).toBe(2);
    const described = await run.describe();
    expect(described).toMatchObject(shown);
    expect(described.startedAt?.getTime()).toBeGreaterThanOrEqual(startAt.getTime());
    await run.signal(go);
    await run.result();
  });
});

test("a key is kept wherever a run is started, and a bad one refused", async () => {
  const said: string[] = [];
  const main = workflow("main", async (ctx) => {
    await ctx.startChild(leaf, undefined, { id: "child", key: "ann", onParentClose: "abandon" });
    await ctx.step("start", (s) => s.start(leaf, undefined, { id: "in a step", key: "ann" }));
    await ctx.step("bad", (s) =>
      s.start(leaf, undefined, { key: "" }).catch((error: HoldfastError) => said.push(error.code)),
    );
  });
  const t = await openEngine(main, leaf);
  await t.run(main);
  expect(said).toEqual(["invalid_name"]);
  for (const id of ["child", "in a step"]) expect((await t.client.get(id).describe()).key).toBe("ann");
  await t.client.signalWithStart(leaf, undefined, go, undefined, { id: "y", key: "ben" });
  expect((await t.client.get("y").describe()).key).toBe("ben");
});

test("a run of another namespace is named with its run id, too", async () => {
  const told = workflow("told", async (ctx) => ctx.receive(go));
  const teller = workflow("teller", async (ctx, to: { namespace: string; id: string; runId: string }) => {
    await ctx.signal(to, go);
    return ctx.resultOf(told, to);
  });
  const fleet = openFleet();
  await fleet.worker({ workflows: [teller] });
  await fleet.worker({ workflows: [told] }, { namespace: "theirs" });
  const theirs = fleet.client({ namespace: "theirs" });
  await theirs.namespaces.allow("default");
  const { id, runId } = await theirs.start(told, undefined, { id: "t" });
  const run = await fleet.client().start(teller, { namespace: "theirs", id, runId });
  expect(await fleet.clock.until(run.result())).toBe(true);
});
