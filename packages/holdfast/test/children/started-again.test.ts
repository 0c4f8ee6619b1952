import { workflow } from "holdfast";
import type { StoreHooks } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { Gate, openWorld } from "../lab/world.ts";

/** The answer to the second call that starts this workflow waits for the gate. */
function secondAnswerAt(gate: Gate, name: string, onArrived: () => void): StoreHooks {
  let calls = 0;
  return {
    "runs.start": async (params, call) => {
      const answer = await call(params);
      if (!params.starts.some(({ run }) => run.workflow === name)) return answer;
      calls += 1;
      if (calls === 2) {
        onArrived();
        await gate.opened;
      }
      return answer;
    },
  };
}

describe("a run that is started a second time by the worker that holds it since the first", () => {
  test("is not executed again when the answer comes after it was suspended", async () => {
    const world = openWorld();
    const [arrived, answered, mayEnd] = [new Gate(), new Gate(), new Gate()];
    const executed: number[] = [];
    const child = workflow("child", async (ctx) => {
      await ctx.step("s", async () => {
        executed.push(world.clock.monotonic());
        await mayEnd.opened;
      });
      await ctx.sleep("rest", "1h");
    });
    const parent = workflow("parent", (ctx) =>
      ctx.step("start", async (s) => {
        const { runId } = await s.start(child);
        if (s.attempt === 1) throw new Error("again");
        return runId;
      }),
    );
    const client = world.client({ hooks: secondAnswerAt(answered, "child", arrived.open) });
    await world.worker(client, { workflows: [parent, child] });
    const run = await client.start(parent);
    await world.clock.until(arrived.opened);
    mayEnd.open();
    const rests = (): boolean => [...world.store.state.runs.values()].some(({ status }) => status === "sleeping");
    while (!rests()) await world.clock.advance("10ms");
    answered.open();
    const runId = await world.result(run);
    await world.result(world.client().get(runId));
    expect(executed).toHaveLength(1);
  });
});
