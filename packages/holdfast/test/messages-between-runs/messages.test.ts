import { type HoldfastError, RunFailedError, signal, workflow } from "holdfast";
import { crashEverywhere } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const note = signal<string>("note");
const listener = workflow("listener", async (ctx, count: number) => {
  const heard: string[] = [];
  while (heard.length < count) heard.push(await ctx.receive(note));
  return heard;
});
const codeOf = (error: unknown): string => (error as HoldfastError).code;

describe("ctx.signal", () => {
  test("sends a signal to another run by its id", async () => {
    const main = workflow("main", async (ctx) => {
      await ctx.signal("ear", note, "one");
      await ctx.signal({ id: "ear" }, note, "two");
    });
    const t = await openEngine(main, listener);
    const ear = await t.client.start(listener, 2, { id: "ear" });
    const run = await t.client.start(main);
    expect(await ear.result()).toEqual(["one", "two"]);
    await run.result();
    const events = (await run.history()).filter(({ type }) => type === "message_sent");
    expect(events.map(({ op, to, category }) => [op, to, category])).toEqual([
      ["signal:note", { id: "ear" }, "message"],
      ["signal:note#2", { id: "ear" }, "message"],
    ]);
  });

  test("rejects if there is no such run, or it has ended", async () => {
    const main = workflow("main", async (ctx) => {
      const nobody = await ctx.signal("nobody", note, "x").catch(codeOf);
      const ended = await ctx.signal("ended", note, "x").catch(codeOf);
      return [nobody, ended];
    });
    const t = await openEngine(main, listener);
    await t.run(listener, 0, { id: "ended" });
    expect(await t.run(main)).toEqual(["run_not_found", "run_closed"]);
  });

  test("sends each signal once, wherever the worker dies", async () => {
    const main = workflow("main", async (ctx) => {
      const ear = await ctx.startChild(listener, 3);
      await ear.signal(note, "one");
      await Promise.all([ear.signal(note, "two"), ctx.step("between", () => "x")]);
      await ctx.signal(ear, note, "three");
      return ear.result();
    });
    const report = await crashEverywhere(main, undefined, { workflows: [listener] });
    expect(report.output).toEqual(["one", "two", "three"]);
  });

  test("follows a run that continues as new", async () => {
    const moving = workflow("moving", async (ctx, n: number): Promise<string> => {
      const heard = await ctx.receive(note);
      return n === 2 ? heard : ctx.continueAsNew(n + 1);
    });
    const main = workflow("main", async (ctx) => {
      const kid = await ctx.startChild(moving, 1);
      await kid.signal(note, "one");
      await ctx.sleep("a while", "1m");
      await kid.signal(note, "two");
      return kid.result();
    });
    const t = await openEngine(main, moving);
    expect(await t.run(main)).toBe("two");
  });
});

describe("ctx.cancel", () => {
  test("cancels another run, with its reason, and leaves a closed one alone", async () => {
    const main = workflow("main", async (ctx) => {
      await ctx.cancel("ear", "enough");
      await ctx.sleep("a while", "1m");
      await ctx.cancel("ear", "again");
      return ctx.cancel("nobody").catch(codeOf);
    });
    const t = await openEngine(main, listener);
    const ear = await t.client.start(listener, 1, { id: "ear" });
    expect(await t.run(main)).toBe("run_not_found");
    await expect(ear.result()).rejects.toMatchObject({ code: "run_canceled", data: { reason: "enough" } });
  });

  test("of a child's handle rejects its result", async () => {
    const main = workflow("main", async (ctx) => {
      const kid = await ctx.startChild(listener, 1);
      await kid.cancel("enough");
      return kid.result().catch(codeOf);
    });
    const report = await crashEverywhere(main, undefined, { workflows: [listener] });
    expect(report.output).toBe("run_canceled");
  });
});

