import { workflow } from "holdfast";
import { type TestEngine, testEngine } from "holdfast/testing";
import { describe, expect, test, vi } from "vitest";

/** Notes that take no commit of their own. */
const noted = workflow("noted", async (ctx, notes: number) => {
  for (let i = 0; i < notes; i++) ctx.sideEffect("note", () => i);
  await ctx.step("last", () => "done");
});

async function runOf(notes: number) {
  const t = await testEngine({ workflows: [noted] });
  const run = await t.client.start(noted, notes);
  await run.result();
  return { t, run };
}

/** How many events each read of a history brings. */
function readsOf(t: TestEngine): number[] {
  const { histories } = t.store;
  const reads: number[] = [];
  const read = histories.read.bind(histories);
  vi.spyOn(histories, "read").mockImplementation(async (params) => {
    const answer = await read(params);
    reads.push(answer[0]?.length ?? 0);
    return answer;
  });
  return reads;
}

describe("a window of a history", () => {
  test("reads exactly the events that it shows, and with the start the one behind it", async () => {
    const { t, run } = await runOf(3_000);
    const reads = readsOf(t);
    const window = await run.history({ from: 2_000, limit: 200 });
    expect(window.map(({ seq }) => seq)).toEqual(Array.from({ length: 200 }, (_, i) => 2_000 + i));
    expect(reads).toEqual([200]);
    expect(await run.history({ from: 0, limit: 1 })).toMatchObject([{ type: "run_started" }]);
    expect(await run.history({ from: 3_002, limit: 1 })).toMatchObject([{ type: "run_completed" }]);
    expect(reads).toEqual([200, 1]);
    await t.close();
  });

  test("with a filter looks at no more than 10,000 events, and says where to go on", async () => {
    const { t, run } = await runOf(12_345);
    const reads = readsOf(t);
    const first = await run.history({ ops: ["last"] });
    expect(first).toHaveLength(0);
    expect(first.next).toBe(10_001);
    expect(reads).toEqual(Array.from({ length: 10 }, () => 1_000));
    const rest = await run.history({ ops: ["last"], from: first.next as number });
    expect(rest).toMatchObject([{ type: "step_completed", seq: 12_346 }]);
    expect(rest.next).toBeNull();
    expect(reads.slice(10)).toEqual([1_000, 1_000, 346]);
    await t.close();
  });
});
