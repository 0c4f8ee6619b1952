import { describe, expect, test } from "vitest";
import { signal, workflow } from "../../src/define/definitions.ts";
import { HoldfastError } from "../../src/errors/holdfast-error.ts";
import type { ClaimRunsResult, CommitRunsParams, CommitRunsResult } from "../../src/ports/store.ts";
import { Cluster, faultsInStore, outcomeUnknown, type StoreHook } from "../lab/harness.ts";

const note = signal<string>("note");

function refused(): HoldfastError {
  return new HoldfastError("store_refused", "invalid byte sequence");
}

/** Refuses every flush with an event that carries the bad text. */
function refuseText(cluster: Cluster, text: string): void {
  cluster.store.fault = (moment, method, params) => {
    if (method !== "runs.commit" || moment === "after") return undefined;
    const events = (params as CommitRunsParams).commits.flatMap((commit) => commit.events);
    const bad = events.some(({ payload }) => payload && Buffer.from(payload).toString().includes(text));
    return bad ? refused() : undefined;
  };
}

describe("a run whose data the store refuses", () => {
  const say = workflow("say", async (ctx, text: string) => {
    await ctx.step("before", () => "fine");
    return ctx.step("say", () => text);
  });

  test.each([1, 2, 8, 33])("is parked alone, in a flush of %i runs", async (count) => {
    const cluster = new Cluster();
    const process = cluster.process();
    await process.worker({ workflows: [say] });
    refuseText(cluster, "poison");
    const requests = Array.from({ length: count }, (_, n) => ({
      workflow: say,
      input: n === count >> 1 ? "poison" : `text ${n}`,
      options: { id: `r${n}` },
    }));
    await cluster.until(process.client.startMany(requests));
    await cluster.clock.advance("1s");
    const statuses = requests.map(({ options }) => cluster.runOf(options.id).status);
    expect(statuses).toEqual(requests.map(({ input }) => (input === "poison" ? "parked" : "completed")));
    const parked = cluster.runOf(`r${count >> 1}`);
    expect(parked).toMatchObject({ heldBy: null, error: { code: "store_refused" }, eventCount: 2 });
    expect(cluster.repeated()).toEqual([]);
    expect(faultsInStore(cluster.store)).toEqual([]);
  });

  test("goes on when the store takes it after all and it is resumed", async () => {
    const cluster = new Cluster();
    const process = cluster.process();
    await process.worker({ workflows: [say] });
    refuseText(cluster, "poison");
    const run = await cluster.until(process.client.start(say, "poison", { id: "r" }));
    await cluster.when(() => cluster.runOf("r").status === "parked");
    cluster.store.fault = undefined;
    await cluster.until(run.resume());
    expect(await cluster.until(run.result())).toBe("poison");
    expect(cluster.count("r", "before")).toBe(1);
  });

  test("keeps the signals that it had taken in with what was refused: they are received after it is resumed", async () => {
    const cluster = new Cluster();
    const listen = workflow("listen", async (ctx) => {
      const first = await ctx.receive(note);
      await ctx.step("between", () => "poison");
      return [first, await ctx.receive(note), await ctx.receive(note)];
    });
    const process = cluster.process();
    await process.worker({ workflows: [listen] });
    const run = await cluster.until(process.client.start(listen, undefined, { id: "r" }));
    await cluster.until(run.signal(note, "one"));
    await cluster.clock.settle();
    // Whatever carries the second signal is refused.
    refuseText(cluster, "two");
    for (const text of ["two", "three"]) await cluster.until(run.signal(note, text));
    await cluster.clock.advance("1s");
    expect(cluster.runOf("r").status).toBe("parked");
    cluster.store.fault = undefined;
    await cluster.until(run.resume());
    expect(await cluster.until(run.result())).toEqual(["one", "two", "three"]);
    expect(faultsInStore(cluster.store)).toEqual([]);
  });

  test("is given back when it cannot even be parked, and does not stop its neighbours", async () => {
    const cluster = new Cluster();
    const process = cluster.process();
    const worker = await process.worker({ workflows: [say] });
    await cluster.until(process.client.start(say, "poison", { id: "bad" }));
    const { runId } = cluster.runOf("bad");
    cluster.store.fault = (moment, method, params) => {
      if (method !== "runs.commit" || moment === "after") return undefined;
      return (params as CommitRunsParams).commits.some((commit) => commit.runId === runId) ? refused() : undefined;
    };
    await cluster.clock.advance("1s");
    expect(worker.activeRuns).toBe(0);
    expect(await cluster.until(process.client.run(say, "good"))).toBe("good");
    cluster.store.fault = undefined;
    expect(await cluster.until(process.client.get("bad").result())).toBe("poison");
  });
});

