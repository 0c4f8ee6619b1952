import { signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";

const go = signal<string>("go");
const wait = workflow("wait", async (ctx) => ({ got: await ctx.receive(go), namespace: ctx.info.namespace }));

describe("a namespace", () => {
  test("has ids of its own: the same id in two namespaces is two runs", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [wait] }, { namespace: "red" });
    await fleet.worker({ workflows: [wait] }, { namespace: "blue" });
    const [red, blue] = [fleet.client({ namespace: "red" }), fleet.client({ namespace: "blue" })];
    const [r, b] = [await red.start(wait, undefined, { id: "x" }), await blue.start(wait, undefined, { id: "x" })];
    expect(r.runId).not.toBe(b.runId);
    await blue.get("x").signal(go, "for blue");
    await red.get("x").signal(go, "for red");
    expect(await fleet.result(r)).toEqual({ got: "for red", namespace: "red" });
    expect(await fleet.result(b)).toEqual({ got: "for blue", namespace: "blue" });
  });

  test("cannot be seen or touched from another: runs, lists, counts, signals, cancels, workers, versions", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [wait], name: "red worker" }, { namespace: "red" });
    const [red, blue] = [fleet.client({ namespace: "red" }), fleet.client({ namespace: "blue" })];
    await red.start(wait, undefined, { id: "x", attributes: { a: 1 } });
    const foreignHandle = blue.get("x");
    for (const call of [
      () => foreignHandle.describe(),
      () => foreignHandle.status(),
      () => foreignHandle.history(),
      () => foreignHandle.result(),
      () => foreignHandle.signal(go, "hello"),
      () => foreignHandle.cancel(),
      () => foreignHandle.terminate(),
      () => foreignHandle.resume(),
    ]) {
      await expect(call()).rejects.toMatchObject({
        code: "run_not_found",
        message: 'There is no run "x" in namespace "blue".',
      });
    }
    expect((await blue.list()).runs).toEqual([]);
    expect(await blue.count({ attributes: { a: 1 } })).toBe(0);
    expect(await blue.workers.list()).toEqual([]);
    expect(await blue.versions.list()).toEqual([]);
    expect((await red.workers.list()).map(({ name }) => name)).toEqual(["red worker"]);
    expect(await red.get("x").status()).toBe("waiting");
  });

  test("is served only by its own workers", async () => {
    const fleet = openFleet();
    const other = await fleet.worker({ workflows: [wait] }, { namespace: "blue" });
    const run = await fleet.client({ namespace: "red" }).start(wait);
    await run.signal(go, "now");
    await fleet.clock.advance("1 day");
    expect(await run.status()).toBe("pending");
    expect(other.activeRuns).toBe(0);
    await fleet.worker({ workflows: [wait] }, { namespace: "red" });
    expect(await fleet.result(run)).toEqual({ got: "now", namespace: "red" });
  });
});
