import { describe, expect, test } from "vitest";
import { query, signal, update, workflow } from "../../src/index.ts";
import { testEngine } from "../../src/testing/index.ts";
import { Cluster, faultsInStore } from "../lab/harness.ts";

const add = update<number, number>("add");
const next = signal("next");
const stop = signal("stop");

const account = workflow("account", async (ctx, start: number) => {
  let sum = start;
  let renew = false;
  let over = false;
  ctx.on(add, (n) => {
    sum += n;
    return sum;
  });
  void ctx.receive(next).then(() => {
    renew = true;
  });
  void ctx.receive(stop).then(() => {
    over = true;
  });
  await ctx.until(() => renew || over);
  if (over) return sum;
  return ctx.continueAsNew(sum);
});

describe("an update and a run that continues as new", () => {
  test("is answered by the successor if the run has not read it", async () => {
    for (let at = 1; at <= 12; at++) {
      const cluster = new Cluster();
      const caller = cluster.process("caller");
      let n = 0;
      let answer: Promise<unknown> | undefined;
      const process = cluster.process("p", async (method, _params, next_) => {
        if (armed && !method.startsWith("workers.") && ++n === at)
          answer = caller.client.get(account, "a").update(add, 5, { id: "u" });
        return next_();
      });
      let armed = false;
      await process.worker({ workflows: [account] });
      const run = await cluster.until(process.client.start(account, 1, { id: "a" }));
      armed = true;
      await cluster.until(run.signal(next));
      await cluster.clock.settle();
      answer ??= caller.client.get(account, "a").update(add, 5, { id: "u" });
      expect([at, await cluster.until(answer)]).toEqual([at, 6]);
      expect(await cluster.until(caller.client.get(account, "a").update(add, 5, { id: "u" }))).toBe(6);
      await cluster.until(process.client.get("a").signal(stop));
      expect(await cluster.until(process.client.get(account, "a").result())).toBe(6);
      expect(faultsInStore(cluster.store)).toEqual([]);
    }
  });

  test("stays answered when the run that continued it is purged, and a new one finds no run", async () => {
    const t = await testEngine({ workflows: [account], onForgotten: "warn" });
    const run = await t.client.start(account, 1, { id: "a" });
    expect(await run.update(add, 5, { id: "u" })).toBe(6);
    await run.signal(next);
    await t.clock.advance("1s");
    expect(await run.update(add, 7, { id: "v" })).toBe(13);
    const last = t.client.get(account, "a");
    const { runId: lastId } = await last.describe();
    expect(lastId).not.toBe(run.runId);
    await last.signal(stop);
    await last.result();
    await t.clock.advance("1 day");
    expect(await t.client.purge({ olderThan: "1h", statuses: ["completed"] })).toBe(1);
    for (const handle of [run, t.client.get(account, "a")]) {
      expect(await handle.update(add, 5, { id: "u" })).toBe(6);
      await expect(handle.update(add, 7, { id: "v" })).rejects.toMatchObject({ code: "run_not_found" });
      await expect(handle.update(add, 1)).rejects.toMatchObject({ code: "run_not_found" });
    }
    await t.close();
  });

  test("gets run_continued if the run had accepted it and not answered", async () => {
    const slow = update<undefined, void>("slow");
    const w = workflow("w", async (ctx, n: number) => {
      ctx.on(slow, () => ctx.sleep("a while", "1 day"));
      await ctx.receive(next);
      if (n === 1) ctx.continueAsNew(2);
      return n;
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w, 1);
    const accepted = await run.update(slow, undefined, { wait: "accepted" });
    await run.signal(next);
    await expect(accepted.result()).rejects.toMatchObject({ code: "run_continued" });
    await t.close();
  });

  test("counts once in the whole chain: a known id gets its answer from the predecessor", async () => {
    const t = await testEngine({ workflows: [account] });
    const run = await t.client.start(account, 0, { id: "a" });
    expect(await run.update(add, 1, { id: "u" })).toBe(1);
    await run.signal(next);
    await t.clock.advance("1s");
    expect(await t.client.get(account, "a").update(add, 1, { id: "u" })).toBe(1);
    expect(await t.client.get(account, "a").update(add, 1, { id: "v" })).toBe(2);
    await t.close();
  });
});

describe("many at once", () => {
  test("a thousand updates of one run give a thousand distinct answers", async () => {
    const t = await testEngine({ workflows: [account], onForgotten: "warn" });
    const run = await t.client.start(account, 0);
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => run.update(add, 1)));
    expect(new Set(answers).size).toBe(1_000);
    expect(Math.max(...answers)).toBe(1_000);
    expect(t.store.calls["runs.commit"]).toBeLessThan(50);
    await run.signal(stop);
    expect(await run.result()).toBe(1_000);
    await t.close();
  });

  test("a thousand updates whose handlers take steps give a thousand distinct answers", async () => {
    const total = query<number>("total");
    const w = workflow("w", async (ctx) => {
      let sum = 0;
      ctx.on(total, () => sum);
      ctx.on(add, async (n) => {
        const m = await ctx.step("book", () => n);
        sum += m;
        return sum;
      });
      await ctx.receive(stop);
      return sum;
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => run.update(add, 1)));
    expect(new Set(answers).size).toBe(1_000);
    expect(await run.query(total)).toBe(1_000);
    await run.signal(stop);
    expect(await run.result()).toBe(1_000);
    await t.close();
  });

  test("more than a thousand rejections are all answered, and a thousand are noted", async () => {
    const w = workflow("w", async (ctx) => {
      ctx.on(add, {
        validate: () => {
          throw new Error("no");
        },
        handle: (n) => n,
      });
      await ctx.receive(stop);
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    const codes = await Promise.all(
      Array.from({ length: 1_200 }, () => run.update(add, 1).catch((error: { code: string }) => error.code)),
    );
    expect(codes.filter((code) => code === "update_rejected")).toHaveLength(1_200);
    const notes = (await run.history()).filter(({ type }) => type === "update_rejected");
    expect(notes).toHaveLength(1_000);
    await run.signal(stop);
    await run.result();
    await t.close();
  });

  test("ten thousand signals to one run arrive once and in order", async () => {
    const item = signal<number>("item");
    const w = workflow("w", async (ctx) => {
      let wrong = 0;
      for (let i = 0; i < 10_000; i++) if ((await ctx.receive(item)) !== i) wrong += 1;
      return wrong;
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    for (let from = 0; from < 10_000; from += 1_000)
      await Promise.all(Array.from({ length: 1_000 }, (_, i) => run.signal(item, from + i, { id: `s${from + i}` })));
    expect(await run.result()).toBe(0);
    await t.close();
  }, 60_000);
});
