import { describe, expect, test } from "vitest";
import { query, signal, update, workflow } from "../../src/index.ts";
import { crashEverywhere, replay, testEngine } from "../../src/testing/index.ts";

const put = update<string, number>("put");
const word = signal<string>("word");

describe("ctx.until", () => {
  test("waits until a handler has made it true, whatever else the run does", async () => {
    const w = workflow("w", async (ctx) => {
      const items: string[] = [];
      ctx.on(put, (item) => items.push(item));
      const met = await ctx.until(() => items.length >= 2);
      return { met, items };
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    expect(await run.update(put, "a")).toBe(1);
    await t.clock.advance("1 day");
    expect(await run.status()).toBe("waiting");
    expect((await run.describe()).waitingFor).toEqual(["until:condition"]);
    expect(await run.update(put, "b")).toBe(2);
    expect(await run.result()).toEqual({ met: true, items: ["a", "b"] });
    expect(await replay(w, await run.history())).toEqual({ output: { met: true, items: ["a", "b"] } });
    await t.close();
  });

  test("is false when its timeout has passed, and records nothing but the timer", async () => {
    const w = workflow("w", async (ctx) => ctx.until(() => false, { timeout: "1h" }));
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    expect(await run.result()).toBe(false);
    const history = await run.history();
    expect(history.map(({ type }) => type)).toEqual(["run_started", "timer_created", "timer_fired", "run_completed"]);
    expect(await replay(w, history)).toEqual({ output: false });
    await t.close();
  });

  test("is true when another branch has made it true before its timeout", async () => {
    const w = workflow("w", async (ctx) => {
      let done = false;
      const [met] = await Promise.all([
        ctx.until(() => done, { timeout: "2h" }),
        ctx.sleep("nap", "1h").then(() => {
          done = true;
        }),
      ]);
      return met;
    });
    const t = await testEngine({ workflows: [w] });
    expect(await t.run(w)).toBe(true);
    await t.close();
  });

  test("resolves one condition at a time, in the order of asking, and looks again after each", async () => {
    const w = workflow("w", async (ctx) => {
      const log: string[] = [];
      let turn = "";
      const waits = ["a", "b", "c"].map(async (name) => {
        await ctx.until(() => turn === "all" || turn === name);
        log.push(`${name} at ${turn}`);
        // What comes true for the first is no longer true for the others.
        if (name === "a") turn = "c";
        if (name === "c") turn = "b";
      });
      turn = await ctx.receive(word);
      await Promise.all(waits);
      return log;
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    await run.signal(word, "all");
    expect(await run.result()).toEqual(["a at all", "c at c", "b at b"]);
    expect(await replay(w, await run.history())).toEqual({ output: ["a at all", "c at c", "b at b"] });
    await t.close();
  });

  test("looks only when the code has come to rest", async () => {
    const w = workflow("w", async (ctx) => {
      let n = 0;
      const seen: number[] = [];
      const waiting = ctx.until(() => {
        seen.push(n);
        return n === 3;
      });
      await ctx.step("one", () => 1);
      // In the middle of a turn it is 3 for a moment.
      n = 3;
      await Promise.resolve();
      n = 0;
      await ctx.step("two", () => 2);
      n = 3;
      await waiting;
      return seen;
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    expect(await run.result()).toEqual([0, 0, 3]);
    await t.close();
  });

  test("rejects with what the predicate throws, and refuses a predicate that uses ctx", async () => {
    const w = workflow("w", async (ctx) => {
      const first = await ctx
        .until(() => {
          throw new Error("broken");
        })
        .catch((error: Error) => error.message);
      const second = await ctx.until(() => ctx.random() > 2).catch((error: { code: string }) => error.code);
      return [first, second];
    });
    const t = await testEngine({ workflows: [w] });
    expect(await t.run(w)).toEqual(["broken", "inside_step"]);
    await t.close();
  });

  test("is canceled with its run, and with a branch that has lost", async () => {
    const w = workflow("w", async (ctx) => {
      const { winner } = await ctx.race({
        never: (c) => c.until(() => false),
        soon: (c) => c.sleep("nap", "1h"),
      });
      const end = await ctx.until(() => false).catch((error: { code: string }) => error.code);
      return [winner, end];
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    await t.clock.advance("2h");
    await run.cancel();
    expect(await run.result()).toEqual(["soon", "run_canceled"]);
    await t.close();
  });

  test("may get or lose its timeout between versions of the code", async () => {
    const without = workflow("w", async (ctx) => {
      let heard = "";
      void ctx.receive(word).then((text) => {
        heard = text;
      });
      await ctx.until(() => heard !== "");
      return ctx.step("after", () => heard);
    });
    const withTimeout = workflow("w", async (ctx) => {
      let heard = "";
      void ctx.receive(word).then((text) => {
        heard = text;
      });
      await ctx.until(() => heard !== "", { timeout: "1 day" });
      return ctx.step("after", () => heard);
    });
    for (const [before, after] of [
      [without, withTimeout],
      [withTimeout, without],
    ] as const) {
      const t = await testEngine({ workflows: [before] });
      const run = await t.client.start(before);
      await run.signal(word, "hi");
      expect(await run.result()).toBe("hi");
      expect(await replay(after, await run.history())).toEqual({ output: "hi" });
      await t.close();
    }
  });

  test("survives the death of its worker at every commit", async () => {
    const items = query<number>("items");
    const w = workflow("w", async (ctx) => {
      const got: string[] = [];
      ctx.on(items, () => got.length);
      ctx.on(put, async (item) => {
        got.push(item);
        await ctx.step("store", () => item);
        return got.length;
      });
      const full = await ctx.until(() => got.length === 2, { timeout: "1h" });
      const more = await ctx.until(() => got.length === 3, { timeout: "1h" });
      return [full, more, got];
    });
    const report = await crashEverywhere(w, undefined, {
      onForgotten: "warn",
      whenWaiting: async (client, id) => {
        const run = client.get(w, id);
        await run.update(put, "a", { id: "1", wait: "accepted" });
        await run.update(put, "b", { id: "2", wait: "accepted" });
      },
    });
    expect(report.output).toEqual([true, false, ["a", "b"]]);
    expect(report.crashes).toBeGreaterThan(5);
  });
});
