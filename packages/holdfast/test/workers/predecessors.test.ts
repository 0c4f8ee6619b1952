import { describe, expect, test } from "vitest";
import { workflow } from "../../src/define/definitions.ts";
import type { Environment } from "../../src/ports/environment.ts";
import { Cluster, HEARTBEAT_MS, LEASE_MS, NEVER, type Process } from "../lab/harness.ts";

const QUICK_MS = 1_000;

/** A machine on which processes come and go. */
class Machine {
  readonly host: string;
  readonly #running = new Set<number>();

  constructor(host: string) {
    this.host = host;
  }

  start(pid: number): Environment {
    this.#running.add(pid);
    return {
      host: this.host,
      pid,
      inPool: false,
      workerIds: new Set(),
      workerName: () => "orders-1",
      isGone: (other) => !this.#running.has(other),
      programDigest: () => undefined,
    };
  }

  end(pid: number): void {
    this.#running.delete(pid);
  }
}

/** A run whose step is under way in a first process. */
async function underWay(cluster: Cluster, first: Process, options: { readonly name?: string } = {}) {
  const slow = workflow("slow", async (ctx) => {
    await ctx.step("work", () => (cluster.count("r", "work") === 1 ? NEVER : "done"));
    return "done";
  });
  const worker = await first.worker({ workflows: [slow], ...options });
  await cluster.until(first.client.start(slow, undefined, { id: "r" }));
  await cluster.when(() => cluster.count("r", "work") === 1);
  return { slow, worker };
}

async function took(cluster: Cluster, act: () => Promise<unknown>): Promise<number> {
  const before = cluster.clock.monotonic();
  await act();
  return cluster.clock.monotonic() - before;
}

function online(cluster: Cluster): string[] {
  return [...cluster.store.state.workers.values()].filter(({ status }) => status !== "offline").map(({ name }) => name);
}

describe("health", () => {
  test("does not count a worker that died and was replaced, however long ago that was", async () => {
    const [cluster, machine] = [new Cluster(), new Machine("h")];
    const first = cluster.process("first", undefined, machine.start(10));
    await first.worker({ workflows: [] });
    await cluster.clock.advance("1 minute");
    first.kill();
    machine.end(10);
    const second = cluster.process("second", undefined, machine.start(11));
    await second.worker({ workflows: [] });
    const health = await cluster.until(second.client.health());
    expect(health).toMatchObject({
      status: "healthy",
      reasons: [],
      workers: [{ name: "orders-1", health: "healthy" }],
    });
    expect(health.workers).toHaveLength(1);
  });

  test("does not count it either when its successor came after its lease had expired", async () => {
    const [cluster, machine] = [new Cluster(), new Machine("h")];
    const first = cluster.process("first", undefined, machine.start(10));
    const other = cluster.process("other", undefined, new Machine("i").start(10));
    for (const process of [first, other]) await process.worker({ workflows: [] });
    first.kill();
    machine.end(10);
    await cluster.clock.advance({ milliseconds: 2 * LEASE_MS });
    expect(await cluster.until(other.client.health())).toMatchObject({ status: "degraded" });
    await cluster.process("second", undefined, machine.start(11)).worker({ workflows: [] });
    expect(await cluster.until(other.client.health())).toMatchObject({ status: "healthy", reasons: [] });
  });

  test("counts one that died beside another of its name, and one that died on another host", async () => {
    for (const [here, there] of [
      [new Machine("h"), new Machine("i")],
      [new Machine("h")].flatMap((machine) => [machine, machine]) as [Machine, Machine],
    ] as const) {
      const cluster = new Cluster();
      const [first, second] = [here.start(10), there.start(11)].map((environment) =>
        cluster.process(`${environment.host}-${environment.pid}`, undefined, environment),
      ) as [Process, Process];
      for (const process of [first, second]) await process.worker({ workflows: [] });
      await cluster.clock.advance("1 minute");
      first.kill();
      await cluster.clock.advance({ milliseconds: 2 * LEASE_MS });
      const health = await cluster.until(second.client.health());
      expect(health).toMatchObject({
        status: "degraded",
        reasons: [expect.stringMatching(/^Worker orders-1 is offline/)],
      });
    }
  });
});

