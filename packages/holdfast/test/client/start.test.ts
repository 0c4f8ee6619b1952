import { type StartOptions, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { ahead, openEngine, openFleet } from "../lab/fleet.ts";

const HOUR_MS = 3_600_000;

const nap = workflow("nap", async (ctx, hours: number) => {
  await ctx.sleep("nap", { hours });
  return hours;
});

describe("start", () => {
  test("resolves when the run is durable, with a handle that knows its ids", async () => {
    const fleet = openFleet();
    const client = fleet.client();
    const run = await client.start(nap, 1, { id: "n-1" });
    expect(run.id).toBe("n-1");
    expect(run.runId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
    expect(await run.describe()).toMatchObject({ status: "pending", input: 1, workflow: "nap", version: "1" });
    const unnamed = await client.start(nap, 1);
    expect(unnamed.id).toBe(unnamed.runId);
  });

  test("with the id of a run that exists gives that run, running or closed, however often and from wherever", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [nap] });
    const clients = [fleet.client(), fleet.client(), fleet.client()];
    const attempts = Array.from({ length: 30 }, (_, i) => clients[i % 3]?.start(nap, i, { id: "same" }));
    const runs = await Promise.all(attempts);
    expect(new Set(runs.map((run) => run?.runId)).size).toBe(1);
    const [first] = runs;
    const result = first && (await fleet.result(first));
    const again = await fleet.client().start(nap, 99, { id: "same" });
    expect(again.runId).toBe(first?.runId);
    expect(await fleet.result(again)).toBe(result);
    expect(await fleet.client().count()).toBe(1);
  });

  test("gives all runs of an id run ids of one bucket, their continuations included", async () => {
    const rounds = workflow("rounds", async (ctx, left: number) => {
      await ctx.step("round", () => left);
      if (left > 0) ctx.continueAsNew(left - 1);
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [rounds] });
    const client = fleet.client();
    const named = [];
    for (let i = 0; i < 2; i++) {
      named.push(await client.start(rounds, 2, { id: "order-1", ifClosed: "start" }));
      await fleet.result(named[i] as (typeof named)[0]);
    }
    const [listed] = await client.startMany([
      { workflow: rounds, input: 0, options: { id: "order-1", ifClosed: "start" } },
    ]);
    expect(listed).toMatchObject({ created: true });
    const unnamed = await client.start(rounds, 2);
    await fleet.result(unnamed);
    const buckets = new Map<string, Set<string>>();
    for (const { id, runId } of (await client.list()).runs)
      buckets.set(id, (buckets.get(id) ?? new Set()).add(runId.slice(-3)));
    expect(buckets).toEqual(
      new Map([
        ["order-1", new Set(["f55"])],
        [unnamed.runId, new Set([unnamed.runId.slice(-3)])],
      ]),
    );
  });

  describe("when the id is taken", () => {
    type Taken = Required<Pick<StartOptions, "ifRunning" | "ifClosed">>;
    const outcomes: [keyof Taken, string, "the same" | "a new one" | "an error"][] = [
      ["ifRunning", "return", "the same"],
      ["ifRunning", "fail", "an error"],
      ["ifRunning", "replace", "a new one"],
      ["ifClosed", "return", "the same"],
      ["ifClosed", "start", "a new one"],
      ["ifClosed", "fail", "an error"],
    ];
    const others = { ifRunning: ["return", "fail", "replace"], ifClosed: ["return", "start", "fail"] } as const;
    const combinations = outcomes.flatMap(([option, value, outcome]) => {
      const other = option === "ifRunning" ? "ifClosed" : "ifRunning";
      return others[other].map((otherValue) => [option, value, other, otherValue, outcome] as const);
    });

    test.each(combinations)("%s %s (%s %s) gives %s", async (option, value, other, otherValue, outcome) => {
      const t = await openEngine(nap);
      const first = await t.client.start(nap, 1, { id: "taken" });
      if (option === "ifClosed") await first.result();
      const second = t.client.start(nap, 2, { id: "taken", [option]: value, [other]: otherValue });
      if (outcome === "an error") {
        await expect(second).rejects.toMatchObject({
          code: "run_already_exists",
          message: `Run "taken" already exists and is ${option === "ifClosed" ? "completed" : "running"}.`,
          data: { id: "taken", runId: first.runId },
        });
      } else if (outcome === "the same") {
        expect((await second).runId).toBe(first.runId);
        expect(await (await second).result()).toBe(1);
      } else {
        expect((await second).runId).not.toBe(first.runId);
        expect(await (await second).result()).toBe(2);
        expect(await first.status()).toBe(option === "ifClosed" ? "completed" : "terminated");
      }
      expect(await t.client.count({ id: "taken" })).toBe(outcome === "a new one" ? 2 : 1);
    });

    test("replace stops the old run at once: its steps are aborted and whoever waits for it hears that", async () => {
      const aborted: unknown[] = [];
      const busy = workflow("busy", (ctx, hang: boolean) =>
        ctx.step("work", (s) => {
          if (!hang) return "second";
          s.signal.addEventListener("abort", () => aborted.push(s.signal.reason));
          return new Promise<string>(() => {});
        }),
      );
      const fleet = openFleet();
      await fleet.worker({ workflows: [busy] });
      const client = fleet.client();
      const first = await client.start(busy, true, { id: "b" });
      await fleet.clock.settle();
      const waiting = expect(fleet.result(first)).rejects.toMatchObject({
        code: "run_terminated",
        data: { reason: "replaced" },
      });
      const second = await client.start(busy, false, { id: "b", ifRunning: "replace" });
      await waiting;
      expect(await fleet.result(second)).toBe("second");
      expect(aborted).toMatchObject([{ code: "lease_lost" }]);
      expect((await client.get("b").describe()).runId).toBe(second.runId);
    });
  });

  test("with startAt or delay begins then, not before, the later of the two", async () => {
    const when = workflow("when", async (ctx) => ctx.now());
    const t = await openEngine(when);
    const began = t.clock.now();
    const at = (hours: number): Date => new Date(began + hours * HOUR_MS);
    const runs = await Promise.all([
      t.client.start(when, undefined, { delay: "2h" }),
      t.client.start(when, undefined, { startAt: at(3) }),
      t.client.start(when, undefined, { startAt: at(4), delay: "1h" }),
      t.client.start(when, undefined, { startAt: at(-5) }),
    ]);
    expect(await runs[0]?.describe()).toMatchObject({ status: "pending", availableAt: at(2), startedAt: null });
    expect(await Promise.all(runs.map((run) => run.result()))).toEqual([at(2), at(3), at(4), at(0)]);
  });

  test("whose timeout is over before it may begin, ends as timed_out without a call of its code", async () => {
    let calls = 0;
    const late = workflow("late", async () => ++calls);
    const fleet = openFleet();
    const { clock } = fleet;
    await fleet.worker({ workflows: [late] });
    const startAt = new Date(clock.now() + HOUR_MS);
    // A client whose clock is right refuses this.
    const client = fleet.client({ clock: ahead(clock, 1) });
    const run = await client.start(late, undefined, { startAt, timeout: "1s" });
    await run.signal(signal<null>("hurry"), null);
    await expect(clock.until(run.result(), "1h")).rejects.toMatchObject({ code: "run_timed_out" });
    expect(clock.now()).toBe(startAt.getTime() - HOUR_MS + 1000);
    expect(await run.describe()).toMatchObject({ status: "timed_out", compensation: null });
    await clock.advance("2h");
    expect(calls).toBe(0);
  });

  test("with a delay that its timeout does not outlast is refused, whoever has set the timeout", async () => {
    const brief = workflow({ name: "brief", timeout: "1 day" }, async () => "done");
    const t = await openEngine(brief);
    await expect(t.client.start(brief, undefined, { delay: "1 day" })).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining('start of workflow "brief": delay is 1d, but the timeout of the run is 1d'),
    });
    await expect(t.client.start(brief, undefined, { delay: "2s", timeout: "1s" })).rejects.toMatchObject({
      code: "invalid_option",
    });
    expect(await t.client.count()).toBe(0);
    expect(await (await t.client.start(brief, undefined, { delay: "2s", timeout: "3s" })).result()).toBe("done");
  });

  test("with a startAt that its timeout does not outlast is refused, too", async () => {
    const brief = workflow({ name: "brief", timeout: "1 day" }, async () => "done");
    const t = await openEngine(brief);
    const at = (hours: number) => new Date(t.clock.now() + hours * HOUR_MS);
    await expect(t.client.start(brief, undefined, { startAt: at(24) })).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining(
        "startAt is 1d from now, but the timeout of the run is 1d, counted from the start",
      ),
    });
    await expect(t.client.start(brief, undefined, { startAt: at(2), timeout: "1h" })).rejects.toMatchObject({
      code: "invalid_option",
    });
    expect(await t.client.count()).toBe(0);
    for (const hours of [-48, 0, 23])
      expect(await (await t.client.start(brief, undefined, { startAt: at(hours) })).result()).toBe("done");
  });

  test("with the attribute -0 has the attribute 0, as in every store, also from ctx.set", async () => {
    const set = workflow("set", async (ctx) => ctx.set({ inside: -0 }));
    const t = await openEngine(set);
    const run = await t.client.start(set, undefined, { attributes: { outside: -0 } });
    await run.result();
    expect((await run.describe()).attributes).toEqual({ outside: 0, inside: 0 });
    expect(await t.client.count({ attributes: { inside: -0 } })).toBe(1);
  });

  test("with a delay is not begun early by a signal, which waits for it", async () => {
    const go = signal<string>("go");
    const when = workflow("when", async (ctx) => ({ at: ctx.now(), got: await ctx.receive(go) }));
    const t = await openEngine(when);
    const began = t.clock.now();
    const run = await t.client.start(when, undefined, { delay: "1 day" });
    await run.signal(go, "early");
    await t.clock.advance("1h");
    expect(await run.status()).toBe("pending");
    expect(await run.result()).toEqual({ at: new Date(began + 24 * HOUR_MS), got: "early" });
  });

  test("by name needs no definition, and waits for a worker that has it", async () => {
    const fleet = openFleet();
    const run = await fleet.client().start("nap", 3);
    expect(await run.status()).toBe("pending");
    await fleet.worker({ workflows: [nap] });
    expect(await fleet.result(run)).toBe(3);
  });
});

