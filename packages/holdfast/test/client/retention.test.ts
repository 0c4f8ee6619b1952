import { signal, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test, vi } from "vitest";
import type { MemoryStore } from "../../src/memory/store.ts";
import type { Duration } from "../../src/model/duration.ts";
import { openFleet } from "../lab/fleet.ts";
import { Cluster, type Process, unavailable } from "../lab/harness.ts";

const echo = workflow("echo", async (_ctx, text: string) => text);
const failer = workflow("failer", () => Promise.reject(new Error("no")));
const go = signal<true>("go");
const waiter = workflow("waiter", (ctx) => ctx.receive(go));
const WORKFLOWS = [echo, failer, waiter];

const ids = ({ state }: MemoryStore): string[] => [...state.runs.values()].map(({ id }) => id).sort();

async function scene(): Promise<{ cluster: Cluster; a: Process; b: Process }> {
  const cluster = new Cluster();
  const [a, b] = [cluster.process("a"), cluster.process("b")];
  await a.worker({ workflows: WORKFLOWS });
  await b.worker({ workflows: WORKFLOWS });
  return { cluster, a, b };
}

/** Some runs of each kind. */
async function runAll(cluster: Cluster, { client }: Process): Promise<void> {
  await cluster.until(client.run(echo, "x", { id: "completed" }));
  await cluster.until(client.run(failer, undefined, { id: "failed" }).catch(() => {}));
  await cluster.until(client.start(waiter, undefined, { id: "open" }));
  await cluster.clock.settle();
}

describe("retention", () => {
  test("is off until it is set, and can be read as it was set", async () => {
    const { cluster, a } = await scene();
    const { retention } = a.client;
    expect(await cluster.until(retention.get())).toEqual({});
    await runAll(cluster, a);
    await cluster.clock.advance("3h");
    expect(ids(cluster.store)).toEqual(["completed", "failed", "open"]);
    expect(cluster.store.calls["retention.list"] ?? 0).toBe(0);
    await cluster.until(retention.set({ completed: "30 days", timed_out: { hours: 36 } }));
    expect(await cluster.until(retention.get())).toEqual({ completed: "30d", timed_out: "1d 12h" });
    await cluster.until(retention.set({}));
    expect(await cluster.until(retention.get())).toEqual({});
  });

  test("deletes runs of a status that ended longer ago than it says, and no others, within a minute", async () => {
    const { cluster, a } = await scene();
    await cluster.until(a.client.retention.set({ completed: "1h" }));
    await runAll(cluster, a);
    await cluster.clock.advance("59m");
    expect(ids(cluster.store)).toEqual(["completed", "failed", "open"]);
    await cluster.clock.advance("2m");
    expect(ids(cluster.store)).toEqual(["failed", "open"]);
    await cluster.clock.advance("3h");
    expect(ids(cluster.store)).toEqual(["failed", "open"]);
  });

  test("that is changed counts from then on, within a minute", async () => {
    const { cluster, a, b } = await scene();
    await cluster.until(a.client.retention.set({ completed: "100 days" }));
    await runAll(cluster, a);
    await cluster.clock.advance("3h");
    expect(ids(cluster.store)).toEqual(["completed", "failed", "open"]);
    await cluster.until(b.client.retention.set({ failed: "2h" }));
    await cluster.clock.advance("1m");
    expect(ids(cluster.store)).toEqual(["completed", "open"]);
    await cluster.until(b.client.retention.set({}));
    await cluster.clock.advance("1m");
    const calls = cluster.store.calls["runs.purge"];
    await cluster.clock.advance("1h");
    expect(cluster.store.calls["runs.purge"]).toBe(calls);
  });

  test("is that of one namespace", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: WORKFLOWS, lease: "30s" });
    const [here, there] = [fleet.client(), fleet.client({ namespace: "there" })];
    for (const client of [here, there]) await (await client.start(echo, "x", { id: client.namespace })).terminate();
    await there.retention.set({ terminated: "1m" });
    expect(await here.retention.get()).toEqual({});
    await fleet.clock.advance("1h");
    expect(ids(fleet.store)).toEqual(["default"]);
  });

  test("is the work of the leader alone, and of the next one when it dies", async () => {
    const by: string[] = [];
    const cluster = new Cluster();
    const watched = (name: string) =>
      cluster.process(name, async (method, _params, next) => {
        if (method === "runs.purge") by.push(name);
        return next();
      });
    const [a, b] = [watched("a"), watched("b")];
    await a.worker({ workflows: WORKFLOWS });
    await b.worker({ workflows: WORKFLOWS });
    await cluster.until(b.client.retention.set({ completed: "1h" }));
    await cluster.clock.advance("2h");
    expect(new Set(by)).toEqual(new Set(["a"]));
    await cluster.until(b.client.run(echo, "x", { id: "late" }));
    a.kill();
    by.length = 0;
    await cluster.clock.advance("62m");
    expect(new Set(by)).toEqual(new Set(["b"]));
    expect(ids(cluster.store)).toEqual([]);
  });

  test("works in small batches, namespaces in turn, and is not stopped by an outage", async () => {
    const fleet = openFleet();
    const batches: string[] = [];
    const { purge } = fleet.store.runs;
    let failures = 2;
    vi.spyOn(fleet.store.runs, "purge").mockImplementation(async (params) => {
      if (failures-- > 0) throw unavailable();
      const answer = await purge(params);
      if (answer.purged > 0) batches.push(`${params.namespace} ${answer.purged}`);
      return answer;
    });
    for (const client of [fleet.client(), fleet.client({ namespace: "other" })]) {
      const starts = Array.from({ length: 600 }, () => ({ workflow: echo, input: "x" }));
      for (const handle of await client.startMany(starts)) await handle.terminate();
      await client.retention.set({ terminated: "1h" });
    }
    await fleet.worker({ workflows: [], lease: "30s" });
    await fleet.clock.advance("2h");
    expect(batches).toEqual(["default 250", "other 250", "default 250", "other 250", "default 100", "other 100"]);
    expect(fleet.store.state.runs.size).toBe(0);
  });

  test("spares the last run of a schedule, so that it is known how that ended", async () => {
    const { cluster, a } = await scene();
    const { client } = a;
    await cluster.until(client.retention.set({ completed: "1h", failed: "1h" }));
    await cluster.until(client.schedules.create({ id: "s", workflow: failer, every: "3h" }));
    await cluster.clock.advance("8h");
    expect(ids(cluster.store)).toHaveLength(1);
    const { schedules } = await cluster.until(client.health());
    expect(schedules).toMatchObject([{ id: "s", failures: expect.any(Number) }]);
    await cluster.until(client.schedules.delete("s"));
    await cluster.clock.advance("1m");
    expect(ids(cluster.store)).toEqual([]);
  });

  test("never moves the virtual clock by itself", async () => {
    const t = await testEngine({ workflows: WORKFLOWS });
    await t.client.retention.set({ completed: "1m" });
    await t.client.run(echo, "x");
    const before = t.clock.now();
    await t.client.run(echo, "x");
    expect(t.clock.now()).toBe(before);
    await t.clock.advance("3m");
    expect(await t.client.count()).toBe(0);
    await t.close();
  });

  test.each<[object, string]>([
    [{ completed: "59s" }, "the minimum is 1m"],
    [{ running: "1h" }, "running"],
    [{ failed: "soon" }, "failed"],
  ])("refuses %o", async (options, why) => {
    const { a, cluster } = await scene();
    await expect(a.client.retention.set(options as { completed: Duration })).rejects.toThrow(why);
    expect(await cluster.until(a.client.retention.get())).toEqual({});
  });
});