test("a flush that is refused after an earlier try of it took effect does not hurt the runs in it", async () => {
  const cluster = new Cluster();
  const two = workflow("two", async (ctx) => [await ctx.step("a", () => 1), await ctx.step("b", () => 2)]);
  const process = cluster.process();
  await process.worker({ workflows: [two] });
  let calls = 0;
  cluster.store.fault = (moment, method) => {
    if (method !== "runs.commit") return undefined;
    if (moment === "before") calls += 1;
    if (calls === 1 && moment === "after") return outcomeUnknown();
    return (calls === 2 || calls === 3) && moment === "before" ? refused() : undefined;
  };
  const run = await cluster.until(process.client.start(two, undefined, { id: "r" }));
  await cluster.clock.advance("1s");
  // Nothing better can be known: the run is parked, with what did take effect.
  expect(cluster.runOf("r")).toMatchObject({ status: "parked", eventCount: 2 });
  await cluster.until(run.resume());
  expect(await cluster.until(run.result())).toEqual([1, 2]);
  expect(cluster.repeated()).toEqual([]);
});

describe("a run whose row somebody has locked", () => {
  const steps = workflow("steps", async (ctx, n: number) => {
    for (let i = 0; i < 3; i++) await ctx.step(`s${i}`, () => n);
    return n;
  });

  /** Answers `busy` for the commits of one id while it is locked. */
  function locking(cluster: Cluster, id: string) {
    const lock = { on: true, refusals: 0 };
    const hook: StoreHook = async (method, params, next) => {
      if (method !== "runs.commit" || !lock.on) return next();
      const { commits } = params as CommitRunsParams;
      const locked = commits.map(({ runId }) => cluster.run(runId).id === id);
      if (!locked.includes(true)) return next();
      lock.refusals += 1;
      const free = commits.filter((_, i) => !locked[i]);
      const answer: CommitRunsResult = await cluster.store.runs.commit({ commits: free });
      const left = [...answer.outcomes];
      const outcomes = locked.map((busy) =>
        busy ? { outcome: "busy" as const, held: true, delivered: 0 } : left.shift(),
      );
      return { ...answer, outcomes };
    };
    return { lock, hook };
  }

  test("waits, and its neighbours do not", async () => {
    const cluster = new Cluster();
    const { lock, hook } = locking(cluster, "r2");
    const process = cluster.process("p", hook);
    await process.worker({ workflows: [steps] });
    const runs = await cluster.until(
      process.client.startMany([1, 2, 3].map((n) => ({ workflow: steps, input: n, options: { id: `r${n}` } }))),
    );
    const free = runs.filter(({ id }) => id !== "r2");
    expect(await cluster.until(Promise.all(free.map((run) => run.result())))).toEqual([1, 3]);
    await cluster.clock.advance("1s");
    expect(cluster.runOf("r2").status).toBe("running");
    lock.on = false;
    expect(await cluster.until(process.client.get("r2").result())).toBe(2);
    expect(cluster.repeated()).toEqual([]);
    expect(faultsInStore(cluster.store)).toEqual([]);
  });

  test("is asked for again at intervals that grow, not as fast as the store can answer", async () => {
    const cluster = new Cluster();
    const { lock, hook } = locking(cluster, "r");
    const process = cluster.process("p", hook);
    await process.worker({ workflows: [steps] });
    await cluster.until(process.client.start(steps, 1, { id: "r" }));
    await cluster.clock.advance("1s");
    expect(lock.refusals).toBeGreaterThan(3);
    expect(lock.refusals).toBeLessThan(10);
    await cluster.clock.advance("1 minute");
    expect(lock.refusals).toBeLessThan(75);
    lock.on = false;
    expect(await cluster.until(process.client.get("r").result())).toBe(1);
  });

  test("is claimed at intervals that grow as well, if it is due", async () => {
    const cluster = new Cluster();
    const lock = { on: true, claims: 0 };
    const process = cluster.process("p", async (method, _params, next) => {
      if (method !== "runs.claim" || !lock.on) return next();
      lock.claims += 1;
      const now = cluster.clock.now();
      const nothing = { live: true, runs: [], messages: [], suspectDue: false };
      return { ...nothing, now, moreDue: true, nextDueAt: null } satisfies ClaimRunsResult;
    });
    await cluster.until(cluster.process("starter").client.start(steps, 1, { id: "r" }));
    await process.worker({ workflows: [steps] });
    await cluster.clock.advance("1 minute");
    expect(lock.claims).toBeLessThan(75);
    lock.on = false;
    expect(await cluster.until(process.client.get("r").result())).toBe(1);
  });

  test("does not keep the worker from others that become due", async () => {
    const cluster = new Cluster();
    // The run "r" is due, and locked forever: a claim skips it.
    const process = cluster.process("p", async (method, _params, next) => {
      if (method !== "runs.claim") return next();
      const { runId } = cluster.runOf("r");
      cluster.store.state.queued.delete(runId);
      const answer = (await next()) as ClaimRunsResult;
      cluster.store.state.queued.add(runId);
      return { ...answer, moreDue: true };
    });
    const { client } = cluster.process("starter");
    await cluster.until(client.start(steps, 1, { id: "r" }));
    await process.worker({ workflows: [steps] });
    await cluster.clock.advance("1 minute");
    const later = [];
    for (const delay of [3_700, 4_100, 4_450])
      later.push(await cluster.until(client.start(steps, 1, { id: `later-${delay}`, delay: { milliseconds: delay } })));
    await cluster.until(Promise.all(later.map((run) => run.result())));
    const lateMs = later.map(({ id }) => (cluster.runOf(id).startedAt ?? 0) - cluster.runOf(id).createdAt);
    expect(lateMs).toEqual([3_700, 4_100, 4_450]);
  });

  test("is written under the id that held it, also when its worker has registered again since", async () => {
    const cluster = new Cluster();
    const { lock, hook } = locking(cluster, "r");
    const senders = new Set<string>();
    const process = cluster.process("p", async (method, params, next) => {
      const commits = method === "runs.commit" ? (params as CommitRunsParams).commits : [];
      // The first commit of the run, under the epoch of its first holder.
      for (const { epoch, workerId } of commits) if (epoch === 1) senders.add(workerId);
      return hook(method, params, next);
    });
    const worker = await process.worker({ workflows: [steps] });
    await cluster.until(process.client.start(steps, 1, { id: "r" }));
    await cluster.clock.advance("1s");
    const firstId = worker.workerId;
    await cluster.process("reaper").worker({ workflows: [] });
    process.life.freeze();
    await cluster.clock.advance("40s");
    process.thaw();
    await cluster.clock.advance("15s");
    expect(worker.workerId).not.toBe(firstId);
    expect([...senders]).toEqual([firstId]);
    lock.on = false;
    expect(await cluster.until(process.client.get("r").result())).toBe(1);
    expect(cluster.errors).toEqual([]);
    expect(faultsInStore(cluster.store)).toEqual([]);
  });
});
