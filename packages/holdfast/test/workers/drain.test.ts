import { describe, expect, test } from "vitest";
import { signal, workflow } from "../../src/define/definitions.ts";
import { Cluster, faultsInStore, Gate, LEASE_MS, NEVER, type StoreHook, unavailable, Valve } from "../lab/harness.ts";

const word = signal<string>("word");

function online(cluster: Cluster): number {
  return [...cluster.store.state.workers.values()].filter(({ status }) => status !== "offline").length;
}

/** Two steps; the first takes as long as the gate is shut. */
function makeTwo(gate: Gate) {
  return workflow("two", async (ctx) => {
    await ctx.step("one", () => gate.opened);
    await ctx.step("two", () => 2);
    return "done";
  });
}

describe("a worker that drains", () => {
  test("lets running steps finish, starts no new one, and another worker goes on at once", async () => {
    const cluster = new Cluster();
    const gate = new Gate();
    const two = makeTwo(gate);
    const first = cluster.process("first");
    const second = cluster.process("second");
    const worker = await first.worker({ workflows: [two] });
    await cluster.until(first.client.start(two, undefined, { id: "r" }));
    await cluster.when(() => cluster.count("r", "one") === 1);
    await second.worker({ workflows: [two] });
    const drained = worker.drain();
    await cluster.clock.advance("3s");
    expect(cluster.runOf("r").heldBy).toBe(worker.workerId);
    const beganMs = cluster.clock.monotonic();
    gate.open();
    await cluster.until(drained);
    expect(await cluster.until(second.client.get("r").result())).toBe("done");
    expect(cluster.clock.monotonic()).toBe(beganMs);
    expect(cluster.executions.map(({ process, op }) => `${process} ${op}`)).toEqual(["first one", "second two"]);
    expect(cluster.runOf("r").deaths).toBe(0);
    expect(faultsInStore(cluster.store)).toEqual([]);
  });

  test("says so in the store at once, and not with its next heartbeat", async () => {
    const cluster = new Cluster();
    const gate = new Gate();
    const two = makeTwo(gate);
    const first = cluster.process("first");
    const worker = await first.worker({ workflows: [two] });
    await cluster.until(first.client.start(two, undefined, { id: "r" }));
    await cluster.when(() => cluster.count("r", "one") === 1);
    const statuses = (): string[] => [...cluster.store.state.workers.values()].map(({ status }) => status);
    const beganMs = cluster.clock.monotonic();
    const drained = worker.drain();
    await cluster.when(() => statuses()[0] === "draining");
    expect(cluster.clock.monotonic() - beganMs).toBeLessThan(100);
    gate.open();
    await cluster.until(drained);
    expect(statuses()).toEqual(["offline"]);
  });

  test("takes no new runs, neither by claiming nor from its own client", async () => {
    const cluster = new Cluster();
    const gate = new Gate();
    const two = makeTwo(gate);
    const first = cluster.process("first");
    const worker = await first.worker({ workflows: [two] });
    await cluster.until(first.client.start(two, undefined, { id: "r" }));
    await cluster.when(() => cluster.count("r", "one") === 1);
    const drained = worker.drain();
    await cluster.until(first.client.start(two, undefined, { id: "later" }));
    await cluster.clock.advance("20s");
    expect(cluster.runOf("later")).toMatchObject({ status: "pending", heldBy: null });
    gate.open();
    await cluster.until(drained);
    expect(cluster.count("later", "one")).toBe(0);
  });

  test("gives back runs that are in backoff, asleep, waiting, or about to be claimed", async () => {
    const cluster = new Cluster();
    const mixed = workflow("mixed", async (ctx, kind: string) => {
      const fail = ({ attempt }: { attempt: number }) => {
        if (attempt === 1) throw new Error("once");
        return "tried twice";
      };
      if (kind === "backoff") return ctx.step("flaky", fail, { retry: { attempts: 2, fixed: "20s" } });
      if (kind === "asleep") return ctx.sleep("z", "20s").then(() => "slept");
      if (kind === "waiting") return ctx.receive(word);
      return ctx.step("s", () => "claimed");
    });
    const first = cluster.process("first");
    const second = cluster.process("second");
    const worker = await first.worker({ workflows: [mixed] });
    for (const kind of ["backoff", "asleep", "waiting"])
      await cluster.until(first.client.start(mixed, kind, { id: kind }));
    await cluster.clock.advance("1s");
    await cluster.until(second.client.start(mixed, "claimed", { id: "claimed" }));
    const drained = worker.drain();
    await second.worker({ workflows: [mixed] });
    await cluster.until(drained);
    expect(worker.activeRuns).toBe(0);
    await cluster.until(second.client.get("waiting").signal(word, "heard"));
    const ids = ["backoff", "asleep", "waiting", "claimed"];
    const results = await cluster.until(Promise.all(ids.map((id) => second.client.get(id).result())));
    expect(results).toEqual(["tried twice", "slept", "heard", "claimed"]);
    expect(cluster.clock.monotonic()).toBeLessThan(21_000);
    expect(cluster.repeated()).toEqual([]);
  });

  test("gives up waiting after its drain timeout, aborts what still runs, and counts no death", async () => {
    const cluster = new Cluster();
    const reasons: unknown[] = [];
    const stubborn = workflow("stubborn", async (ctx) => {
      await ctx.step("s", ({ signal }) => {
        signal.addEventListener("abort", () => reasons.push((signal.reason as { code?: string }).code));
        return NEVER;
      });
    });
    const process = cluster.process("p");
    const worker = await process.worker({ workflows: [stubborn], drainTimeout: "7s" });
    await cluster.until(process.client.start(stubborn, undefined, { id: "r" }));
    await cluster.when(() => cluster.count("r", "s") === 1);
    const beganMs = cluster.clock.monotonic();
    await cluster.until(worker.drain());
    expect(cluster.clock.monotonic() - beganMs).toBe(7_000);
    expect(reasons).toEqual(["lease_lost"]);
    expect(cluster.runOf("r")).toMatchObject({ heldBy: null, deaths: 0, status: "running" });
    expect(cluster.runOf("r").availableAt).not.toBeNull();
    expect(online(cluster)).toBe(0);
  });

  test("between the record of a start and the start itself does not make that step look cut off", async () => {
    const cluster = new Cluster();
    const once = workflow("once", async (ctx) => {
      await ctx.step("pay", () => "paid", { onCrash: "fail" });
      return ctx.step("thank", () => "thanks");
    });
    const commits = new Valve("runs.commit", "answers");
    const first = cluster.process("first", commits.hook);
    const second = cluster.process("second");
    const worker = await first.worker({ workflows: [once] });
    commits.shut();
    await cluster.until(first.client.start(once, undefined, { id: "r" }));
    await cluster.when(() => commits.waiting === 1);
    expect(cluster.eventsOf("r").map(({ type }) => type)).toEqual(["step_started"]);
    const drained = worker.drain();
    await second.worker({ workflows: [once] });
    commits.open();
    await cluster.until(drained);
    expect(await cluster.until(second.client.get("r").result())).toBe("thanks");
    expect(cluster.executions.map(({ process, op }) => `${process} ${op}`)).toEqual(["first pay", "second thank"]);
  });

  test("twice, or is stopped while it drains, ends once, and the stop is at once", async () => {
    const cluster = new Cluster();
    const stubborn = workflow("stubborn", async (ctx) => ctx.step("s", () => NEVER));
    const process = cluster.process("p");
    const worker = await process.worker({ workflows: [stubborn] });
    await cluster.until(process.client.start(stubborn, undefined, { id: "r" }));
    await cluster.when(() => cluster.count("r", "s") === 1);
    const beganMs = cluster.clock.monotonic();
    const both = Promise.all([worker.drain(), worker.drain()]);
    await cluster.clock.advance("2s");
    await cluster.until(Promise.all([both, worker.stop()]));
    expect(cluster.clock.monotonic() - beganMs).toBe(2_000);
    expect(cluster.store.calls["workers.stop"]).toBe(1);
    expect(cluster.runOf("r").heldBy).toBeNull();
  });
});