describe("a worker that starts where one of its name has died", () => {
  test("takes over at once when the process of the other is gone, and counts a death", async () => {
    const [cluster, machine] = [new Cluster(), new Machine("h")];
    const first = cluster.process("first", undefined, machine.start(10));
    const { slow } = await underWay(cluster, first);
    first.kill();
    machine.end(10);
    const second = cluster.process("second", undefined, machine.start(11));
    const ms = await took(cluster, async () => {
      await second.worker({ workflows: [slow] });
      await cluster.when(() => cluster.runOf("r").status === "completed");
    });
    expect(ms).toBeLessThan(QUICK_MS);
    expect(cluster.runOf("r").epoch).toBe(3);
    expect([...cluster.store.state.workers.values()].map(({ died }) => died)).toEqual([true, false]);
  });

  test("takes over at once when it has the very process id of the other, as containers do", async () => {
    const cluster = new Cluster();
    const first = cluster.process("first", undefined, new Machine("h").start(1));
    const { slow } = await underWay(cluster, first, { name: "orders" });
    first.kill();
    const second = cluster.process("second", undefined, new Machine("h").start(1));
    const ms = await took(cluster, async () => {
      await second.worker({ workflows: [slow], name: "orders" });
      await cluster.when(() => cluster.runOf("r").status === "completed");
    });
    expect(ms).toBeLessThan(QUICK_MS);
  });

  test.each<[string, Machine | undefined, string]>([
    ["its process lives", undefined, "orders-1"],
    ["it is on another host", new Machine("other"), "orders-1"],
    ["it has another name", undefined, "refunds"],
  ])("leaves the other alone when %s", async (_title, elsewhere, name) => {
    const [cluster, machine] = [new Cluster(), new Machine("h")];
    const first = cluster.process("first", undefined, machine.start(10));
    const { slow, worker } = await underWay(cluster, first);
    if (name !== "orders-1") machine.end(10);
    const second = cluster.process("second", undefined, (elsewhere ?? machine).start(11));
    await second.worker({ workflows: [slow], name });
    await cluster.clock.advance({ milliseconds: 2 * LEASE_MS });
    expect(cluster.runOf("r")).toMatchObject({ heldBy: worker.workerId, epoch: 1 });
    expect(cluster.count("r", "work")).toBe(1);
  });

  test("leaves other workers of its own process alone", async () => {
    const [cluster, machine] = [new Cluster(), new Machine("h")];
    const first = cluster.process("first", undefined, machine.start(10));
    const { slow, worker } = await underWay(cluster, first);
    await first.worker({ workflows: [slow] });
    await cluster.clock.advance({ milliseconds: 2 * LEASE_MS });
    expect(cluster.runOf("r")).toMatchObject({ heldBy: worker.workerId, epoch: 1 });
  });

  test.each([
    ["after it", false],
    ["at the same time", true],
  ])("takes another name when a worker of its process has that and lives, and starts %s", async (_title, atOnce) => {
    const [cluster, machine] = [new Cluster(), new Machine("h")];
    const process = cluster.process("first", undefined, machine.start(10));
    const start = () => process.worker({ workflows: [], name: "orders" });
    const workers = atOnce ? await Promise.all([start(), start()]) : [await start(), await start()];
    expect(online(cluster).sort()).toEqual(["orders", "orders~2"]);
    const ids = workers.map(({ workerId }) => workerId);
    await cluster.clock.advance("1h");
    // Neither has replaced the other.
    expect(workers.map(({ workerId }) => workerId)).toEqual(ids);
    for (const worker of workers) await cluster.until(worker.stop());
    await start();
    expect(online(cluster)).toEqual(["orders"]);
  });

  test("of twins with the same host, process id and name, the one that was replaced takes another name, and they live side by side", async () => {
    const cluster = new Cluster();
    const first = cluster.process("first", undefined, new Machine("h").start(1));
    const { slow, worker: one } = await underWay(cluster, first, { name: "orders" });
    const second = cluster.process("second", undefined, new Machine("h").start(1));
    const other = await second.worker({ workflows: [slow], name: "orders" });
    await cluster.when(() => cluster.runOf("r").status === "completed");
    await cluster.clock.advance({ milliseconds: 2 * HEARTBEAT_MS });
    expect(online(cluster).sort()).toEqual(["orders", "orders~2"]);
    const ids = [one.workerId, other.workerId];
    await cluster.clock.advance("1h");
    expect([one.workerId, other.workerId]).toEqual(ids);
  });

  test("a worker that has lost its lease and lives registers under its own name", async () => {
    const [cluster, machine] = [new Cluster(), new Machine("h")];
    const first = cluster.process("first", undefined, machine.start(10));
    const worker = await first.worker({ workflows: [], name: "orders" });
    await cluster.process("sweeps").worker({ workflows: [] });
    const before = worker.workerId;
    first.life.freeze();
    await cluster.clock.advance({ milliseconds: 2 * LEASE_MS });
    first.thaw();
    await cluster.when(() => worker.workerId !== before && worker.workerId !== "");
    expect(online(cluster)).toContain("orders");
  });

  test("does not wait when the store cannot be reached for that: the lease ends by itself", async () => {
    const [cluster, machine] = [new Cluster(), new Machine("h")];
    const first = cluster.process("first", undefined, machine.start(10));
    const { slow } = await underWay(cluster, first);
    first.kill();
    machine.end(10);
    const refuses = async (method: string, params: unknown, next: () => Promise<unknown>) => {
      if (method === "workers.sweep" && (params as { gone?: unknown }).gone) throw new Error("not now");
      return next();
    };
    await cluster.process("second", refuses, machine.start(11)).worker({ workflows: [slow] });
    await cluster.when(() => cluster.runOf("r").status === "completed");
  });
});

describe("why() of a run that a worker holds", () => {
  test("says when the worker was last heard of and when its lease ends, and when it is overdue", async () => {
    const cluster = new Cluster();
    const first = cluster.process("first");
    await underWay(cluster, first, { name: "orders" });
    const asker = cluster.process("asker").client;
    const reason = async (): Promise<string> => (await cluster.until(asker.why("r"))).reason;
    await cluster.clock.advance("2s");
    expect(await reason()).toMatch(
      /^Worker orders is working on it; its last heartbeat was 2s ago, and its lease expires in 28s\. Step "work" has been running for 2s\.$/,
    );
    first.kill();
    await cluster.clock.advance("18s");
    expect(await reason()).toBe(
      'Worker orders holds it, but is overdue: its last heartbeat was 20s ago, and one is due every 10s. If it stays silent, its lease expires in 10s, and its runs are reclaimed. Step "work" began 20s ago.',
    );
    await cluster.clock.advance("15s");
    expect(await reason()).toBe(
      "Worker orders holds it, but its last heartbeat was 35s ago and its lease expired 5s ago; the next sweep of a live worker reclaims its runs.",
    );
    const { causes } = await cluster.until(asker.why("r"));
    expect(causes.map(({ kind, worker }) => [kind, worker])).toEqual([["lease", "orders"]]);
  });
});
