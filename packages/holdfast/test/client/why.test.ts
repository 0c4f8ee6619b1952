import { NonRetryableError, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { deferred } from "../lab/deferred.ts";
import { openFleet } from "../lab/fleet.ts";
import { Cluster, LEASE_MS } from "../lab/harness.ts";

const go = signal<number>("go");

describe("why() of a run that another process holds", () => {
  test("says who has it and what is not recorded; after about a second it names the step", async () => {
    const done = deferred<number>();
    const slow = workflow("slow", async (ctx) => {
      await ctx.step("short", () => 1);
      await ctx.step("long", () => done.promise);
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [slow], name: "orders" });
    const client = fleet.client();
    const begun = new Date(fleet.clock.now());
    const run = await client.start(slow, undefined, { id: "r" });
    await fleet.clock.advance("600ms");
    const early = await client.why("r");
    expect(early.causes).toEqual([{ kind: "step", worker: "orders", since: begun }]);
    expect(early.reason).toMatch(
      /^Worker orders is working on it; .* The running step is not known: a step is recorded once it has run for about a second\. The last event of the run was 600ms ago\.$/,
    );
    expect((await run.steps()).map(({ op }) => op)).toEqual(["short"]);
    await fleet.clock.advance("2400ms");
    const later = await client.why("r");
    expect(later.causes).toEqual([{ kind: "step", op: "long", worker: "orders", since: begun, attempt: 1 }]);
    expect(later.reason).toMatch(/ Step "long" has been running for 3s\.$/);
    done.resolve(1);
    await fleet.result(run);
    expect(await client.why("r")).toMatchObject({ causes: [{ kind: "ended" }] });
  });

  test("names what runs, and then what else the code waits for", async () => {
    const done = deferred<number>();
    const both = workflow("both", async (ctx) => {
      await Promise.all([ctx.sleep("nap", "1 day"), ctx.step("long", () => done.promise)]);
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [both], name: "orders" });
    const client = fleet.client();
    await client.start(both, undefined, { id: "r" });
    await fleet.clock.advance("3s");
    const { causes } = await client.why("r");
    expect(causes.map(({ kind, op }) => [kind, op])).toEqual([
      ["step", "long"],
      ["timer", "nap"],
    ]);
  });
});

describe("why()", () => {
  test("of a run that is tried again as a whole says how often, why and when", async () => {
    let calls = 0;
    const whole = workflow({ name: "whole", retry: { attempts: 3, fixed: "10m" } }, async (ctx) => {
      await ctx.step("charge", () => Promise.reject(new Error(`refused ${++calls}`)), { retry: "none" });
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [whole] });
    const client = fleet.client();
    const due = new Date(fleet.clock.now() + 600_000);
    const run = await client.start(whole, undefined, { id: "r" });
    await fleet.clock.settle();
    const why = await client.why("r");
    const error = expect.objectContaining({ message: "refused 1" });
    expect(why).toMatchObject({ status: "sleeping", dueAt: due });
    expect(why.causes).toEqual([{ kind: "backoff", at: due, attempt: 1, error }]);
    expect(why.reason).toMatch(
      /The whole run has failed once, with Error: refused 1; its next attempt is due at .*, in 10m\.$/,
    );
    await run.terminate();
  });

  test("of a run that is to start later says when", async () => {
    const fleet = openFleet();
    const client = fleet.client();
    const startAt = new Date(fleet.clock.now() + 60_000);
    await client.start("later", undefined, { id: "r", startAt });
    expect(await client.why("r")).toMatchObject({
      reason: `It is to start at ${startAt.toISOString()}.`,
      causes: [{ kind: "start_delay", at: startAt }],
    });
  });

  test("of a run that is being wound up says since when and for what reason", async () => {
    const cleanUp = workflow("clean-up", async (ctx) => {
      await ctx.receive(go).finally(() => ctx.uncancelable((inner) => inner.sleep("cool-off", "1h")));
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [cleanUp] });
    const client = fleet.client();
    const run = await client.start(cleanUp, undefined, { id: "r" });
    await fleet.clock.settle();
    const at = new Date(fleet.clock.now());
    await run.cancel("enough");
    await fleet.clock.settle();
    const why = await client.why("r");
    expect(why).toMatchObject({
      cancelRequested: { at, reason: "enough" },
      causes: [{ kind: "timer", op: "cool-off" }],
    });
    expect(why.reason).toContain(
      `A cancel was requested at ${at.toISOString()} ("enough"), and the run is being wound up.`,
    );
  });
});

describe("steps()", () => {
  test("shows a step that ran when its run timed out, and leaves out one that was terminated in its first second", async () => {
    const stuck = workflow({ name: "stuck", timeout: "500ms" }, (ctx) =>
      ctx.step("charge", () => new Promise(() => {})),
    );
    const fleet = openFleet();
    await fleet.worker({ workflows: [stuck] });
    const client = fleet.client();
    const began = new Date(fleet.clock.now());
    const late = await client.start(stuck);
    await expect(fleet.result(late)).rejects.toMatchObject({ code: "run_timed_out" });
    expect(await late.steps()).toMatchObject([{ op: "charge", status: "canceled", startedAt: began }]);
    const short = await client.start(stuck);
    await fleet.clock.settle();
    await short.terminate();
    expect(await short.steps()).toEqual([]);
  });

  test("cannot tell what a race has given up while another process holds the run; then it can", async () => {
    const done = deferred<number>();
    const races = workflow("races", async (ctx) => {
      await ctx.race({ first: (b) => b.step("first", () => 1), later: (b) => b.sleep("later", "1 day") });
      await ctx.step("long", () => done.promise);
      await ctx.receive(go);
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [races] });
    const run = await fleet.client().start(races);
    await fleet.clock.settle();
    const later = async () => (await run.steps()).find(({ op }) => op === "later")?.status;
    expect(await later()).toBe("waiting");
    done.resolve(1);
    await fleet.clock.settle();
    expect(await later()).toBe("canceled");
  });

  test("shows nothing as given up that it cannot know to be: of many ops the row of a run names only some", async () => {
    const many = workflow("many", async (ctx) => {
      await Promise.all(Array.from({ length: 30 }, (_, i) => ctx.sleep(`nap-${i}`, "1 day")));
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [many] });
    const run = await fleet.client().start(many);
    await fleet.clock.settle();
    expect((await run.describe()).waitingFor).toHaveLength(20);
    expect((await run.steps()).every(({ status }) => status === "waiting")).toBe(true);
  });

  test("shows signals that came before anybody waited for them as received, and who waits now", async () => {
    const reads = workflow("reads", async (ctx) => {
      await ctx.sleep("nap", "1m");
      return [await ctx.receive(go), await ctx.receive(go)];
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [reads] });
    const run = await fleet.client().start(reads);
    await run.signal(go, 1);
    await fleet.clock.advance("2m");
    const seen = async () => (await run.steps()).map(({ op, status, output }) => [op, status, output]);
    const nap = ["nap", "completed", undefined];
    expect(await seen()).toEqual([nap, ["receive:go", "completed", 1], ["receive:go#2", "waiting", undefined]]);
    await run.signal(go, 2);
    expect(await fleet.result(run)).toEqual([1, 2]);
    expect(await seen()).toEqual([nap, ["receive:go", "completed", 1], ["receive:go#2", "completed", 2]]);
  });
});

describe("why() of a run that is due while the only worker that offers it is dead", () => {
  test("says that the worker is silent, and when its lease has expired, that no live worker offers it", async () => {
    const cluster = new Cluster();
    const job = workflow("job", async () => 1);
    const doomed = cluster.process("doomed");
    await doomed.worker({ workflows: [job], name: "orders" });
    const caller = cluster.process("caller");
    doomed.kill();
    await cluster.until(caller.client.start(job, undefined, { id: "r" }));
    const soon = await cluster.until(caller.client.why("r"));
    expect(soon.causes).toMatchObject([{ kind: "limit" }]);
    await cluster.clock.advance({ milliseconds: LEASE_MS * 0.6 });
    const overdue = await cluster.until(caller.client.why("r"));
    expect(overdue.causes).toMatchObject([{ kind: "lease", worker: "orders" }]);
    expect(overdue.reason).toContain("the last heartbeat of worker orders was 18s ago");
    await cluster.clock.advance({ milliseconds: LEASE_MS });
    const gone = await cluster.until(caller.client.why("r"));
    expect(gone.causes).toMatchObject([{ kind: "no_worker" }]);
    expect(gone.reason).toBe(
      'It is due, but no live worker offers job@1 on queue "default"; the last heartbeat of worker orders was 48s ago.',
    );
    // No sweep has run: in its row the dead worker is still online.
    expect(await cluster.until(caller.client.workers.list())).toMatchObject([{ name: "orders", status: "online" }]);
  });
});

test("why() of a run whose compensation failed says so, and what to do", async () => {
  const saga = workflow("saga", async (ctx) => {
    const compensate = (): never => {
      throw new NonRetryableError("the bank is closed");
    };
    await ctx.step("charge", () => 1, { compensate });
    throw new Error("boom");
  });
  const fleet = openFleet();
  await fleet.worker({ workflows: [saga] });
  const run = await fleet.client().start(saga, undefined, { id: "r" });
  await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_failed" });
  expect((await fleet.client().why("r")).reason).toBe(
    "It is failed: boom; it waits for nothing. At least one compensation failed, so not everything was undone: handle.steps() shows which. handle.retry() repeats it.",
  );
});
