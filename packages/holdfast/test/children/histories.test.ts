import { type HoldfastError, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const go = signal("go");
const waiting = workflow("waiting", async (ctx) => ctx.receive(go));
const broken = workflow("broken", async () => {
  throw new Error("out of order");
});
const done = workflow("done", async () => 42);
const moving = workflow("moving", async (ctx, n: number): Promise<number> => {
  await ctx.step("x", () => n);
  return n === 2 ? n : ctx.continueAsNew(n + 1);
});
const codeOf = (error: HoldfastError): string => error.code;

describe("the history of a parent", () => {
  test("says that a child started and how it ended, in every way that it can end", async () => {
    const main = workflow("main", async (ctx) => {
      const codes: unknown[] = [await ctx.child(done), await ctx.child(broken).catch(codeOf)];
      const canceled = await ctx.startChild(waiting);
      await canceled.cancel("not needed");
      codes.push(await canceled.result().catch(codeOf));
      codes.push(await ctx.child(waiting, undefined, { timeout: "1h" }).catch(codeOf));
      codes.push(await ctx.child(waiting, undefined, { id: "victim" }).catch(codeOf));
      return codes;
    });
    const t = await openEngine(main, done, broken, waiting);
    const run = await t.client.start(main);
    await t.clock.advance("2h");
    await t.client.get("victim").terminate();
    expect(await run.result()).toEqual([42, "run_failed", "run_canceled", "run_timed_out", "run_terminated"]);
    const told = (await run.history()).filter(({ category }) => category === "child");
    expect(told.map((event) => [event.op, event.type, event.status])).toEqual([
      ["done", "child_started", undefined],
      ["done", "child_completed", undefined],
      ["broken", "child_started", undefined],
      ["broken", "child_failed", "failed"],
      ["waiting", "child_started", undefined],
      ["waiting", "child_failed", "canceled"],
      ["waiting#2", "child_started", undefined],
      ["waiting#2", "child_failed", "timed_out"],
      ["waiting#3", "child_started", undefined],
      ["waiting#3", "child_failed", "terminated"],
    ]);
  });

  test("says that the cancellation of a child was requested: by its handle, or because the child was given up", async () => {
    const main = workflow("main", async (ctx) => {
      const kid = await ctx.startChild(waiting, undefined, { id: "kid" });
      await kid.cancel("not needed");
      await ctx.race([() => ctx.child(waiting), () => ctx.sleep("a while", "1h")]);
      await ctx.step("after", () => 1);
    });
    const t = await openEngine(main, waiting);
    const run = await t.client.start(main);
    await run.result();
    const told = (await run.history()).filter(({ type }) => type === "message_sent" || type === "op_canceled");
    expect(told.map(({ type, op }) => [type, op])).toEqual([
      ["message_sent", "cancel:kid"],
      ["op_canceled", "waiting#2"],
    ]);
  });

  test("takes a child that continues as new for one, whose runs the list has", async () => {
    const main = workflow("main", async (ctx) => ctx.child(moving, 1, { id: "m" }));
    const t = await openEngine(main, moving);
    const run = await t.client.start(main);
    expect(await run.result()).toBe(2);
    const types = (await run.history()).map(({ type }) => type);
    expect(types).toEqual(["run_started", "child_started", "child_completed", "run_completed"]);
    const { runs } = await t.client.list({ id: "m" });
    expect(runs.map(({ status }) => status)).toEqual(["completed", "continued"]);
  });
});

test("the history of a run says how its calls to another namespace ended", async () => {
  const theirsOf = (id: string) => ({ namespace: "theirs", id });
  const main = workflow("main", async (ctx) => {
    await ctx.signal(theirsOf("ear"), go);
    await ctx.cancel(theirsOf("victim"));
    const codes = [];
    for (const id of ["victim", "late", "nobody"]) codes.push(await ctx.resultOf(theirsOf(id)).catch(codeOf));
    return codes;
  });
  const fleet = openFleet();
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ workflows: [waiting] }, { namespace: "theirs" });
  const theirs = fleet.client({ namespace: "theirs" });
  await theirs.namespaces.allow("default");
  await theirs.start(waiting, undefined, { id: "ear" });
  await theirs.start(waiting, undefined, { id: "victim" });
  await theirs.start(waiting, undefined, { id: "late", timeout: "1h" });
  const run = await fleet.client().start(main);
  expect(await fleet.result(run)).toEqual(["run_canceled", "run_timed_out", "run_not_found"]);
  const told = (await run.history()).filter(({ category }) => category === "nexus");
  expect(told.map(({ op, type, status, namespace }) => [op, type, status, namespace])).toEqual([
    ["signal:go", "message_sent", undefined, "theirs"],
    ["cancel:theirs/victim", "message_sent", undefined, "theirs"],
    ["result:theirs/victim", "message_failed", "canceled", "theirs"],
    ["result:theirs/late", "message_failed", "timed_out", "theirs"],
    ["result:theirs/nobody", "message_failed", undefined, "theirs"],
  ]);
});

test("a call to another namespace that takes too long is given up by a race, whose timer is in the history", async () => {
  const main = workflow("main", async (ctx) => {
    const { winner } = await ctx.race({
      result: (c) => c.resultOf({ namespace: "theirs", id: "slow" }),
      tooLate: (c) => c.sleep("limit", "1 hour"),
    });
    return winner;
  });
  const fleet = openFleet();
  await fleet.worker({ workflows: [main] });
  await fleet.worker({ workflows: [waiting] }, { namespace: "theirs" });
  const theirs = fleet.client({ namespace: "theirs" });
  await theirs.namespaces.allow("default");
  const slow = await theirs.start(waiting, undefined, { id: "slow" });
  const run = await fleet.client().start(main);
  expect(await fleet.result(run)).toBe("tooLate");
  const told = (await run.history()).map(({ type, op }) => [type, op]);
  expect(told).toContainEqual(["timer_fired", "limit"]);
  expect(told.some(([, op]) => op?.startsWith("result:"))).toBe(false);
  expect(await slow.status()).toBe("waiting");
});
