import { describe, expect, test } from "vitest";
import { workflow } from "../../src/define/definitions.ts";
import type { Worker } from "../../src/engine/worker/worker.ts";
import { Cluster, LEASE_MS, NEVER, type Process, unavailable } from "../lab/harness.ts";

const OUTAGE_MS = 4 * LEASE_MS;

interface Fleet {
  readonly cluster: Cluster;
  readonly processes: readonly Process[];
  readonly workers: readonly Worker[];
  readonly ids: readonly string[];
}

/** Some workers, each of which has runs whose steps take longer than any outage here. */
async function fleet(size: number, stepMs: number = 10 * LEASE_MS): Promise<Fleet> {
  const cluster = new Cluster();
  const slow = workflow("slow", async (ctx, n: number) => {
    await ctx.step("first", () => cluster.wait(stepMs + n * 200));
    return ctx.step("second", () => n);
  });
  const processes: Process[] = [];
  const workers: Worker[] = [];
  const ids: string[] = [];
  for (let i = 0; i < size; i++) {
    const process = cluster.process(`p${i}`);
    processes.push(process);
    workers.push(await process.worker({ workflows: [slow] }));
    for (let k = 0; k < 3; k++) {
      const id = `r${i}${k}`;
      ids.push(id);
      await cluster.until(process.client.start(slow, i * 3 + k, { id }));
    }
    // Their heartbeats are spread out, as they are in life.
    await cluster.clock.advance("3s");
  }
  return { cluster, processes, workers, ids };
}

function deathsIn(cluster: Cluster): number {
  return [...cluster.store.state.workers.values()].filter(({ died }) => died).length;
}

async function expectUndisturbed(
  { cluster, processes, workers, ids }: Fleet,
  workerIds: readonly string[],
): Promise<void> {
  await cluster.clock.advance({ milliseconds: 2 * LEASE_MS });
  expect(deathsIn(cluster)).toBe(0);
  expect(workers.map(({ workerId }) => workerId)).toEqual(workerIds);
  expect(ids.map((id) => cluster.runOf(id).epoch)).toEqual(ids.map(() => 1));
  const results = await cluster.until(Promise.all(ids.map((id) => processes[0]?.client.get(id).result())));
  expect(results).toEqual(ids.map((_, n) => n));
  expect(cluster.repeated()).toEqual([]);
}

describe("an outage of the store that is longer than the lease", () => {
  test("in which calls fail, kills nobody: every worker keeps its runs", async () => {
    const all = await fleet(3);
    const workerIds = all.workers.map(({ workerId }) => workerId);
    all.cluster.store.fault = () => unavailable();
    await all.cluster.clock.advance({ milliseconds: OUTAGE_MS });
    all.cluster.store.fault = undefined;
    await expectUndisturbed(all, workerIds);
  });

  test("in which steps end: their results are written afterwards, by the worker that has them", async () => {
    const all = await fleet(3, LEASE_MS);
    const workerIds = all.workers.map(({ workerId }) => workerId);
    all.cluster.store.fault = () => unavailable();
    await all.cluster.clock.advance({ milliseconds: OUTAGE_MS });
    expect(all.cluster.executions.filter(({ op }) => op === "second")).toEqual([]);
    all.cluster.store.fault = undefined;
    await expectUndisturbed(all, workerIds);
  });

  test.each([0, 1, 2])("in which calls hang, and worker %i is reached first, kills nobody either", async (first) => {
    for (const offsetMs of [0, 1_700, 3_300, 5_100, 7_900]) {
      const all = await fleet(3);
      const { cluster, processes } = all;
      const workerIds = all.workers.map(({ workerId }) => workerId);
      await cluster.clock.advance({ milliseconds: offsetMs });
      for (const process of processes) process.life.cutOff();
      await cluster.clock.advance({ milliseconds: OUTAGE_MS });
      const order = [...processes.slice(first), ...processes.slice(0, first)];
      for (const process of order) {
        process.thaw();
        await cluster.clock.advance("1s");
      }
      await expectUndisturbed(all, workerIds);
    }
  });

  test("that ends just as another worker starts: the newcomer declares nobody dead", async () => {
    const all = await fleet(3);
    const { cluster } = all;
    const workerIds = all.workers.map(({ workerId }) => workerId);
    cluster.store.fault = () => unavailable();
    const newcomer = cluster.process("newcomer").client.worker({ workflows: [], lease: "30s" });
    const started = newcomer.start();
    await cluster.clock.advance({ milliseconds: OUTAGE_MS });
    cluster.store.fault = undefined;
    await cluster.until(started);
    await expectUndisturbed(all, workerIds);
  });

  test("in which one worker really died: the others wait one lease, then take over its runs and no others", async () => {
    const all = await fleet(3);
    const { cluster, processes } = all;
    cluster.store.fault = () => unavailable();
    await cluster.clock.advance({ milliseconds: OUTAGE_MS / 2 });
    processes[1]?.kill();
    await cluster.clock.advance({ milliseconds: OUTAGE_MS / 2 });
    cluster.store.fault = undefined;
    const backMs = cluster.clock.monotonic();
    const orphans = ["r10", "r11", "r12"];
    await cluster.when(() => orphans.every((id) => cluster.count(id, "first") === 2));
    const takenOverMs = cluster.clock.monotonic() - backMs;
    expect(takenOverMs).toBeGreaterThanOrEqual(0.8 * LEASE_MS);
    expect(takenOverMs).toBeLessThanOrEqual(2.5 * LEASE_MS);
    expect(deathsIn(cluster)).toBe(1);
    const others = all.ids.filter((id) => !orphans.includes(id));
    expect(others.map((id) => cluster.runOf(id).epoch)).toEqual(others.map(() => 1));
  });
});

test("a single worker that dies while all is well is declared dead once its lease is over, not before", async () => {
  const cluster = new Cluster();
  const hangs = workflow("hangs", async (ctx) => ctx.step("s", () => (doomed.life.dead ? 1 : NEVER)));
  const doomed = cluster.process("doomed");
  const others = [cluster.process("a"), cluster.process("b")];
  await doomed.worker({ workflows: [hangs] });
  for (const other of others) await other.worker({ workflows: [hangs] });
  await cluster.until(doomed.client.start(hangs, undefined, { id: "r" }));
  await cluster.clock.advance("15s");
  doomed.kill();
  const [row] = cluster.store.state.workers.values();
  const expiresMs = (row?.leaseExpiresAt ?? 0) - cluster.clock.now() + cluster.clock.monotonic();
  await cluster.when(() => cluster.count("r", "s") === 2);
  const takenOverMs = cluster.clock.monotonic();
  expect(takenOverMs).toBeGreaterThanOrEqual(expiresMs);
  expect(takenOverMs).toBeLessThanOrEqual(expiresMs + 1_000);
});
