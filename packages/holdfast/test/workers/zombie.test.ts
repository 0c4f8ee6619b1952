import { describe, expect, test } from "vitest";
import { workflow } from "../../src/define/definitions.ts";
import {
  Cluster,
  faultsInStore,
  Gate,
  HEARTBEAT_MS,
  LEASE_MS,
  NEVER,
  type Process,
  unavailable,
  Valve,
} from "../lab/harness.ts";

/** Three steps; the middle one takes as long as the gate is shut, wherever it runs. */
function makeSlow(gate: Gate) {
  return workflow("slow", async (ctx) => {
    await ctx.step("a", () => 1);
    await ctx.step("b", () => gate.opened);
    await ctx.step("c", () => 3);
    return "done";
  });
}

const quick = workflow("quick", async (ctx) => ctx.step("only", () => "quick"));

describe.each([
  ["frozen", (process: Process) => process.life.freeze()],
  ["cut off from the store", (process: Process) => process.life.cutOff()],
])("a worker that is %s for longer than its lease", (_how, pause) => {
  test("finds its writes refused, starts nothing for others' runs, registers again, and is of use", async () => {
    const cluster = new Cluster();
    const gate = new Gate();
    const slow = makeSlow(gate);
    const zombie = cluster.process("zombie");
    const other = cluster.process("other");
    const worker = await zombie.worker({ workflows: [slow, quick] });
    const firstId = worker.workerId;
    await cluster.until(zombie.client.start(slow, undefined, { id: "r" }));
    await cluster.when(() => cluster.count("r", "b") === 1);
    pause(zombie);
    await other.worker({ workflows: [slow] });
    await cluster.when(() => cluster.count("r", "b") === 2);
    // Now both execute the step, and both finish it.
    gate.open();
    zombie.thaw();
    expect(await cluster.until(other.client.get("r").result())).toBe("done");
    await cluster.clock.advance("5s");
    expect(cluster.executions.map(({ process, op }) => `${process} ${op}`)).toEqual([
      "zombie a",
      "zombie b",
      "other b",
      "other c",
    ]);
    expect(faultsInStore(cluster.store)).toEqual([]);
    expect(cluster.trespasses()).toEqual([]);
    expect(worker.workerId).not.toBe(firstId);
    expect(worker.activeRuns).toBe(0);
    expect(await cluster.until(zombie.client.run(quick))).toBe("quick");
    expect(cluster.executions.at(-1)).toMatchObject({ process: "zombie", op: "only" });
    expect(cluster.errors).toEqual([]);
  });

  test("aborts the attempts of runs that it has lost", async () => {
    const cluster = new Cluster();
    const aborted: string[] = [];
    const watch = workflow("watch", async (ctx) => {
      await ctx.step("listen", ({ signal }) => {
        const name = zombie.life.dead ? "" : (cluster.executions.at(-1)?.process ?? "");
        return new Promise<void>((resolve) => {
          signal.addEventListener("abort", () => aborted.push(`${name}: ${(signal.reason as { code: string }).code}`));
          if (name === "other") resolve();
        });
      });
    });
    const zombie = cluster.process("zombie");
    const other = cluster.process("other");
    await zombie.worker({ workflows: [watch] });
    await cluster.until(zombie.client.start(watch, undefined, { id: "r" }));
    await cluster.when(() => cluster.count("r", "listen") === 1);
    pause(zombie);
    await other.worker({ workflows: [watch] });
    await cluster.until(other.client.get("r").result());
    expect(aborted).toEqual([]);
    zombie.thaw();
    await cluster.clock.advance("5s");
    expect(aborted).toEqual(["zombie: lease_lost"]);
  });
});

test("a worker that cannot reach the store starts no effect past its deadline, but keeps what it has", async () => {
  const cluster = new Cluster();
  const chain = workflow("chain", async (ctx) => {
    for (let i = 0; i < 100; i++) await ctx.step("s", () => cluster.wait(1_000));
    return "done";
  });
  const valve = new Valve(["workers.heartbeat", "workers.sweep"], "calls");
  const process = cluster.process("p", valve.hook);
  const worker = await process.worker({ workflows: [chain] });
  valve.shut();
  const run = await cluster.until(process.client.start(chain));
  await cluster.clock.advance("2 minutes");
  // Commits go through: only the lease is not renewed. No other worker is there to claim the run.
  expect(Math.max(...cluster.executions.map(({ atMs }) => atMs))).toBeLessThan(LEASE_MS);
  expect(worker.activeRuns).toBe(1);
  const started = cluster.executions.length;
  valve.open();
  expect(await cluster.until(run.result())).toBe("done");
  expect(started).toBeGreaterThan(25);
  expect(cluster.repeated()).toEqual([]);
});

test("a wall clock that jumps ahead, as after a sleep of the machine, ends the lease", async () => {
  const cluster = new Cluster();
  const steps = workflow("steps", async (ctx) => {
    await ctx.step("a", () => cluster.wait(1_000));
    await ctx.step("b", () => 2);
  });
  const process = cluster.process("p");
  await process.worker({ workflows: [steps] });
  const run = await cluster.until(process.client.start(steps, undefined, { id: "r" }));
  process.life.skewMs = LEASE_MS + 1;
  await cluster.clock.advance("5s");
  expect(cluster.count("r", "a")).toBe(1);
  expect(cluster.count("r", "b")).toBe(0);
  // The next heartbeat that is answered releases it.
  await cluster.until(run.result());
  expect(cluster.clock.monotonic()).toBeLessThanOrEqual(HEARTBEAT_MS);
});

