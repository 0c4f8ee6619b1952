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

test("the key of limits, which no store keeps yet, is refused wherever a run is started", async () => {
  const said: string[] = [];
  const key = { key: "ann" } as object;
  const main = workflow("main", async (ctx) => {
    for (const call of [() => ctx.child(leaf, undefined, key), () => ctx.startChild(leaf, undefined, key)])
      try {
        await call();
      } catch (error) {
        said.push((error as HoldfastError).code, (error as Error).message);
      }
    await ctx.step("start", (s) =>
      s.start(leaf, undefined, key).catch((error: HoldfastError) => said.push(error.code, error.message)),
    );
  });
  const t = await openEngine(main, leaf);
  await t.run(main);
  const where = ['child "leaf"', 'child "leaf"', 'start of workflow "leaf" in step "start"'];
  expect(said).toEqual(
    where.flatMap((one) => ["invalid_option", expect.stringContaining(`${one}: there is no option "key".`)]),
  );
  const refused = { code: "invalid_option" };
  await expect(t.client.start(leaf, undefined, key)).rejects.toMatchObject(refused);
  await expect(t.client.signalWithStart(leaf, undefined, go, undefined, { id: "y", ...key })).rejects.toMatchObject(
    refused,
  );
  await expect(t.client.updateWithStart(leaf, undefined, add, 1, { id: "y", ...key })).rejects.toMatchObject(refused);
  expect(await t.client.count({ workflow: "leaf" })).toBe(0);
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
