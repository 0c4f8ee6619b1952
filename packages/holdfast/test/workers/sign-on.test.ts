import { describe, expect, test } from "vitest";
import { workflow } from "../../src/define/definitions.ts";
import { HoldfastError } from "../../src/errors/holdfast-error.ts";
import { Cluster, LEASE_MS, outcomeUnknown, type Process, unavailable, Valve } from "../lab/harness.ts";

const quick = workflow("quick", async (ctx) => ctx.step("only", () => "quick"));

function online(cluster: Cluster): string[] {
  return [...cluster.store.state.workers.values()]
    .filter(({ status }) => status !== "offline")
    .map(({ workerId }) => workerId);
}

/** Freezes the process until its lease has expired and a sweep has noticed. */
async function outliveLease(cluster: Cluster, process: Process): Promise<void> {
  const reaper = cluster.process("reaper");
  const worker = await reaper.worker({ workflows: [] });
  process.life.freeze();
  await cluster.clock.advance({ milliseconds: LEASE_MS + 5_000 });
  await cluster.until(worker.stop());
  process.thaw();
}

describe("a worker that registers", () => {
  test("counts its lease from the first try, because that may be the one that the store has taken", async () => {
    const cluster = new Cluster();
    let failures = 8;
    cluster.store.fault = (moment, method) => {
      if (method === "workers.register" && moment === "after" && failures-- > 0) return outcomeUnknown();
      return method === "workers.heartbeat" ? unavailable() : undefined;
    };
    const process = cluster.process("p");
    const worker = await process.worker({ workflows: [quick] });
    const row = cluster.store.state.workers.get(worker.workerId);
    const signedOnMs = cluster.clock.monotonic();
    expect(signedOnMs).toBeGreaterThan(5_000);
    // No heartbeat gets through. In the last moment of the lease, as the store counts it, nothing may start any more.
    const expiresMs = (row?.leaseExpiresAt ?? 0) - cluster.clock.now() + signedOnMs;
    await cluster.clock.advance({ milliseconds: expiresMs - signedOnMs + 1 });
    await cluster.until(process.client.start(quick, undefined, { id: "r" }));
    await cluster.clock.settle();
    expect(cluster.executions).toEqual([]);
    cluster.store.fault = undefined;
    expect(await cluster.until(process.client.get("r").result())).toBe("quick");
  });

  test("does not wait for what will not go away by itself, and neither does a caller", async () => {
    const cluster = new Cluster();
    const damaged = new HoldfastError("store_unavailable", "the file is damaged", { data: { lasting: true } });
    let calls = 0;
    cluster.store.fault = (moment) => {
      if (moment === "before") calls += 1;
      return damaged;
    };
    const process = cluster.process("p");
    const answer = { code: "store_unavailable", message: "the file is damaged" };
    await expect(cluster.until(process.client.start(quick))).rejects.toMatchObject(answer);
    await expect(cluster.until(process.client.count())).rejects.toMatchObject(answer);
    await expect(process.worker({ workflows: [quick] })).rejects.toMatchObject(answer);
    await expect(process.worker({ workflows: [] })).rejects.toMatchObject(answer);
    expect(calls).toBe(4);
    expect(cluster.clock.monotonic()).toBe(0);
  });

  test("takes another id when the store calls the first one dead", async () => {
    const cluster = new Cluster();
    const other = cluster.process("other");
    await other.worker({ workflows: [] });
    let lost = false;
    cluster.store.fault = (moment, method) => {
      if (method !== "workers.register" || moment === "before" || lost) return undefined;
      lost = true;
      for (const row of cluster.store.state.workers.values()) if (row.status === "online") row.leaseExpiresAt = 0;
      return outcomeUnknown();
    };
    const process = cluster.process("p", async (method, _params, next) => {
      // The network is down for so long that the lease of the first registration expires, and a sweep notices.
      if (method === "workers.register" && lost) await cluster.wait(LEASE_MS);
      return next();
    });
    const worker = await process.worker({ workflows: [quick] });
    expect(online(cluster)).toContain(worker.workerId);
    expect(await cluster.until(process.client.run(quick))).toBe("quick");
    expect(cluster.trespasses()).toEqual([]);
  });

  test("gives up when it is stopped, and can be started again", async () => {
    const cluster = new Cluster();
    cluster.store.fault = () => unavailable();
    const process = cluster.process("p");
    const worker = process.client.worker({ workflows: [quick] });
    const started = worker.start();
    await cluster.clock.advance("10s");
    await cluster.until(Promise.all([worker.stop(), started]));
    cluster.store.fault = undefined;
    await cluster.until(worker.start());
    expect(await cluster.until(process.client.run(quick))).toBe("quick");
  });

  test("says so when the store refuses it, and can be started again", async () => {
    const cluster = new Cluster();
    cluster.store.fault = (_moment, method) =>
      method === "workers.register" ? new HoldfastError("store_refused", "no such table") : undefined;
    const process = cluster.process("p");
    const worker = process.client.worker({ workflows: [quick] });
    await expect(cluster.until(worker.start())).rejects.toMatchObject({ code: "store_refused" });
    cluster.store.fault = undefined;
    await cluster.until(worker.start());
    expect(await cluster.until(process.client.run(quick))).toBe("quick");
  });
});