describe("an answer that comes late", () => {
  test("does not make a worker execute what was claimed under an id that is dead by now", async () => {
    const cluster = new Cluster();
    const claims = new Valve("runs.claim", "answers");
    const zombie = cluster.process("zombie", claims.hook);
    const other = cluster.process("other");
    await zombie.worker({ workflows: [quick] });
    await cluster.clock.settle();
    claims.shut();
    await cluster.until(other.client.start(quick, undefined, { id: "r" }));
    await cluster.when(() => claims.waiting === 1);
    expect(cluster.runOf("r").heldBy).not.toBeNull();
    // The claim has taken the run; its answer and everything else of the process stand still until others have it.
    zombie.life.freeze();
    await cluster.clock.advance("1s");
    await other.worker({ workflows: [quick] });
    await cluster.until(other.client.get("r").result());
    zombie.thaw();
    await cluster.clock.advance("20s");
    claims.open();
    await cluster.clock.advance("20s");
    expect(cluster.executions.map(({ process }) => process)).toEqual(["other"]);
    expect(cluster.trespasses()).toEqual([]);
  });

  test("that says dead concerns the id that was asked for, not the one that has taken its place", async () => {
    const cluster = new Cluster();
    const claims = new Valve("runs.claim", "answers");
    const zombie = cluster.process("zombie", claims.hook);
    const other = cluster.process("other");
    const worker = await zombie.worker({ workflows: [quick] });
    await cluster.clock.settle();
    const firstId = worker.workerId;
    zombie.life.freeze();
    await other.worker({ workflows: [] });
    await cluster.clock.advance("40s");
    claims.shut();
    zombie.thaw();
    // Both the claim and the heartbeat are told that the worker is dead; the answer to the claim is late.
    await cluster.when(() => claims.waiting > 0 && worker.workerId !== firstId && worker.workerId !== "");
    const secondId = worker.workerId;
    claims.open();
    await cluster.clock.advance("2s");
    expect(worker.workerId).toBe(secondId);
    const run = await cluster.until(other.client.start(quick));
    await cluster.until(run.result());
    expect([...cluster.store.state.workers.values()].filter(({ workerId }) => workerId !== firstId)).toHaveLength(2);
    expect(cluster.errors).toEqual([]);
  });
});

test("a worker whose calls are swallowed for a while, never to be answered, is of use again afterwards", async () => {
  const cluster = new Cluster();
  let swallowed = 0;
  let swallowing = false;
  const zombie = cluster.process("zombie", (_method, _params, next) => {
    if (!swallowing) return next();
    swallowed += 1;
    return NEVER;
  });
  const slow = workflow("slow", async (ctx) => ctx.step("s", () => cluster.wait(1_000)));
  const worker = await zombie.worker({ workflows: [quick, slow], tuning: { flushesInFlightMax: 1 } });
  const other = cluster.process("other");
  await cluster.until(zombie.client.start(slow));
  swallowing = true;
  cluster.hints.publish([{ type: "due", namespace: "default", queue: "default" }]);
  await cluster.clock.advance({ milliseconds: 3 * LEASE_MS });
  expect(swallowed).toBeGreaterThan(3);
  const keeper = await other.worker({ workflows: [] });
  await cluster.clock.advance("20s");
  swallowing = false;
  await cluster.clock.advance("20s");
  await cluster.until(keeper.stop());
  // It claims, writes, and sweeps: a run of a worker that has died reaches it.
  const doomed = cluster.process("doomed");
  await doomed.worker({ workflows: [quick] });
  cluster.store.fault = (_moment, method) => (method === "runs.commit" ? unavailable() : undefined);
  await cluster.until(doomed.client.start(quick, undefined, { id: "r" }));
  await cluster.when(() => cluster.count("r", "only") === 1);
  doomed.kill();
  cluster.store.fault = undefined;
  expect(await cluster.until(other.client.get("r").result())).toBe("quick");
  expect(cluster.executions.at(-1)?.process).toBe("zombie");
  expect(worker.activeRuns).toBe(0);
});

test("a sweep that is never answered is not the last one", async () => {
  const cluster = new Cluster();
  let swallowed = false;
  const sweeper = cluster.process("sweeper", (method, _params, next) => {
    if (method !== "workers.sweep" || swallowed) return next();
    swallowed = true;
    return NEVER;
  });
  await sweeper.worker({ workflows: [quick] });
  await cluster.clock.advance({ milliseconds: LEASE_MS });
  expect(swallowed).toBe(true);
  const doomed = cluster.process("doomed");
  const doomedWorker = await doomed.worker({ workflows: [] });
  doomed.kill();
  await cluster.clock.advance({ milliseconds: 4 * LEASE_MS });
  expect(cluster.store.state.workers.get(doomedWorker.workerId)).toMatchObject({ status: "offline", died: true });
});

test("a worker that registers again does nothing under its old id, or under none, while it waits", async () => {
  const cluster = new Cluster();
  const register = new Valve("workers.register", "calls");
  const zombie = cluster.process("zombie", register.hook);
  const other = cluster.process("other");
  const worker = await zombie.worker({ workflows: [quick] });
  await other.worker({ workflows: [] });
  await cluster.clock.settle();
  zombie.life.freeze();
  await cluster.clock.advance("40s");
  register.shut();
  zombie.thaw();
  await cluster.clock.advance("1s");
  // Runs become due, and hints of them arrive, while it has no id.
  const run = await cluster.until(other.client.start(quick));
  await cluster.clock.advance("30s");
  expect(register.waiting).toBe(1);
  register.open();
  expect(await cluster.until(run.result())).toBe("quick");
  expect(worker.workerId).not.toBe("");
  expect(cluster.errors).toEqual([]);
});
