import { describe, expect, test } from "vitest";
import { query, signal, update, workflow } from "../../src/index.ts";
import { testEngine } from "../../src/testing/index.ts";
import { Cluster } from "../lab/harness.ts";

const add = update<number, number>("add");
const total = query<number>("total");
const go = signal("go");

/** Has a bug that it meets at its start, or after a signal. */
function buggy(late: boolean, fixed = { yet: false }) {
  return workflow("buggy", async (ctx) => {
    let sum = 0;
    ctx.on(total, () => sum);
    ctx.on(add, (n) => {
      sum += n;
      return sum;
    });
    if (late) await ctx.receive(go);
    if (!fixed.yet) (undefined as unknown as string).trim();
    await ctx.until(() => sum > 0);
    return sum;
  });
}

const PARKED = { code: "run_parked", cause: { code: "workflow_bug" } };

describe.each([
  ["at its start", false],
  ["after a signal", true],
])("a run that is parked for a bug %s", (_, late) => {
  test("rejects updates and queries with a clear error, in the test engine", async () => {
    const w = buggy(late);
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w, undefined, { id: "x" });
    if (late) {
      expect(await run.query(total)).toBe(0);
      await run.signal(go);
    }
    await t.clock.advance("1s");
    expect(await run.status()).toBe("parked");
    await expect(run.update(add, 1, { id: "u" })).rejects.toMatchObject(PARKED);
    await expect(run.update(add, 1, { id: "u" })).rejects.toMatchObject(PARKED);
    await expect(run.update(add, 1, { wait: "accepted" })).rejects.toMatchObject(PARKED);
    await expect(t.client.updateWithStart(w, undefined, add, 1, { id: "x" })).rejects.toMatchObject(PARKED);
    await expect(run.query(total)).rejects.toMatchObject({ code: "query_failed", cause: { code: "workflow_bug" } });
    await t.close();
  });

  test("rejects the updates that wait when it is parked, and handles them once when it goes on", async () => {
    const cluster = new Cluster();
    const fixed = { yet: false };
    const w = buggy(late, fixed);
    const process = cluster.process("p");
    const caller = cluster.process("caller");
    const run = await cluster.until(process.client.start(w, undefined, { id: "x" }));
    if (late) await cluster.until(run.signal(go));
    const waiting = [run, caller.client.get("x")].map((handle) =>
      handle.update(add, 1, { id: "u" }).catch((error: unknown) => error),
    );
    await process.worker({ workflows: [w] });
    for (const outcome of waiting) expect(await cluster.until(outcome)).toMatchObject(PARKED);
    const before = cluster.clock.now();
    await expect(cluster.until(caller.client.get("x").update(add, 1, { id: "u" }))).rejects.toMatchObject(PARKED);
    await expect(cluster.until(caller.client.get("x").query(total))).rejects.toMatchObject({ code: "query_failed" });
    expect(cluster.clock.now() - before).toBeLessThan(1_000);
    fixed.yet = true;
    await cluster.until(run.resume());
    expect(await cluster.until(caller.client.get("x").update(add, 1, { id: "u" }))).toBe(1);
    expect(await cluster.until(run.result())).toBe(1);
  });
});
