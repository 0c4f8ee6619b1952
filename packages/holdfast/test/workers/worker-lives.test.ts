import { hostname } from "node:os";
import { HoldfastError, task, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { systemEnvironment } from "../../src/system/environment.ts";
import { openFleet } from "../lab/fleet.ts";
import { openWorld } from "../lab/world.ts";

const idle = workflow("idle", async () => 1);

describe("the lives of workers", () => {
  test("are on record: when they started, were heard of, stopped or died, and where they ran", async () => {
    const t = await testEngine({ workflows: [idle] });
    const other = t.client.worker({ workflows: [idle], name: "other", lease: "30s", labels: { zone: "b" } });
    await other.start();
    const { workerId } = other;
    await t.clock.advance("11s");
    const row = await t.client.workers.get(workerId);
    expect(row?.labels).toEqual({ host: hostname(), pid: String(process.pid), zone: "b" });
    await t.clock.advance("10m");
    await other.stop();
    const { events, cursor } = await t.client.workers.events({ workerId });
    expect(events.map(({ name, type }) => [name, type])).toEqual([
      ["other", "stopped"],
      ["other", "heartbeat"],
      ["other", "started"],
    ]);
    expect(cursor).toBeNull();
    await t.close();
  });

  test("can be read page by page, newest first", async () => {
    const fleet = openFleet();
    for (const name of ["a", "b", "c"]) await fleet.worker({ workflows: [idle], name });
    const client = fleet.client();
    const first = await client.workers.events({ limit: 2 });
    expect(first.events.map(({ name }) => name)).toEqual(["c", "b"]);
    const second = await client.workers.events({ limit: 2, cursor: first.cursor as string });
    expect([second.events.map(({ name }) => name), second.cursor]).toEqual([["a"], null]);
    await expect(client.workers.events({ cursor: "x" })).rejects.toMatchObject({ code: "invalid_option" });
    await expect(client.workers.events({ limit: 0 })).rejects.toMatchObject({ code: "invalid_option" });
    expect(await client.workers.events({ workerId: "nobody" })).toEqual({ events: [], cursor: null });
  });

  test("show what a worker is made of, and how busy it is", async () => {
    const fleet = openFleet();
    const client = fleet.client({ environment: systemEnvironment });
    const worker = client.worker({ workflows: [idle], name: "w", concurrency: 7, lease: "30s" });
    await worker.start();
    await fleet.clock.advance("15s");
    const row = await client.workers.get(worker.workerId);
    expect(row?.about).toMatchObject({
      holdfast: expect.stringMatching(/^\d+\.\d+\.\d+/),
      runtime: `node ${process.versions.node}`,
      options: { concurrency: 7 },
    });
    expect(row?.load).toMatchObject({ runs: 0, tasks: 0, loopDelayMs: 0, loopBusy: expect.any(Number) });
    expect(row?.load?.memoryBytes).toBeGreaterThan(1_000_000);
  });

  test("show how many attempts of steps and tasks ended in the last minute, and how long they took", async () => {
    const fleet = openFleet();
    const client = fleet.client({ environment: systemEnvironment });
    const { clock } = fleet;
    const lasts = (ms: number) => new Promise<void>((done) => clock.setTimer(ms, done));
    const weigh = task("weigh", () => lasts(2000));
    const pack = workflow("pack", async (ctx, fails: boolean) => {
      await ctx.step("box", () => lasts(1000));
      await ctx.task(weigh);
      await ctx.step("seal", () => {
        if (fails) throw new HoldfastError("invalid_option", "no tape", { kind: "ValidationError" });
      });
    });
    const worker = client.worker({ workflows: [pack], tasks: [weigh], name: "w", lease: "30s" });
    await worker.start();
    await fleet.result(await client.start(pack, false));
    await expect(fleet.result(await client.start(pack, true))).rejects.toThrow("no tape");
    await clock.advance("10s");
    const pace = async () => (await client.workers.get(worker.workerId))?.load?.pace;
    expect(await pace()).toMatchObject({ attempts: 6, failed: 1, attemptMsMean: 1000, attemptMsMax: 2000 });
    await clock.advance("90s");
    expect(await pace()).toMatchObject({ attempts: 0, failed: 0, attemptMsMean: 0, attemptMsMax: 0 });
  });
});

describe("what is kept of workers", () => {
  test("is forgotten after 30 days by the leader", async () => {
    const fleet = openFleet();
    const old = await fleet.worker({ workflows: [idle], name: "old" });
    const client = fleet.client();
    const from = new Date(fleet.clock.now() - 60_000);
    await fleet.result(await client.start(idle));
    const { workerId } = old;
    await old.stop();
    await fleet.worker({ workflows: [idle], name: "new", lease: "1h" });
    const names = async () => (await client.workers.list()).map(({ name }) => name);
    const known = async () => (await client.workers.events({ workerId, limit: 1 })).events.length;
    const counted = async () => (await client.rates({ from, to: new Date(from.getTime() + 3_600_000) })).length;
    await fleet.clock.advance("29 days");
    expect([await names(), await counted()]).toEqual([["old", "new"], 1]);
    await fleet.clock.advance("2 days");
    expect([await names(), await known(), await counted()]).toEqual([["new"], 0, 0]);
    const { events } = await client.workers.events({ limit: 1_000 });
    expect(events.every(({ name }) => name === "new")).toBe(true);
  });
});

describe("workers.drain", () => {
  test("drains a worker of another process with its next heartbeat, and it does not come back", async () => {
    const fleet = openFleet();
    const slow = workflow("slow", async (ctx) => {
      await ctx.step("work", () => new Promise<void>((resolve) => void fleet.clock.setTimer(15_000, resolve)));
      return ctx.step("more", () => "done");
    });
    const worker = await fleet.worker({ workflows: [slow], name: "old", lease: "30s" });
    const { workerId } = worker;
    const client = fleet.client();
    const run = await client.start(slow);
    await fleet.clock.settle();
    await client.workers.drain(workerId);
    await fleet.clock.advance("11s");
    expect(await client.workers.get(workerId)).toMatchObject({ status: "draining", drainAsked: true });
    await fleet.clock.advance("1m");
    expect(await client.workers.get(workerId)).toMatchObject({ status: "offline", died: false });
    expect(worker.activeRuns).toBe(0);
    await fleet.worker({ workflows: [slow], name: "new" });
    expect(await fleet.result(run)).toBe("done");
    const steps = (await run.steps()).map(({ op, attempts }) => [op, attempts]);
    expect(steps).toEqual([
      ["work", 1],
      ["more", 1],
    ]);
  });

  test("of a worker that is gone, or was never there, is a clear error", async () => {
    const fleet = openFleet();
    const worker = await fleet.worker({ workflows: [idle] });
    const { workerId } = worker;
    await worker.stop();
    const { workers } = fleet.client();
    await expect(workers.drain(workerId)).rejects.toMatchObject({
      code: "worker_not_running",
      data: { outcome: "offline" },
    });
    await expect(workers.drain("nobody")).rejects.toMatchObject({ code: "worker_not_found" });
    await expect(workers.drain("")).rejects.toMatchObject({ code: "invalid_name" });
  });
});

describe("rates", () => {
  test("count what was started, ended, failed and retried, by the minute", async () => {
    const fleet = openFleet();
    const from = new Date(fleet.clock.now());
    const flaky = workflow("flaky", async (ctx, fails: boolean) => {
      await ctx.step("once more", ({ attempt }) => (attempt === 1 ? Promise.reject(new Error("no")) : attempt), {
        retry: { attempts: 2, fixed: "1s" },
      });
      if (fails) throw new Error("in vain");
    });
    await fleet.worker({ workflows: [flaky, idle], lease: "30s" });
    const client = fleet.client();
    for (const fails of [true, false, false]) await client.start(flaky, fails);
    await client.start(idle);
    await fleet.clock.advance("5m");
    const to = new Date(fleet.clock.now());
    const sums = await client.rates({ from: new Date(from.getTime() - 60_000), to });
    const sum = (workflow: string) =>
      sums.filter((one) => one.workflow === workflow).map(({ from: _, workflow: __, ...counts }) => counts);
    expect(sum("flaky")).toEqual([{ started: 3, ended: 3, failed: 1, retried: 3 }]);
    expect(sum("idle")).toEqual([{ started: 1, ended: 1, failed: 0, retried: 0 }]);
    expect(await client.rates({ from: new Date(from.getTime() - 60_000), to, workflow: "idle" })).toHaveLength(1);
    expect(await client.rates({ from: to, to })).toEqual([]);
    await expect(client.rates({ from: to, to: from })).rejects.toMatchObject({ code: "invalid_option" });
    await expect(client.rates(undefined as never)).rejects.toMatchObject({ code: "invalid_option" });
    await expect(client.rates({ from } as never)).rejects.toMatchObject({ code: "invalid_option" });
  });

  test("that a worker has counted are kept when it stops", async () => {
    const world = openWorld();
    const client = world.client({});
    const worker = await world.worker(client, { workflows: [idle], lease: "30s" });
    await world.result(await client.start(idle));
    await worker.stop();
    expect(await ratesOf(world, client)).toMatchObject([{ workflow: "idle", started: 1, ended: 1 }]);
  });

  test("are added once, though the store does not answer at first", async () => {
    const world = openWorld();
    let calls = 0;
    const hooks: Parameters<typeof world.client>[0] = {
      hooks: {
        "workers.addRates": async (_, call) => {
          calls += 1;
          // The first time nothing happens, the second time only the answer is lost.
          if (calls > 1) await call();
          if (calls <= 2) throw new HoldfastError("store_outcome_unknown", "gone");
        },
      },
    };
    const client = world.client(hooks);
    await world.worker(client, { workflows: [idle], lease: "30s" });
    for (let i = 0; i < 4; i++) {
      await world.result(await client.start(idle));
      await world.clock.advance("15s");
    }
    await world.clock.advance("1m");
    const counted = (await ratesOf(world, client)).reduce((sum, { ended }) => sum + ended, 0);
    expect([counted, calls > 3]).toEqual([4, true]);
  });
});

async function ratesOf(world: ReturnType<typeof openWorld>, client: ReturnType<typeof world.client>) {
  const now = world.clock.now();
  return client.rates({ from: new Date(now - 600_000), to: new Date(now + 60_000) });
}
