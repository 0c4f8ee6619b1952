import { type Context, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { Cluster, LEASE_MS, outcomeUnknown, type StoreHook, Valve } from "../lab/harness.ts";

const go = signal("go");

/** Three deployments of one workflow: two that have a bug each, and one that has none. */
const old = workflow("order", async (ctx) => {
  await begin(ctx);
  return (undefined as unknown as { cents: number }).cents;
});
const alsoBad = workflow("order", async (ctx) => {
  await begin(ctx);
  throw new RangeError("still wrong");
});
const fixed = workflow("order", async (ctx) => {
  await begin(ctx);
  return "shipped";
});

async function begin(ctx: Context): Promise<void> {
  await ctx.step("charge", () => 1);
  await ctx.receive(go);
}

async function parkedCluster(): Promise<Cluster> {
  const cluster = new Cluster();
  const first = cluster.process("first");
  const worker = await first.worker({ workflows: [old] });
  const run = await cluster.until(first.client.start(old, undefined, { id: "o" }));
  await cluster.until(run.signal(go));
  await cluster.when(() => cluster.runOf("o").status === "parked");
  await cluster.until(worker.stop());
  return cluster;
}

describe("runs that were parked for a bug or a divergence", () => {
  test("are taken up by a worker that registers with other code, and by none with the same", async () => {
    const cluster = await parkedCluster();
    await cluster.process("same").worker({ workflows: [old] });
    await cluster.clock.advance({ milliseconds: 10 * LEASE_MS });
    expect(cluster.runOf("o")).toMatchObject({ status: "parked", error: { code: "workflow_bug" }, epoch: 2 });
    await cluster.process("fixed").worker({ workflows: [fixed] });
    await cluster.when(() => cluster.runOf("o").status === "completed");
  });

  test("are taken up while many workers still have the old code, and none of those gets them", async () => {
    const cluster = await parkedCluster();
    for (const name of ["a", "b", "c"]) await cluster.process(name).worker({ workflows: [old] });
    await cluster.process("after").worker({ workflows: [fixed] });
    await cluster.when(() => cluster.runOf("o").status === "completed");
    expect(cluster.runOf("o").epoch).toBe(3);
    expect(cluster.count("o", "charge")).toBe(1);
  });

  test("are taken up again when a worker that still has the old code has parked them once more", async () => {
    const cluster = await parkedCluster();
    const before = await cluster.process("before").worker({ workflows: [old] });
    const claims = new Valve("runs.claim", "calls");
    claims.shut();
    // It holds the run, and dies before it can do anything: a worker that still has the old code gets it.
    const first = cluster.process("dies", claims.hook);
    void first.worker({ workflows: [fixed] });
    await cluster.when(() => claims.waiting > 0);
    first.kill();
    await cluster.when(() => cluster.runOf("o").status === "parked");
    expect(cluster.runOf("o").epoch).toBe(5);
    await cluster.process("after").worker({ workflows: [fixed] });
    await cluster.when(() => cluster.runOf("o").status === "completed");
    expect(before.activeRuns).toBe(0);
  });

  test("that are parked by an old worker after the new one has started are taken up after its next sweep", async () => {
    const cluster = new Cluster();
    const [before, after] = [cluster.process("before"), cluster.process("after")];
    await before.worker({ workflows: [old] });
    const run = await cluster.until(before.client.start(old, undefined, { id: "o" }));
    await cluster.when(() => cluster.runOf("o").status === "waiting");
    // It has no room at first, so that the old one gets the run.
    const busy = workflow("busy", async (ctx) => void (await ctx.step("long", () => cluster.wait(5_000))));
    await after.worker({ workflows: [fixed, busy], concurrency: 1 });
    await cluster.until(after.client.start(busy));
    await cluster.until(run.signal(go));
    await cluster.when(() => cluster.runOf("o").status === "parked");
    await cluster.when(() => cluster.runOf("o").status === "completed");
  });

  test("are taken up by a worker that was stopped and is started again, which waits for that once", async () => {
    const cluster = new Cluster();
    const process = cluster.process("p");
    const worker = process.makeWorker({ workflows: [fixed], tuning: { claimFallbackMs: 3_600_000 } });
    for (let i = 0; i < 3; i++) {
      const before = cluster.clock.monotonic();
      await cluster.until(worker.start());
      expect(cluster.clock.monotonic() - before).toBeLessThan(1_000);
      await cluster.until(worker.stop());
    }
    expect(cluster.store.calls["runs.holdIfParkedByOtherCode"]).toBe(3);
  });

  test("are found although the answer of the store was lost", async () => {
    const cluster = await parkedCluster();
    let lost = 0;
    const loses: StoreHook = async (method, _params, next) => {
      const answer = await next();
      if (method === "runs.holdIfParkedByOtherCode" && lost++ === 0) throw outcomeUnknown();
      return answer;
    };
    await cluster.process("after", loses).worker({ workflows: [fixed] });
    await cluster.when(() => cluster.runOf("o").status === "completed", "10 seconds");
    expect(cluster.runOf("o").epoch).toBe(3);
  });

  test("are not passed on for ever between two codes that both cannot run them", async () => {
    const cluster = await parkedCluster();
    await cluster.process("one").worker({ workflows: [old] });
    await cluster.process("other").worker({ workflows: [alsoBad] });
    await cluster.clock.advance({ milliseconds: 4 * LEASE_MS });
    const { epoch } = cluster.runOf("o");
    await cluster.clock.advance("1 day");
    expect(cluster.runOf("o")).toMatchObject({ status: "parked", epoch });
    await cluster.process("fixed").worker({ workflows: [fixed] });
    await cluster.when(() => cluster.runOf("o").status === "completed");
  });

  test("are taken up in pieces however many there are, and others are left to people", async () => {
    const cluster = new Cluster();
    const stuck = workflow("stuck", () => new Promise<void>(() => {}));
    const bad = workflow("many", async () => JSON.parse("{"));
    const first = cluster.process("first");
    const worker = await first.worker({ workflows: [bad, stuck], concurrency: 1_000 });
    const requests = Array.from({ length: 1_200 }, (_, i) => ({ workflow: "many", options: { id: `m${i}` } }));
    await cluster.until(first.client.startMany([...requests, { workflow: "stuck", options: { id: "s" } }]));
    const all = () => [...cluster.store.state.runs.values()];
    await cluster.when(() => all().every(({ status }) => status === "parked"));
    await cluster.until(worker.stop());
    const good = workflow("many", async () => "done");
    const mended = workflow("stuck", async () => {});
    await cluster.process("second").worker({ workflows: [good, mended], concurrency: 1_000 });
    await cluster.when(() => all().filter(({ status }) => status === "completed").length === 1_200);
    expect(cluster.runOf("s")).toMatchObject({ status: "parked", error: { code: "foreign_await" } });
    expect(cluster.store.calls["runs.holdIfParkedByOtherCode"]).toBeGreaterThanOrEqual(3);
  });
});