describe("a worker that is stopped", () => {
  test("gives its runs back at once, and writes what was on its way", async () => {
    const cluster = new Cluster();
    const mixed = workflow("mixed", async (ctx) => {
      const done = await ctx.step("done", () => "done");
      return [done, await ctx.step("next", () => "next")];
    });
    const commits = new Valve("runs.commit", "calls");
    const first = cluster.process("first", commits.hook);
    const second = cluster.process("second");
    const worker = await first.worker({ workflows: [mixed] });
    commits.shut();
    await cluster.until(first.client.start(mixed, undefined, { id: "r" }));
    await cluster.when(() => commits.waiting === 1);
    const stopped = worker.stop();
    await cluster.clock.advance("1s");
    commits.open();
    await cluster.until(stopped);
    expect(cluster.eventsOf("r").map(({ type }) => type)).toEqual(["step_completed"]);
    expect(cluster.runOf("r")).toMatchObject({ heldBy: null, deaths: 0 });
    await second.worker({ workflows: [mixed] });
    expect(await cluster.until(second.client.get("r").result())).toEqual(["done", "next"]);
    expect(cluster.count("r", "done")).toBe(1);
  });

  test("comes to an end also when the store is away, and lets its lease run out", async () => {
    const cluster = new Cluster();
    const gate = new Gate();
    const two = makeTwo(gate);
    const process = cluster.process("p");
    const worker = await process.worker({ workflows: [two], drainTimeout: "5s" });
    await cluster.until(process.client.start(two, undefined, { id: "r" }));
    await cluster.when(() => cluster.count("r", "one") === 1);
    cluster.store.fault = () => unavailable();
    gate.open();
    await cluster.clock.advance("1s");
    const beganMs = cluster.clock.monotonic();
    await cluster.until(worker.stop());
    expect(cluster.clock.monotonic() - beganMs).toBeLessThan(15_000);
    // No part of it continues: no heartbeat, no flush.
    let calls = 0;
    cluster.store.fault = () => {
      calls += 1;
      return unavailable();
    };
    await cluster.clock.advance("5 minutes");
    expect(calls).toBe(0);
    cluster.store.fault = undefined;
    const other = cluster.process("other");
    await other.worker({ workflows: [two] });
    expect(await cluster.until(other.client.get("r").result())).toBe("done");
  });

  test("does not execute what a claim brings that was on its way, not even after it is started again", async () => {
    const cluster = new Cluster();
    const quick = workflow("quick", async (ctx) => ctx.step("only", () => "quick"));
    const claims = new Valve("runs.claim", "answers");
    const process = cluster.process("p", claims.hook);
    const other = cluster.process("other");
    const worker = await process.worker({ workflows: [quick] });
    await cluster.clock.settle();
    claims.shut();
    await cluster.until(other.client.start(quick, undefined, { id: "r" }));
    await cluster.when(() => claims.waiting === 1);
    expect(cluster.runOf("r").heldBy).toBe(worker.workerId);
    await cluster.until(worker.stop());
    expect(cluster.runOf("r").heldBy).toBeNull();
    await cluster.until(worker.start());
    claims.open();
    expect(await cluster.until(other.client.get("r").result())).toBe("quick");
    expect(cluster.count("r", "only")).toBe(1);
    expect(cluster.trespasses()).toEqual([]);
    expect(worker.activeRuns).toBe(0);
  });

  test("keeps nothing of what a claim brings while it waits for its last flush", async () => {
    const cluster = new Cluster();
    const quick = workflow("quick", async (ctx) => ctx.step("only", () => "quick"));
    const claims = new Valve("runs.claim", "answers");
    const commits = new Valve("runs.commit", "calls");
    const hook: StoreHook = (method, params, next) =>
      claims.hook(method, params, () => commits.hook(method, params, next));
    const process = cluster.process("p", hook);
    const other = cluster.process("other");
    const worker = await process.worker({ workflows: [quick], drainTimeout: "2s", tuning: { flushesInFlightMax: 1 } });
    commits.shut();
    await cluster.until(process.client.start(quick, undefined, { id: "mine" }));
    await cluster.when(() => commits.waiting === 1);
    claims.shut();
    await cluster.until(other.client.start(quick, undefined, { id: "late" }));
    await cluster.when(() => claims.waiting === 1);
    const stopped = worker.stop();
    // It has given up waiting once, has dropped what it held, and waits for what was on its way before that.
    await cluster.clock.advance("3s");
    claims.open();
    await cluster.until(stopped);
    expect(worker.activeRuns).toBe(0);
    commits.open();
    await cluster.until(worker.start());
    const ids = ["mine", "late"];
    expect(await cluster.until(Promise.all(ids.map((id) => other.client.get(id).result())))).toEqual([
      "quick",
      "quick",
    ]);
    expect(cluster.trespasses()).toEqual([]);
    expect(faultsInStore(cluster.store)).toEqual([]);
  });

  test("and started again, many times, is a new worker each time and works", async () => {
    const cluster = new Cluster();
    const quick = workflow("quick", async (ctx) => ctx.step("only", () => "quick"));
    const process = cluster.process("p");
    const worker = await process.worker({ workflows: [quick] });
    const ids = new Set<string>();
    for (let i = 0; i < 5; i++) {
      ids.add(worker.workerId);
      expect(await cluster.until(process.client.run(quick))).toBe("quick");
      await cluster.until(i % 2 === 0 ? worker.stop() : worker.drain());
      expect(online(cluster)).toBe(0);
      await cluster.until(worker.start());
    }
    expect(ids.size).toBe(5);
    expect(online(cluster)).toBe(1);
  });
});