describe("ctx.resultOf", () => {
  test("of the run itself is refused at once: nobody would ever answer", async () => {
    const main = workflow("main", async (ctx, careful: boolean) => {
      const refused: unknown[] = [];
      for (const own of [ctx.info.id, { id: ctx.info.id }, { namespace: "default", id: ctx.info.id }]) {
        try {
          await ctx.resultOf(own);
        } catch (error) {
          if (!careful) throw error;
          refused.push((error as Error).message);
        }
      }
      return refused;
    });
    const t = await openEngine(main);
    const message =
      'ctx.resultOf: the target is run "self" itself, which would wait for its own end forever. Name another run.';
    expect(await t.run(main, true, { id: "self" })).toEqual([message, message, message]);
    const run = await t.client.start(main, false);
    await expect(run.result()).rejects.toMatchObject({
      code: "run_parked",
      cause: { code: "workflow_bug", cause: { code: "invalid_option" } },
    });
  });

  test("waits for the output of another run, and takes that of one that has ended", async () => {
    const main = workflow("main", async (ctx) => {
      const first = await ctx.resultOf(listener, "ear");
      const again: unknown = await ctx.resultOf("ear");
      return [first.length, again];
    });
    const t = await openEngine(main, listener);
    const ear = await t.client.start(listener, 1, { id: "ear" });
    const run = await t.client.start(main);
    await t.clock.settle();
    expect(await run.status()).toBe("waiting");
    await ear.signal(note, "hello");
    expect(await run.result()).toEqual([1, ["hello"]]);
    expect([t.store.state.watches.size, t.store.state.debts.size]).toEqual([0, 0]);
  });

  test("follows a run that continues as new while it is awaited", async () => {
    const moving = workflow("moving", async (ctx, n: number): Promise<string> => {
      await ctx.sleep("a while", "1h");
      return n === 3 ? "there" : ctx.continueAsNew(n + 1);
    });
    const main = workflow("main", async (ctx) => ctx.resultOf(moving, "m"));
    const t = await openEngine(main, moving);
    await t.client.start(moving, 1, { id: "m" });
    expect(await t.run(main)).toBe("there");
  });

  test("rejects with the error of a run that fails, and of one that is of another workflow", async () => {
    const broken = workflow("broken", async (ctx) => {
      await ctx.sleep("a while", "1h");
      throw new Error("no");
    });
    const main = workflow("main", async (ctx) => {
      const failed = await ctx
        .resultOf("b")
        .catch((error: unknown) => error instanceof RunFailedError && error.cause?.message);
      const other = await ctx.resultOf(listener, "b").catch(codeOf);
      const nobody = await ctx.resultOf("nobody").catch(codeOf);
      return [failed, other, nobody];
    });
    const t = await openEngine(main, broken);
    await t.client.start(broken, undefined, { id: "b" });
    expect(await t.run(main)).toEqual(["no", "workflow_mismatch", "run_not_found"]);
  });

  test("is told once, wherever the worker dies", async () => {
    const slow = workflow("slow", async (ctx) => {
      await ctx.sleep("a while", "1h");
      return "slept";
    });
    const main = workflow("main", async (ctx) => {
      const kid = await ctx.startChild(slow, undefined, { id: "kid" });
      const [a, b] = await Promise.all([ctx.resultOf(slow, "kid"), kid.result()]);
      return [a, b, await ctx.resultOf(kid)];
    });
    const report = await crashEverywhere(main, undefined, { workflows: [slow] });
    expect(report.output).toEqual(["slept", "slept", "slept"]);
  });

  test("of a canceled branch leaves the other run alone", async () => {
    const main = workflow("main", async (ctx) => {
      const { winner } = await ctx.race({
        other: (c) => c.resultOf("ear"),
        timer: (c) => c.sleep("timer", "1m"),
      });
      return winner;
    });
    const t = await openEngine(main, listener);
    const ear = await t.client.start(listener, 1, { id: "ear" });
    expect(await t.run(main)).toBe("timer");
    await ear.signal(note, "late");
    expect(await ear.result()).toEqual(["late"]);
    await t.clock.settle();
    expect(t.store.state.debts.size).toBe(0);
  });
});

describe("a run of another namespace", () => {
  test("is reached only if its namespace allows that", async () => {
    const main = workflow("main", async (ctx) => {
      const to = { namespace: "theirs", id: "ear" };
      const refused = [
        await ctx.signal(to, note, "x").catch(codeOf),
        await ctx.cancel(to).catch(codeOf),
        await ctx.resultOf(to).catch(codeOf),
      ];
      await ctx.sleep("until allowed", "1h");
      await ctx.signal(to, note, "let in");
      return [refused, await ctx.resultOf(to)];
    });
    const fleet = openFleet();
    await fleet.worker({ workflows: [main] });
    await fleet.worker({ workflows: [listener] }, { namespace: "theirs" });
    const theirs = fleet.client({ namespace: "theirs" });
    await theirs.start(listener, 1, { id: "ear" });
    const run = await fleet.client().start(main);
    await fleet.clock.settle();
    await theirs.namespaces.allow("default");
    expect(await theirs.namespaces.allowed()).toEqual(["default"]);
    const refused = ["namespace_refused", "namespace_refused", "namespace_refused"];
    expect(await fleet.result(run)).toEqual([refused, ["let in"]]);
    const sent = (await run.history()).filter(({ type }) => type === "message_sent");
    expect(sent.map(({ category, namespace }) => [category, namespace])).toEqual([
      ["nexus", "theirs"],
      ["nexus", "theirs"],
    ]);
    await theirs.namespaces.disallow("default");
    expect(await theirs.namespaces.allowed()).toEqual([]);
  });
});
