// Backlogs, and one run for many starts.
import { type Context, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine } from "../lab/fleet.ts";

const index = workflow(
  { name: "index", key: (input: { doc: string }) => input.doc },
  async (ctx: Context, input: { doc: string; text: string }) => {
    await ctx.step("index", () => 1);
    await ctx.sleep("a while", "1 minute");
    return input.text;
  },
);

describe("debounce", () => {
  test("starts for one key lead to one run with the newest input, some time after the last of them", async () => {
    const t = await openEngine(index);
    const start = (text: string, doc = "d1") => t.client.start(index, { doc, text }, { debounce: { for: "10s" } });
    const first = await start("one");
    await t.clock.advance("6 seconds");
    const second = await start("two");
    const other = await start("other", "d2");
    await t.clock.advance("6 seconds");
    const third = await start("three");
    expect([first.created, second.created, third.created]).toEqual([true, false, false]);
    expect([second.runId, third.runId]).toEqual([first.runId, first.runId]);
    expect(other.runId).not.toBe(first.runId);
    await t.clock.advance("9 seconds");
    expect((await first.describe()).startedAt).toBeNull();
    await t.clock.advance("2 seconds");
    // It has begun: it is left alone.
    const fourth = await start("four");
    expect(fourth.created).toBe(true);
    expect(await first.result()).toBe("three");
    expect(await fourth.result()).toBe("four");
  });

  test("max says how long a run is put off at most", async () => {
    const t = await openEngine(index);
    const before = t.clock.now();
    const options = { debounce: { for: "10s", max: "15s" } } as const;
    const run = await t.client.start(index, { doc: "d", text: "0" }, options);
    for (const text of ["1", "2", "3"]) {
      await t.clock.advance("4 seconds");
      await t.client.start(index, { doc: "d", text }, options);
    }
    expect(await run.result()).toBe("3");
    expect((await run.describe()).startedAt?.getTime()).toBe(before + 15_000);
  });

  test("needs a key, and goes with nothing that decides otherwise", async () => {
    const plain = workflow("plain", async () => 1);
    const t = await openEngine(index, plain);
    const debounce = { for: "1s" } as const;
    await expect(t.client.start(plain, undefined, { debounce })).rejects.toMatchObject({
      code: "invalid_option",
      data: { option: "key" },
    });
    const input = { doc: "d", text: "" };
    await expect(t.client.start(index, input, { debounce, id: "x" })).rejects.toThrow("does not go with id");
    await expect(t.client.start(index, input, { debounce: { for: "2s", max: "1s" } })).rejects.toThrow("shorter");
    expect(await t.client.run(plain, undefined, { debounce, key: "k" })).toBe(1);
    const go = signal("go");
    const withStart = t.client.signalWithStart(index, input, go, undefined, { id: "x", debounce });
    await expect(withStart).rejects.toThrow("signalWithStart: debounce does not go with a message");
  });
});

describe("a backlog", () => {
  test("refuses starts beyond it, and lets in children and schedules", async () => {
    const child = workflow({ name: "child", queue: "q" }, async () => "child");
    const slow = workflow({ name: "slow", queue: "q" }, (ctx: Context) => ctx.sleep("a while", "1 hour"));
    const parent = workflow("parent", (ctx: Context) => ctx.child(child));
    const t = await openEngine(slow, parent, child);
    await t.client.queues.set("q", { concurrency: 1, backlog: 2 });
    const start = (id: string) => t.client.start(slow, undefined, { id });
    await start("a");
    await t.clock.advance("1 second");
    await start("b");
    await start("c");
    await expect(start("d")).rejects.toMatchObject({ code: "queue_full", data: { queue: "q" } });
    expect((await start("a")).created).toBe(false);
    const many = t.client.startMany(["b", "e"].map((id) => ({ workflow: slow, options: { id } })));
    await expect(many).rejects.toMatchObject({
      code: "start_many_incomplete",
      data: { outcomes: [{ outcome: "returned" }, { outcome: "refused", code: "queue_full" }] },
    });
    const run = await t.client.start(parent, undefined, { id: "parent" });
    await t.clock.advance("1 second");
    expect((await t.client.why("parent")).causes).toMatchObject([{ kind: "child", cause: { kind: "limit" } }]);
    await t.client.queues.set("q", {});
    expect(await run.result()).toBe("child");
  });
});
