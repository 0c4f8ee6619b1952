import { task, workflow } from "holdfast";
import { replay, testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const resize = task("resize", async (size: number) => size);

const album = workflow("album", async (ctx) => {
  await ctx.step("open", () => 1);
  await ctx.parallel({
    left: async () => {
      await ctx.step("left 1", () => 1);
      await ctx.sleep("nap", "1 minute");
    },
    right: () => ctx.step("right 1", () => 2),
  });
  await ctx.parallel([() => ctx.task(resize, 3), () => ctx.task(resize, 3)]);
  await ctx.race({ quick: () => ctx.step("quick", () => 3), slow: () => ctx.sleep("slow", "1 day") });
  await ctx.step("close", () => 4);
});

async function albumRun() {
  const t = await testEngine({ workflows: [album], tasks: [resize] });
  const run = await t.client.start(album);
  await run.result();
  const [stored = []] = await t.store.histories.read({
    runs: [{ namespace: "default", runId: run.runId, afterSeq: 0 }],
    limitPerRun: 100,
  });
  return { t, run, stored, steps: new Map((await run.steps()).map((step) => [step.op, step])) };
}

describe("the origin of an op", () => {
  test("is the event that made the code ask for it, and its time", async () => {
    const { t, run, steps } = await albumRun();
    const history = await run.history();
    const seqOf = (op: string) => history.find((event) => event.op === op && /completed|fired/.test(event.type))?.seq;
    const afterOf = (op: string) => steps.get(op)?.after;
    expect(afterOf("open")).toBe(0);
    expect(afterOf("left 1")).toBe(seqOf("open"));
    expect(afterOf("right 1")).toBe(seqOf("open"));
    expect(afterOf("nap")).toBe(seqOf("left 1"));
    expect(afterOf("resize")).toBe(seqOf("nap"));
    expect(afterOf("resize#2")).toBe(seqOf("nap"));
    expect(afterOf("close")).toBe(seqOf("quick"));
    for (const { op, after, askedAt } of steps.values()) expect(askedAt, op).toEqual(history[after as number]?.at);
    await t.close();
  });

  test("is in each event of a history, and in the store only where it is not the event before", async () => {
    const { t, run, stored } = await albumRun();
    for (const { type, seq, after, op } of await run.history())
      if (type.startsWith("step_")) expect(after, `${op}`).toBeLessThan(seq);
    const written = stored.filter(({ meta }) => meta?.after !== undefined);
    expect(written.every(({ seq, meta }) => meta?.after !== seq - 1)).toBe(true);
    expect(written.map(({ op }) => op)).toContain("right 1");
    expect(written.map(({ op }) => op)).not.toContain("close");
    await t.close();
  });

  test("names the group and the branch of ops inside of one, and of no other", async () => {
    const { t, run, steps } = await albumRun();
    const placeOf = (op: string) => [steps.get(op)?.group, steps.get(op)?.branch];
    expect(placeOf("open")).toEqual([undefined, undefined]);
    expect(placeOf("left 1")).toEqual(["parallel", "left"]);
    expect(placeOf("nap")).toEqual(["parallel", "left"]);
    expect(placeOf("right 1")).toEqual(["parallel", "right"]);
    expect(placeOf("resize#2")).toEqual(["parallel#2", "1"]);
    expect(placeOf("quick")).toEqual(["race", "quick"]);
    expect(placeOf("close")).toEqual([undefined, undefined]);
    const history = await run.history();
    for (const { op, type, group } of history)
      if (op !== null) expect(group === undefined, `${type} ${op}`).toBe(op === "open" || op === "close");
    expect(await replay(album, JSON.parse(JSON.stringify(history)))).toMatchObject({ output: undefined });
    await t.close();
  });

  test("of a nested group is the innermost one", async () => {
    const nested = workflow("nested", (ctx) =>
      ctx.parallel({
        a: () => ctx.parallel({ b: () => ctx.uncancelable(() => ctx.step("deep", () => 1)) }),
        c: () => ctx.step("shallow", () => 2),
      }),
    );
    const t = await testEngine({ workflows: [nested] });
    const run = await t.client.start(nested);
    await run.result();
    expect(await run.steps()).toMatchObject([
      { op: "deep", group: "parallel#2", branch: "b" },
      { op: "shallow", group: "parallel", branch: "c" },
    ]);
    await t.close();
  });

  test("names the worker of each step, which the store keeps once for each hold", async () => {
    const fleet = openFleet();
    const moving = workflow("moving", async (ctx) => {
      await ctx.step("one", () => 1);
      await ctx.step("two", () => 2);
      await ctx.sleep("nap", "1 minute");
      await ctx.step("three", () => 3);
      await ctx.step("four", () => 4);
    });
    const first = await fleet.worker({ workflows: [moving], name: "first" });
    const run = await fleet.client().start(moving);
    await fleet.clock.settle();
    await fleet.clock.until(first.stop());
    await fleet.worker({ workflows: [moving], name: "second" });
    await fleet.result(run);
    const workers = (list: readonly { op: string | null; worker?: string }[]) =>
      list.filter(({ op }) => op !== "nap" && op !== null).map(({ op, worker }) => `${op} ${worker}`);
    const expected = ["one first", "two first", "three second", "four second"];
    expect(workers(await run.steps())).toEqual(expected);
    expect(workers(await run.history())).toEqual(expected);
    expect(workers(await run.history({ from: 2 }))).toEqual(expected.slice(1));
    const [stored = []] = await fleet.store.histories.read({
      runs: [{ namespace: "default", runId: run.runId, afterSeq: 0 }],
      limitPerRun: 100,
    });
    expect(stored.flatMap(({ meta }) => meta?.worker ?? [])).toEqual(["first", "second"]);
  });

  test("names the worker of steps in the midst of a long hold, whatever is looked at", async () => {
    const long = workflow("long", async (ctx) => {
      for (let i = 0; i < 1_200; i++) await ctx.step("work", () => i);
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [long], name: "only" });
    const run = await fleet.client().start(long);
    await fleet.result(run);
    const workers = (events: readonly { worker?: string }[]) => events.map(({ worker }) => worker);
    for (const from of [2, 500, 501, 502, 999, 1_150])
      expect(workers(await run.history({ from, limit: 2 })), `from ${from}`).toEqual(["only", "only"]);
    expect(workers(await run.history({ from: 700, ops: ["work#1000"] }))).toEqual(["only"]);
    const [stored = []] = await fleet.store.histories.read({
      runs: [{ namespace: "default", runId: run.runId, afterSeq: 0 }],
      limitPerRun: 2_000,
    });
    expect(stored.filter(({ meta }) => meta?.worker).map(({ seq }) => seq)).toEqual([1, 501, 1_001]);
  });

  test("says how failed attempts are repeated, when the error was, and which input a task had", async () => {
    const t = await testEngine({ workflows: [album], tasks: [resize] });
    const failing = workflow("failing", async (ctx) => {
      const no = (): never => {
        throw new Error("no");
      };
      await ctx.step("charge", no, { retry: { attempts: 4, fixed: "1 hour" } });
    });
    await t.client.worker({ workflows: [failing] }).start();
    const run = await t.client.start(failing, undefined, { id: "f" });
    await t.clock.advance("1 minute");
    const [charge] = await run.steps();
    expect(charge?.retry).toMatchObject({ attempts: 4, initialMs: 3_600_000, factor: 1 });
    expect(charge?.error?.at).toEqual((await run.history())[1]?.at);
    expect((await t.client.why("f")).causes).toMatchObject([{ kind: "backoff", attempt: 1, attempts: 4 }]);
    await t.clock.advance("1 day");
    const { error, endedAt } = await run.describe();
    expect(error).toMatchObject({ message: "no", at: endedAt });
    const { steps } = await albumRun();
    expect(steps.get("resize")?.inputHash).toMatch(/^[0-9a-f]{16}$/);
    expect(steps.get("resize")?.inputHash).toBe(steps.get("resize#2")?.inputHash);
    expect(steps.get("open")?.inputHash).toBeUndefined();
    await t.close();
  });

  test("says which input a child had, in steps() and in the history", async () => {
    const small = workflow("small", async (_ctx, n: number) => n);
    const parent = workflow("parent", async (ctx) => {
      for (const n of [1, 1, 2]) await ctx.child(small, n);
    });
    const t = await testEngine({ workflows: [parent, small] });
    const run = await t.client.start(parent);
    await run.result();
    const [first, second, third] = (await run.steps()).map((step) => step.inputHash);
    expect(first).toMatch(/^[0-9a-f]{16}$/);
    expect(second).toBe(first);
    expect(third).not.toBe(first);
    const [started] = await run.history({ types: ["child_started"] });
    expect(started?.inputHash).toBe(first);
    await t.close();
  });
});

describe("what an event says of an attempt, for people", () => {
  test.each([
    ["ten steps, one after the other", false, 10],
    ["a thousand steps at once", true, 1_000],
  ])("adds fewer than 20 bytes per step: %s", async (_title, atOnce, count) => {
    const fleet = openFleet();
    const work = () => new Promise<void>((resolve) => void fleet.clock.setTimer(12, resolve));
    const steps = workflow("steps", async (ctx) => {
      const names = Array.from({ length: count }, (_, i) => `step ${i}`);
      if (atOnce) await Promise.all(names.map((name) => ctx.step(name, work)));
      else for (const name of names) await ctx.step(name, work);
    });
    await fleet.worker({ workflows: [steps], name: "web-7f9c-x2k4" });
    const run = await fleet.client().start(steps);
    await fleet.result(run);
    const stored = fleet.store.state.events.get(run.runId) ?? [];
    expect(stored.map(({ type, meta }) => [type, meta?.ms])).toEqual(
      Array.from({ length: count }, () => ["step_completed", 12]),
    );
    // As stores keep it.
    const bytes = stored.reduce((sum, { meta }) => sum + JSON.stringify(meta).length, 0);
    expect(bytes / count).toBeLessThan(20);
  });
});