describe("a worker that registers again after its lease", () => {
  test.each(["drain", "stop"] as const)("and is told to %s while the store is away, ends quietly", async (end) => {
    const cluster = new Cluster();
    const process = cluster.process("p");
    const worker = await process.worker({ workflows: [quick] });
    const away = new Valve("workers.register", "calls");
    await outliveLease(cluster, process);
    cluster.store.fault = (_moment, method) => (method === "workers.register" ? unavailable() : undefined);
    await cluster.clock.advance("5s");
    expect(worker.workerId).toBe("");
    await cluster.until(worker[end]());
    await cluster.clock.advance("10s");
    cluster.store.fault = undefined;
    away.open();
    await cluster.clock.advance("2 minutes");
    expect(online(cluster)).toEqual([]);
    expect(cluster.errors).toEqual([]);
  });

  test.each(["drain", "stop"] as const)(
    "and is told to %s while the answer is on its way, leaves no row behind",
    async (end) => {
      const cluster = new Cluster();
      const register = new Valve("workers.register", "answers");
      const process = cluster.process("p", register.hook);
      const worker = await process.worker({ workflows: [quick] });
      await outliveLease(cluster, process);
      register.shut();
      await cluster.when(() => register.waiting === 1);
      await cluster.until(worker[end]());
      register.open();
      await cluster.clock.advance("5s");
      expect(online(cluster)).toEqual([]);
      const beats = cluster.store.calls["workers.heartbeat"];
      await cluster.clock.advance("2 minutes");
      expect(cluster.store.calls["workers.heartbeat"]).toBe(beats);
    },
  );

  test("and is restarted meanwhile, ends up with one id, which works", async () => {
    const cluster = new Cluster();
    const register = new Valve("workers.register", "answers");
    const process = cluster.process("p", register.hook);
    const worker = await process.worker({ workflows: [quick] });
    await outliveLease(cluster, process);
    register.shut();
    await cluster.when(() => register.waiting === 1);
    await cluster.until(worker.stop());
    const restarted = worker.start();
    await cluster.when(() => register.waiting === 2);
    register.open();
    await cluster.until(restarted);
    await cluster.clock.advance("1s");
    expect(online(cluster)).toEqual([worker.workerId]);
    expect(await cluster.until(process.client.run(quick))).toBe("quick");
  });

  test("tries once more when the store refuses it, and does not bring the process down", async () => {
    const cluster = new Cluster();
    const process = cluster.process("p");
    const worker = await process.worker({ workflows: [quick] });
    await outliveLease(cluster, process);
    let refusals = 2;
    cluster.store.fault = (_moment, method) =>
      method === "workers.register" && refusals-- > 0 ? new HoldfastError("store_refused", "read-only") : undefined;
    await cluster.clock.advance("1 minute");
    expect(online(cluster)).toEqual([worker.workerId]);
    expect(await cluster.until(process.client.run(quick))).toBe("quick");
  });
});
