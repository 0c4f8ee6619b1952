import { NonRetryableError, signal, update, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { deferred } from "../lab/deferred.ts";
import { openEngine, openFleet } from "../lab/fleet.ts";

const go = signal<string>("go");

const nap = workflow("nap", async (ctx, days: number) => {
  await ctx.sleep("nap", { days });
  return "rested";
});

/** Two steps, each held until the test lets it end. */
function twoSteps() {
  const gates = [deferred<string>(), deferred<string>()] as const;
  const began: string[] = [];
  const two = workflow("two", async (ctx) => {
    const first = await ctx.step("first", () => {
      began.push("first");
      return gates[0].promise;
    });
    const second = await ctx.step("second", () => {
      began.push("second");
      return gates[1].promise;
    });
    return `${first} ${second}`;
  });
  return { two, gates, began };
}

async function typesOf(run: { history(): Promise<readonly { readonly type: string }[]> }): Promise<string[]> {
  return (await run.history()).map(({ type }) => type);
}

describe("pause", () => {
  test("parks a sleeping run at once; its time goes on, but the run does not", async () => {
    const t = await openEngine(nap);
    const run = await t.client.start(nap, 7, { id: "n" });
    await t.clock.advance("1 day");
    await run.pause({ by: "ana", reason: "the guest is ill" });
    expect(await run.describe()).toMatchObject({
      status: "parked",
      availableAt: null,
      error: { code: "paused", data: { by: "ana", reason: "the guest is ill" } },
    });
    await t.clock.advance("10 days");
    expect(await run.status()).toBe("parked");
    await run.resume({ by: "ben" });
    expect(await run.result()).toBe("rested");
    expect((await run.history()).map(({ type, data }) => [type, data])).toEqual([
      ["run_started", undefined],
      ["timer_created", undefined],
      ["run_parked", { by: "ana", reason: "the guest is ill" }],
      ["run_resumed", { by: "ben" }],
      ["timer_fired", undefined],
      ["run_completed", undefined],
    ]);
  });

  test("takes a bare reason, and twice changes nothing", async () => {
    const t = await openEngine(nap);
    const run = await t.client.start(nap, 7, { id: "n" });
    await t.clock.settle();
    await run.pause("just so");
    await run.pause({ by: "somebody else" });
    expect((await run.history()).map(({ type, by, reason }) => [type, by, reason]).slice(2)).toEqual([
      ["run_parked", undefined, "just so"],
    ]);
    await run.resume();
    await run.resume();
    expect((await typesOf(run)).slice(2)).toEqual(["run_parked", "run_resumed"]);
  });

  test("of a closed run is refused", async () => {
    const t = await openEngine(nap);
    const run = await t.client.start(nap, 1);
    await run.result();
    await expect(run.pause()).rejects.toMatchObject({ code: "run_closed" });
    await expect(run.resume()).rejects.toMatchObject({ code: "run_closed" });
    await expect(t.client.get("nobody").pause()).rejects.toMatchObject({ code: "run_not_found" });
  });

  test("of a run that a worker holds lets the running step end and records it, and starts no other", async () => {
    const { two, gates, began } = twoSteps();
    const fleet = openFleet();
    await fleet.worker({ workflows: [two] });
    const run = await fleet.client().start(two);
    await fleet.clock.settle();
    await run.pause({ by: "ana" });
    await fleet.clock.settle();
    expect(await run.status()).toBe("running");
    expect((await fleet.clock.until(fleet.client().why(run.id))).reason).toContain("A pause was requested at");
    gates[0].resolve("a");
    await fleet.clock.settle();
    expect(await run.describe()).toMatchObject({ status: "parked", error: { code: "paused", data: { by: "ana" } } });
    expect(began).toEqual(["first"]);
    expect(await typesOf(run)).toEqual(["run_started", "pause_requested", "step_completed", "run_parked"]);
    expect(fleet.lines.filter(({ level }) => level === "error" || level === "warn")).toEqual([]);
    gates[1].resolve("b");
    await run.resume("go on");
    expect(await fleet.result(run)).toBe("a b");
    expect(began).toEqual(["first", "second"]);
  });

  test("can be taken back while the step still runs", async () => {
    const { two, gates } = twoSteps();
    const fleet = openFleet();
    await fleet.worker({ workflows: [two] });
    const run = await fleet.client().start(two);
    await fleet.clock.settle();
    await run.pause({ by: "ana" });
    await run.pause({ by: "ana" });
    await run.resume({ by: "ben", reason: "a mistake" });
    await fleet.clock.settle();
    gates[0].resolve("a");
    gates[1].resolve("b");
    expect(await fleet.result(run)).toBe("a b");
    expect((await run.history()).map(({ type, by }) => [type, by])).toEqual([
      ["run_started", undefined],
      ["pause_requested", "ana"],
      ["run_resumed", "ben"],
      ["step_completed", undefined],
      ["step_completed", undefined],
      ["run_completed", undefined],
    ]);
  });

  test("is finished by the next worker, if the first one dies or stops in between", async () => {
    const { two, gates, began } = twoSteps();
    const fleet = openFleet();
    const first = await fleet.worker({ workflows: [two], drainTimeout: "1s" });
    const run = await fleet.client().start(two);
    await fleet.clock.settle();
    await run.pause({ by: "ana", reason: "later" });
    await fleet.clock.settle();
    expect(await typesOf(run)).toEqual(["run_started", "pause_requested"]);
    await fleet.clock.until(first.stop());
    expect(await run.status()).toBe("running");
    await fleet.worker({ workflows: [two] });
    await fleet.clock.settle();
    expect(await run.describe()).toMatchObject({ status: "parked", error: { data: { by: "ana", reason: "later" } } });
    expect(began).toEqual(["first"]);
    gates[0].resolve("a");
    gates[1].resolve("b");
    await run.resume();
    expect(await fleet.result(run)).toBe("a b");
  });

  test("of a run that is pausing and has lost its worker can be taken back", async () => {
    const { two, gates } = twoSteps();
    const fleet = openFleet();
    const first = await fleet.worker({ workflows: [two], drainTimeout: "1s" });
    const run = await fleet.client().start(two);
    await fleet.clock.settle();
    await run.pause();
    await fleet.clock.settle();
    await fleet.clock.until(first.stop());
    await run.resume({ by: "ben" });
    await fleet.worker({ workflows: [two] });
    gates[0].resolve("a");
    gates[1].resolve("b");
    expect(await fleet.result(run)).toBe("a b");
    expect((await typesOf(run)).slice(1, 3)).toEqual(["pause_requested", "run_resumed"]);
  });

  test("keeps messages waiting, and callers of updates with them", async () => {
    const add = update<number, number>("add");
    const sum = workflow({ name: "sum", signals: [go], updates: [add] }, async (ctx) => {
      let total = 0;
      ctx.on(add, (n) => {
        total += n;
        return total;
      });
      const word = await ctx.receive(go);
      return `${word} ${total}`;
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [sum] });
    const run = await fleet.client().start(sum, undefined, { id: "s" });
    await fleet.clock.settle();
    await run.pause();
    const answer = run.update(add, 4);
    await fleet.clock.settle();
    await run.signal(go, "late");
    await fleet.clock.advance("1 day");
    expect(await typesOf(run)).toEqual(["run_started", "run_parked"]);
    await run.resume();
    expect(await fleet.result(run)).toBe("late 4");
    expect(await answer).toBe(4);
  });

  test("does not begin a run that is to begin later, and a resume does not begin it early", async () => {
    const t = await openEngine(nap);
    const run = await t.client.start(nap, 1, { id: "n", delay: "2 days" });
    await t.clock.advance("1 day");
    await run.pause();
    await run.resume();
    expect(await run.describe()).toMatchObject({ status: "pending", startedAt: null });
    await t.clock.advance("23h");
    expect(await run.status()).toBe("pending");
    await run.pause();
    await t.clock.advance("2 days");
    expect(await run.describe()).toMatchObject({ status: "parked", startedAt: null });
    await run.resume();
    expect(await run.result()).toBe("rested");
  });

  test("holds a deadline up: it takes effect when the run is resumed", async () => {
    const t = await openEngine(nap);
    const begun = await t.client.start(nap, 7, { id: "begun", timeout: "1 day" });
    const unbegun = await t.client.start(nap, 7, { id: "unbegun", timeout: "1 day", delay: "3h" });
    await t.clock.settle();
    await begun.pause();
    await unbegun.pause();
    await t.clock.advance("3 days");
    expect([await begun.status(), await unbegun.status()]).toEqual(["parked", "parked"]);
    await begun.resume();
    await unbegun.resume();
    await expect(begun.result()).rejects.toMatchObject({ code: "run_timed_out" });
    await expect(unbegun.result()).rejects.toMatchObject({ code: "run_timed_out" });
  });

  test("of a run that compensates stops that, and it goes on after the resume", async () => {
    const undoing = deferred<void>();
    const undone: string[] = [];
    const saga = workflow("saga", async (ctx) => {
      for (const name of ["a", "b"])
        await ctx.step(name, () => name, {
          compensate: async () => {
            undone.push(name);
            if (name === "b") await undoing.promise;
          },
        });
      throw new Error("too late");
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [saga] });
    const run = await fleet.client().start(saga);
    await fleet.clock.settle();
    expect(await run.status()).toBe("compensating");
    await run.pause();
    undoing.resolve();
    await fleet.clock.settle();
    expect(await run.status()).toBe("parked");
    expect(undone).toEqual(["b"]);
    await run.resume();
    await expect(fleet.result(run)).rejects.toMatchObject({
      code: "run_failed",
      data: { compensation: "compensated" },
    });
    expect(undone).toEqual(["b", "a"]);
  });

  test("is handed on to the run that continues as new", async () => {
    const gate = deferred<void>();
    const rounds: number[] = [];
    const round = workflow("round", async (ctx, n: number): Promise<string> => {
      await ctx.step("work", async () => {
        rounds.push(n);
        if (n === 1) await gate.promise;
      });
      if (n < 2) return ctx.continueAsNew(n + 1);
      return "done";
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [round] });
    const run = await fleet.client().start(round, 1, { id: "r" });
    await fleet.clock.settle();
    await run.pause({ by: "ana" });
    gate.resolve();
    await fleet.clock.settle();
    expect(await fleet.client().get("r").describe()).toMatchObject({
      status: "parked",
      error: { code: "paused", data: { by: "ana" } },
    });
    expect(rounds).toEqual([1]);
    await run.resume();
    expect(await fleet.result(run)).toBe("done");
  });

  test("of a run that is to be tried again as a whole holds the next try", async () => {
    let tries = 0;
    const gate = deferred<void>();
    const flaky = workflow({ name: "flaky", retry: { attempts: 3, fixed: "1h" } }, async (ctx) => {
      const once = async () => {
        tries += 1;
        if (tries > 1) return;
        await gate.promise;
        throw new Error("not yet");
      };
      await ctx.step("try", once, { retry: { attempts: 1 } });
      return tries;
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [flaky] });
    const run = await fleet.client().start(flaky);
    await fleet.clock.settle();
    await run.pause();
    await fleet.clock.settle();
    gate.resolve();
    await fleet.clock.settle();
    expect(await run.status()).toBe("parked");
    await fleet.clock.advance("3h");
    expect(tries).toBe(1);
    await run.resume();
    expect(await fleet.result(run)).toBe(2);
  });

  test("of a run that fails in the meantime is over: a retry goes on with the run", async () => {
    const fleet = openFleet();
    const failing = deferred();
    let repaired = false;
    const fragile = workflow("fragile", (ctx) =>
      ctx.step("charge", async () => {
        if (repaired) return "charged";
        await failing.promise;
        throw new NonRetryableError("no card");
      }),
    );
    await fleet.worker({ workflows: [fragile] });
    const run = await fleet.client().start(fragile);
    await fleet.clock.settle();
    await run.pause({ by: "ana" });
    await fleet.clock.settle();
    failing.resolve();
    await fleet.clock.settle();
    expect(await run.status()).toBe("failed");
    repaired = true;
    await run.retry({ by: "ben", reason: "repaired" });
    expect(await fleet.result(run)).toBe("charged");
    const types = (await run.history()).map(({ type }) => type);
    expect(types).toContain("pause_requested");
    expect(types).not.toContain("run_parked");
  });

  test("of a run that is parked for a bug keeps fixed code from taking it up", async () => {
    const buggy = (broken: boolean) =>
      workflow("buggy", async (ctx) => {
        if (broken) (undefined as unknown as { fail(): void }).fail();
        return ctx.step("work", () => "done");
      });
    const fleet = openFleet();
    const bad = await fleet.worker({ workflows: [buggy(true)] });
    const run = await fleet.client().start(buggy(true));
    await fleet.clock.settle();
    expect(await run.describe()).toMatchObject({ status: "parked", error: { code: "workflow_bug" } });
    await run.pause({ by: "ana" });
    expect(await run.describe()).toMatchObject({ status: "parked", error: { code: "paused" } });
    await fleet.clock.until(bad.stop());
    await fleet.worker({ workflows: [buggy(false)] });
    await fleet.clock.settle();
    expect(await run.status()).toBe("parked");
    await run.resume();
    expect(await fleet.result(run)).toBe("done");
    expect(await typesOf(run)).toEqual([
      "run_started",
      "run_parked",
      "run_parked",
      "run_resumed",
      "step_completed",
      "run_completed",
    ]);
  });
});

describe("a paused run", () => {
  test("is resumed by a cancel, which winds it up", async () => {
    const { two, gates, began } = twoSteps();
    const fleet = openFleet();
    await fleet.worker({ workflows: [two] });
    const run = await fleet.client().start(two);
    await fleet.clock.settle();
    await run.pause({ by: "ana" });
    gates[0].resolve("a");
    await fleet.clock.settle();
    expect(await run.status()).toBe("parked");
    await run.cancel({ by: "ben", reason: "no longer needed" });
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    expect((await run.history()).slice(-3).map(({ type, data }) => [type, data])).toEqual([
      ["run_resumed", { by: "ben", reason: "no longer needed" }],
      ["cancel_requested", { by: "ben", reason: "no longer needed" }],
      ["run_canceled", undefined],
    ]);
    expect(began).toEqual(["first"]);
  });

  test("that has never begun is canceled without calling its code, and terminated as it is", async () => {
    const t = await openEngine(nap);
    const canceled = await t.client.start(nap, 1, { id: "c", delay: "1 day" });
    const terminated = await t.client.start(nap, 1, { id: "t", delay: "1 day" });
    for (const run of [canceled, terminated]) await run.pause();
    await canceled.cancel();
    await terminated.terminate({ by: "ben", reason: "out" });
    await expect(canceled.result()).rejects.toMatchObject({ code: "run_canceled" });
    expect((await canceled.history()).at(-2)).toMatchObject({ type: "cancel_requested", neverCalled: true });
    await expect(terminated.result()).rejects.toMatchObject({ code: "run_terminated", data: { reason: "out" } });
    expect((await terminated.history()).map(({ type, by }) => [type, by])).toEqual([
      ["run_started", undefined],
      ["run_parked", undefined],
      ["run_terminated", "ben"],
    ]);
  });

  test("is resumed when its parent is canceled, and winds itself up", async () => {
    const parent = workflow("parent", (ctx) => ctx.child(nap, 7, { id: "kid" }));
    const t = await openEngine(parent, nap);
    const run = await t.client.start(parent, undefined, { id: "p" });
    await t.clock.settle();
    await t.client.get("kid").pause({ by: "ana" });
    await run.cancel("enough");
    await expect(run.result()).rejects.toMatchObject({ code: "run_canceled" });
    await t.clock.settle();
    expect(await t.client.get("kid").status()).toBe("canceled");
  });

  test("that a cancel finds still pausing goes on to be wound up", async () => {
    const { two, began } = twoSteps();
    const fleet = openFleet();
    await fleet.worker({ workflows: [two] });
    const run = await fleet.client().start(two);
    await fleet.clock.settle();
    await run.pause({ by: "ana" });
    await fleet.clock.settle();
    await run.cancel({ by: "ben" });
    await expect(fleet.result(run)).rejects.toMatchObject({ code: "run_canceled" });
    const operations = (await run.history()).filter(({ category }) => category === "command");
    expect(operations.map(({ type, by }) => [type, by])).toEqual([
      ["pause_requested", "ana"],
      ["run_resumed", "ben"],
      ["cancel_requested", "ben"],
    ]);
    expect(began).toEqual(["first"]);
  });

  test("does not reject those who wait for its result, and is explained by why", async () => {
    const t = await openEngine(nap);
    const run = await t.client.start(nap, 1, { id: "n" });
    await t.clock.settle();
    await run.pause({ by: "ana", reason: "ill" });
    expect(await t.client.why("n")).toMatchObject({
      status: "parked",
      reason: expect.stringMatching(
        /^It is paused by ana since .*Z \("ill"\)\. handle\.resume\(\) lets it continue\.$/,
      ),
      causes: [{ kind: "paused", by: "ana", reason: "ill", since: expect.any(Date) }],
    });
    const result = run.result();
    await run.resume();
    expect(await result).toBe("rested");
  });
});

describe("who and why", () => {
  test("are checked like reasons", async () => {
    const t = await openEngine(nap);
    const run = await t.client.start(nap, 1);
    const long = "x".repeat(4_001);
    for (const call of ["pause", "resume", "cancel", "terminate", "retry"] as const) {
      for (const wrong of [{ by: 5 }, { reason: {} }, { who: "ana" }, 5, ["x"], long, { by: long }, { by: "\u0000" }])
        await expect(run[call](wrong as never)).rejects.toMatchObject({ code: "invalid_option" });
    }
    expect(await typesOf(run)).toEqual(["run_started"]);
    await run.pause({ by: "y".repeat(4_000), reason: "x".repeat(4_000) });
    expect((await run.history()).at(-1)).toMatchObject({ by: "y".repeat(4_000), reason: "x".repeat(4_000) });
  });
});
