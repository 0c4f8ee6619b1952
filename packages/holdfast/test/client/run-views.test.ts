import { signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const approve = signal<{ by: string }>("approve");

const order = workflow("order", async (ctx, input: { id: string }) => {
  ctx.set({ customer: "ann" });
  const flag = ctx.sideEffect("flag", () => "on");
  const paid = await ctx.step(
    "charge",
    (s) => {
      if (s.attempt === 1) throw new Error("busy");
      return { paid: input.id };
    },
    { retry: { attempts: 2, fixed: "1m" } },
  );
  const ok = await ctx.receive(approve, { timeout: "1 day" });
  await ctx.sleep("cool-off", "1h");
  return { ...paid, ...ok, flag };
});

describe("a handle", () => {
  test("describes a run at every stage of its life", async () => {
    const fleet = openFleet();
    const began = fleet.clock.now();
    const at = (minutes: number): Date => new Date(began + minutes * 60_000);
    const run = await fleet.client().start(order, { id: "o" }, { id: "o-1", timeout: "7 days" });
    expect(await run.describe()).toEqual({
      runId: run.runId,
      id: "o-1",
      namespace: "default",
      workflow: "order",
      version: "1",
      queue: "default",
      priority: 0,
      key: null,
      status: "pending",
      compensation: null,
      attributes: {},
      waitingFor: [],
      createdAt: at(0),
      startedAt: null,
      endedAt: null,
      updatedAt: at(0),
      why: { kind: "limit", since: at(0), text: "due: waits for a worker" },
      availableAt: at(0),
      deadlineAt: at(7 * 24 * 60),
      workerId: null,
      historyLength: 1,
      continuedFrom: null,
      continuedAs: null,
      parent: null,
      root: { id: "o-1", runId: run.runId },
      depth: 0,
      forkedFrom: null,
      input: { id: "o" },
      output: undefined,
      error: null,
    });
    await fleet.worker({ workflows: [order] });
    await fleet.clock.settle();
    expect(await run.describe()).toMatchObject({ status: "sleeping", waitingFor: ["charge"], availableAt: at(1) });
    await fleet.clock.advance("10m");
    expect(await run.describe()).toMatchObject({
      status: "waiting",
      waitingFor: ["receive:approve"],
      availableAt: at(1 + 24 * 60),
      startedAt: at(0),
      attributes: { customer: "ann" },
    });
    await run.signal(approve, { by: "bob" });
    expect(await fleet.result(run)).toEqual({ paid: "o", by: "bob", flag: "on" });
    expect(await run.describe()).toMatchObject({
      status: "completed",
      endedAt: at(70),
      output: { paid: "o", by: "bob", flag: "on" },
      availableAt: null,
      workerId: null,
      historyLength: 10,
    });
  });

  test("shows no running step of a parked run: one that was cut off waits, one that was canceled is canceled", async () => {
    const work = ({ signal }: { readonly signal: AbortSignal }) =>
      new Promise<never>((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
    const deaf = workflow("deaf", async (ctx) => {
      for (;;) await ctx.step("work", work).catch(() => {});
    });
    const buggy = workflow("buggy", async (ctx) => {
      const bug = () => JSON.parse("{");
      await ctx.parallel([(c) => c.step("work", work), (c) => c.sleep("nap", "1m").then(bug)]);
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [deaf, buggy] });
    const canceled = await fleet.client().start(deaf);
    const cutOff = await fleet.client().start(buggy);
    await fleet.clock.advance("2m");
    await canceled.cancel();
    await fleet.clock.settle();
    expect(await canceled.describe()).toMatchObject({ status: "parked", error: { code: "cancel_ignored" } });
    expect(await canceled.steps()).toMatchObject([{ op: "work", status: "canceled" }]);
    expect(await cutOff.describe()).toMatchObject({ status: "parked", error: { code: "workflow_bug" } });
    expect(await cutOff.steps()).toMatchObject([
      { op: "nap", status: "completed" },
      { op: "work", status: "waiting" },
    ]);
  });

  test("shows who holds a run that is being worked on", async () => {
    const busy = workflow("busy", (ctx) => ctx.step("hang", () => new Promise(() => {})));
    const fleet = openFleet();
    const worker = await fleet.worker({ workflows: [busy] });
    const run = await fleet.client().start(busy);
    await fleet.clock.settle();
    expect(await run.describe()).toMatchObject({ status: "running", workerId: worker.workerId, availableAt: null });
  });

  test("tells the history as numbered events without gaps, in order of time, from start to end", async () => {
    const t = await openEngine(order);
    const run = await t.client.start(order, { id: "o" });
    await t.clock.settle();
    await run.signal(approve, { by: "bob" });
    await run.result();
    const history = await run.history();
    expect(history.map((event) => event.seq)).toEqual(history.map((_, i) => i));
    expect(history.map(({ type, category, op }) => [type, category, op])).toEqual([
      ["run_started", "workflow", null],
      ["attributes_set", "search_attribute", null],
      ["side_effect", "side_effect", "flag"],
      ["step_attempt_failed", "step", "charge"],
      ["signal_received", "signal", "approve"],
      ["step_completed", "step", "charge"],
      ["timer_created", "timer", "cool-off"],
      ["timer_fired", "timer", "cool-off"],
      ["run_completed", "workflow", null],
    ]);
    const times = history.map((event) => event.at.getTime());
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(history[0]).toMatchObject({ value: { id: "o" } });
    expect(history[3]).toMatchObject({ attempt: 1, error: { name: "Error", message: "busy" } });
    expect(history[5]).toMatchObject({ attempt: 2, value: { paid: "o" } });
    expect(history.at(-1)).toMatchObject({ value: { paid: "o", by: "bob", flag: "on" } });
  });

  test("folds the history into one row for each op", async () => {
    const t = await openEngine(order);
    const run = await t.client.start(order, { id: "o" });
    await t.clock.settle();
    await run.signal(approve, { by: "bob" });
    await run.result();
    expect(
      (await run.steps()).map(({ op, kind, status, attempts, output }) => [op, kind, status, attempts, output]),
    ).toEqual([
      ["flag", "side_effect", "completed", 1, "on"],
      ["charge", "step", "completed", 2, { paid: "o" }],
      ["receive:approve", "signal", "completed", 1, { by: "bob" }],
      ["cool-off", "timer", "completed", 1, undefined],
    ]);
  });

  test("reads the history of a run while it goes on, each time a consistent beginning of it", async () => {
    const busy = workflow("busy", async (ctx) => {
      for (let i = 0; i < 60; i++) await ctx.parallel([1, 2, 3].map((n) => () => ctx.step(`s${n}`, () => i)));
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [busy] });
    const run = await fleet.client().start(busy);
    const reads: Promise<number>[] = [];
    for (let tick = 0; tick < 200; tick++) {
      reads.push(run.history().then((history) => history.length));
      await new Promise<void>((resolve) => fleet.clock.immediate(resolve));
    }
    await fleet.result(run);
    const lengths = await Promise.all(reads);
    expect(new Set(lengths).size).toBeGreaterThan(5);
    expect(await run.history()).toHaveLength(182);
  });

  test("from get(id) finds the newest run of that id, knows no runId, and says when there is none", async () => {
    const t = await openEngine(order);
    const first = await t.client.start(order, { id: "1" }, { id: "o" });
    await first.terminate();
    const second = await t.client.start(order, { id: "2" }, { id: "o", ifClosed: "start" });
    const handle = t.client.get("o");
    expect((await handle.describe()).runId).toBe(second.runId);
    expect(() => handle.runId).toThrowError('This handle has only the id "o". Use (await handle.describe()).runId.');
    expect((await first.describe()).status).toBe("terminated");
    const nobody = t.client.get("nobody");
    for (const call of [nobody.status(), nobody.describe(), nobody.history(), nobody.steps(), nobody.result()])
      await expect(call).rejects.toMatchObject({ code: "run_not_found" });
  });
});
