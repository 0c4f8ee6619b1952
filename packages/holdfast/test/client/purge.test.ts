import { signal, workflow } from "holdfast";
import type { TestEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { ahead, openEngine, openFleet } from "../lab/fleet.ts";

const go = signal("go");
const echo = workflow("echo", async (_ctx, text: string) => text);
const failer = workflow("failer", () => Promise.reject(new Error("no")));
const sleeper = workflow("sleeper", (ctx) => ctx.sleep("nap", "40 days"));
const waiter = workflow("waiter", (ctx) => ctx.receive(go));

async function idsLeft(t: TestEngine): Promise<string[]> {
  return (await t.client.list()).runs.map(({ id }) => id).sort();
}

describe("purge", () => {
  test("deletes what ended long ago and nothing else", async () => {
    const t = await openEngine(echo, sleeper, waiter);
    await t.client.run(echo, "old", { id: "old" });
    await t.client.start(waiter, undefined, { id: "open" });
    await t.client.run(sleeper, undefined, { id: "young" });
    expect(await t.client.purge({ olderThan: "30 days" })).toBe(1);
    expect(await idsLeft(t)).toEqual(["open", "young"]);
    await expect(t.client.get("old").describe()).rejects.toMatchObject({ code: "run_not_found" });
    expect(await t.client.purge({ olderThan: "30 days" })).toBe(0);
    expect(await t.client.run(echo, "new", { id: "old" })).toBe("new");
  });

  test("takes only the statuses that it is given", async () => {
    const t = await openEngine(echo, failer, sleeper);
    await t.client.run(echo, "fine", { id: "completed" });
    await t.client.run(failer, undefined, { id: "failed" }).catch(() => {});
    await t.client.run(sleeper, undefined, { id: "young" });
    expect(await t.client.purge({ olderThan: "30 days", statuses: ["completed"] })).toBe(1);
    expect(await idsLeft(t)).toEqual(["failed", "young"]);
  });

  test("works in batches and tells of each", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [echo] });
    const client = fleet.client();
    const handles = await client.startMany(Array.from({ length: 1_001 }, () => ({ workflow: echo, input: "x" })));
    await Promise.all(handles.map((handle) => handle.result()));
    await fleet.clock.advance("1m");
    const batches: number[] = [];
    expect(await client.purge({ olderThan: "30s", onBatch: (purged) => void batches.push(purged) })).toBe(1_001);
    expect(batches).toEqual([500, 1_000, 1_001]);
    // One more for batches, of which there are none.
    expect(fleet.store.calls["runs.purge"]).toBe(3 + 1);
    expect(fleet.store.state.events.size + fleet.store.state.byId.size).toBe(0);
  });

  test("leaves other namespaces alone", async () => {
    const fleet = openFleet();
    const [here, there] = [fleet.client(), fleet.client({ namespace: "other" })];
    for (const client of [here, there]) await (await client.start(echo, "x", { id: "a" })).terminate();
    await fleet.clock.advance("1m");
    expect(await here.purge({ olderThan: "1s" })).toBe(1);
    expect([await here.count(), await there.count()]).toEqual([0, 1]);
  });

  test.each([1, -1])("goes by the clock of the store, also on a machine that is %i h ahead", async (hours) => {
    const fleet = openFleet();
    await (await fleet.client().start(echo, "x", { id: "a" })).terminate();
    await fleet.clock.advance("30m");
    const client = fleet.client({ clock: ahead(fleet.clock, hours) });
    expect(await client.purge({ olderThan: "31m" })).toBe(0);
    expect(await client.purge({ olderThan: "29m" })).toBe(1);
  });

  test("ends the wait for a result that is gone", async () => {
    const fleet = openFleet();
    const client = fleet.client();
    const handle = await client.start(echo, "x", { id: "a" });
    await handle.terminate();
    await fleet.clock.advance("1m");
    await client.purge({ olderThan: "1s" });
    await expect(handle.result()).rejects.toMatchObject({ code: "run_not_found" });
  });

  test("refuses open statuses and bad durations", async () => {
    const client = openFleet().client();
    const open = { olderThan: "1 day", statuses: ["running" as never] } as const;
    await expect(client.purge(open)).rejects.toMatchObject({ code: "invalid_option" });
    await expect(client.purge({ olderThan: "soon" as never })).rejects.toMatchObject({ code: expect.any(String) });
  });
});