describe("several workers in one process", () => {
  test("share the work, and one that leaves hands its own on to the others", async () => {
    const cluster = new Cluster();
    const slow = workflow("slow", async (ctx, n: number) => {
      for (let i = 0; i < 5; i++) await ctx.step(`s${i}`, () => cluster.wait(500));
      return n;
    });
    const process = cluster.process("p");
    const workers = [];
    for (let i = 0; i < 3; i++) workers.push(await process.worker({ workflows: [slow], concurrency: 4 }));
    const inputs = Array.from({ length: 30 }, (_, n) => n);
    const runs = await cluster.until(process.client.startMany(inputs.map((input) => ({ workflow: slow, input }))));
    await cluster.clock.advance("1s");
    expect(workers.map(({ activeRuns }) => activeRuns)).toEqual([4, 4, 4]);
    const [first, second] = workers;
    await cluster.until(Promise.all([first?.drain(), second?.stop()]));
    await cluster.until(second?.start() as Promise<void>);
    expect(await cluster.until(Promise.all(runs.map((run) => run.result())))).toEqual(inputs);
    expect(faultsInStore(cluster.store)).toEqual([]);
    expect(cluster.clock.monotonic()).toBeLessThan(LEASE_MS);
    await cluster.until(process.client.close());
    expect(online(cluster)).toBe(0);
  });

  test("a crash of the process returns the runs of all of them", async () => {
    const cluster = new Cluster();
    const hangs = workflow("hangs", async (ctx, n: number) => ctx.step("s", () => (first.life.dead ? n : NEVER)));
    const first = cluster.process("first");
    const second = cluster.process("second");
    for (let i = 0; i < 3; i++) await first.worker({ workflows: [hangs], concurrency: 2 });
    const inputs = [0, 1, 2, 3, 4, 5];
    const runs = await cluster.until(first.client.startMany(inputs.map((input) => ({ workflow: hangs, input }))));
    await cluster.when(() => cluster.executions.length === 6);
    first.kill();
    await second.worker({ workflows: [hangs] });
    expect(await cluster.until(Promise.all(runs.map(({ id }) => second.client.get(id).result())))).toEqual(inputs);
    expect(cluster.clock.monotonic()).toBeLessThanOrEqual(LEASE_MS + 1_000);
  });
});