describe("startMany", () => {
  test("starts many in few round trips and gives the handles in order", async () => {
    const echo = workflow("echo", async (_ctx, n: number) => n);
    const fleet = openFleet();
    const client = fleet.client();
    const requests = Array.from({ length: 1_000 }, (_, i) => ({ workflow: echo, input: i, options: { id: `e-${i}` } }));
    const runs = await client.startMany(requests);
    expect(fleet.store.calls["runs.start"]).toBeLessThanOrEqual(3);
    expect(runs.map((run) => run.id)).toEqual(requests.map(({ options }) => options.id));
    await fleet.worker({ workflows: [echo] });
    expect(await Promise.all(runs.map((run) => fleet.result(run)))).toEqual(requests.map(({ input }) => input));
  });

  test("treats the same id twice in one call as one run", async () => {
    const t = await openEngine(nap);
    const [a, b] = await t.client.startMany([
      { workflow: nap, input: 1, options: { id: "x" } },
      { workflow: nap, input: 2, options: { id: "x" } },
    ]);
    expect(a?.runId).toBe(b?.runId);
    expect(await t.client.count()).toBe(1);
  });

  test("starts nothing when one of the requests is not valid", async () => {
    const t = await openEngine(nap);
    const requests = [
      { workflow: nap, input: 1, options: { id: "good" } },
      { workflow: nap, input: 1, options: { id: "" } },
    ];
    await expect(t.client.startMany(requests)).rejects.toMatchObject({ code: "invalid_name", data: { index: 1 } });
    expect(t.store.calls["runs.start"]).toBeUndefined();
  });
});

describe("run", () => {
  test("is start and result in one", async () => {
    const t = await openEngine(nap);
    expect(await t.client.run(nap, 5, { id: "r" })).toBe(5);
    expect(await t.client.get("r").status()).toBe("completed");
  });
});
