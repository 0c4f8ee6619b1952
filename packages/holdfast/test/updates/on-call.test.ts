import { expect, test } from "vitest";
import { signal, update, workflow } from "../../src/index.ts";
import { testEngine } from "../../src/testing/index.ts";

const slow = update<string, string>("slow");
const stop = signal("stop");

const w = workflow("w", async (ctx) => {
  let over = false;
  ctx.on(slow, async (text) => {
    await ctx.sleep("a while", "1 day");
    if (text === "bad") throw new Error("bad text");
    return text;
  });
  void ctx.receive(stop).then(() => {
    over = true;
  });
  await ctx.until(() => over, { timeout: "10 days" });
  await ctx.until(() => over && ctx.now().getTime() < 0, { timeout: "1h" });
});

test("why names the updates whose handlers have not finished, and the conditions that are not true", async () => {
  const t = await testEngine({ workflows: [w] });
  const run = await t.client.start(w, undefined, { id: "r" });
  await run.update(slow, "good", { wait: "accepted", id: "u" });
  await t.clock.advance("1s");
  const { causes, reason } = await t.client.why("r");
  expect(causes.map(({ kind, op }) => [kind, op])).toEqual([
    ["condition", "until:condition"],
    ["update", "update:slow"],
    ["timer", "a while"],
    ["signal", "receive:stop"],
  ]);
  expect(reason).toContain("until:condition");
  await t.close();
});

test("steps() shows updates and conditions, while they last and afterwards", async () => {
  const t = await testEngine({ workflows: [w] });
  const run = await t.client.start(w, undefined, { id: "r" });
  await run.update(slow, "good", { wait: "accepted" });
  await t.clock.advance("1s");
  const shown = async (): Promise<unknown[]> =>
    (await run.steps()).map(({ op, kind, status, output }) => [op, kind, status, output]);
  expect(await shown()).toEqual([
    ["until:condition", "condition", "waiting", undefined],
    ["update:slow", "update", "running", undefined],
    ["a while", "timer", "waiting", undefined],
    ["receive:stop", "signal", "waiting", undefined],
  ]);
  await run.update(slow, "bad").catch(() => {});
  await run.signal(stop);
  await run.result();
  expect(await shown()).toEqual([
    ["until:condition", "condition", "completed", undefined],
    ["update:slow", "update", "completed", "good"],
    ["a while", "timer", "completed", undefined],
    ["update:slow#2", "update", "failed", undefined],
    ["a while#2", "timer", "completed", undefined],
    ["receive:stop", "signal", "completed", true],
    ["until:condition#2", "condition", "completed", undefined],
  ]);
  await t.close();
});
