import { workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const v1 = workflow({ name: "greet", version: "1" }, async (ctx) => {
  await ctx.sleep("nap", "1 day");
  return ctx.step("old", () => "hello");
});
const v2 = workflow({ name: "greet", version: "2" }, async (ctx) => {
  const text = await ctx.step("new", () => "good day");
  await ctx.sleep("pause", "1 day");
  return text;
});

describe("versions of a workflow", () => {
  test("run side by side in one worker, each run on the code that it was started with", async () => {
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [v1, v2] });
    const client = fleet.client();
    const runs = [
      await client.start(v1),
      await client.start(v2),
      await client.start("greet", undefined, { version: "1" }),
      await client.start("greet", undefined, { version: "2" }),
    ];
    const results = await Promise.all(runs.map((run) => fleet.result(run)));
    expect(results).toEqual(["hello", "good day", "hello", "good day"]);
    expect((await client.list({ version: "2" })).runs).toHaveLength(2);
  });

  test("of a rolling deployment: old runs wait for a worker that has their version, new workers leave them alone", async () => {
    const fleet = openFleet();
    const old = await fleet.worker({ workflows: [v1] });
    const client = fleet.client();
    const before = await client.start(v1);
    await fleet.clock.settle();
    await fleet.clock.until(old.stop());
    const fresh = await fleet.worker({ workflows: [v2] });
    expect(await fleet.result(await client.start(v2))).toBe("good day");
    await fleet.clock.advance("9 days");
    expect(await before.status()).toBe("sleeping");
    expect(fresh.activeRuns).toBe(0);
    await fleet.worker({ workflows: [v1, v2] });
    expect(await fleet.result(before)).toBe("hello");
  });

  test("with the same name and version but other code are refused in one worker", async () => {
    const other = workflow({ name: "greet", version: "1" }, async () => "other");
    const t = await openEngine(v1);
    expect(() => t.client.worker({ workflows: [v1, other] })).toThrowError(
      expect.objectContaining({
        code: "duplicate_workflow",
        message:
          'Workflow "greet" version "1" is registered twice with different code. Give one of them another version.',
      }),
    );
    expect(() => t.client.worker({ workflows: [v1, v1] })).not.toThrow();
  });
});
