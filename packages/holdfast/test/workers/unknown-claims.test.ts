import { describe, expect, test } from "vitest";
import { signal, workflow } from "../../src/define/definitions.ts";
import { Cluster, Gate, HEARTBEAT_MS, NEVER, outcomeUnknown, type Process, Valve } from "../lab/harness.ts";

const quick = workflow("quick", async (ctx) => ctx.step("only", () => "quick"));
const word = signal<string>("word");

/** Lets a start be claimed for this process, and the answer be lost for good. */
async function loseStart(cluster: Cluster, process: Process, id: string): Promise<void> {
  const before = cluster.store.fault;
  cluster.store.fault = (moment, method) =>
    method === "runs.start" && moment === "after" ? outcomeUnknown() : before?.(moment, method, undefined);
  await expect(cluster.until(process.client.start(quick, undefined, { id }))).rejects.toMatchObject({
    code: "store_outcome_unknown",
  });
  cluster.store.fault = before;
}

describe("a run that the store gave to a worker which knows nothing of it", () => {
  test("is given back after a heartbeat has shown the difference, and executed once", async () => {
    const cluster = new Cluster();
    const process = cluster.process("p");
    const worker = await process.worker({ workflows: [quick] });
    await loseStart(cluster, process, "lost");
    expect(cluster.runOf("lost").heldBy).toBe(worker.workerId);
    const givenUpMs = cluster.clock.monotonic();
    expect(await cluster.until(process.client.get("lost").result())).toBe("quick");
    expect(cluster.clock.monotonic() - givenUpMs).toBeLessThanOrEqual(2 * HEARTBEAT_MS);
    expect(cluster.runOf("lost").deaths).toBe(0);
    expect(cluster.repeated()).toEqual([]);
  });

  test("is given back also when reading and releasing fail at first", async () => {
    const cluster = new Cluster();
    const process = cluster.process("p");
    await process.worker({ workflows: [quick] });
    const failures = { "workers.readHeld": 1, "runs.releaseIfHeld": 2 };
    cluster.store.fault = (moment, method) => {
      if (moment === "before" || (method !== "workers.readHeld" && method !== "runs.releaseIfHeld")) return undefined;
      failures[method] -= 1;
      return failures[method] >= 0 ? outcomeUnknown() : undefined;
    };
    await loseStart(cluster, process, "lost");
    expect(await cluster.until(process.client.get("lost").result())).toBe("quick");
    expect(cluster.repeated()).toEqual([]);
  });

  test("is given back also by a worker that is never idle", async () => {
    const cluster = new Cluster();
    let over = false;
    const busy = workflow("busy", async (ctx) => {
      while (!over) await ctx.step("spin", () => cluster.wait(3));
    });
    // With a store this slow there is always a flush on its way, and nearly always a start and a claim.
    const process = cluster.process("p", async (_method, _params, next) => {
      await cluster.wait(7);
      const answer = await next();
      await cluster.wait(7);
      return answer;
    });
    const worker = await process.worker({ workflows: [quick, busy], concurrency: 20 });
    const spinning = await cluster.until(
      process.client.startMany(Array.from({ length: 5 }, () => ({ workflow: busy }))),
    );
    await loseStart(cluster, process, "lost");
    const starting = (async () => {
      while (!over) await process.client.run(quick);
    })();
    await cluster.clock.advance({ milliseconds: 4 * HEARTBEAT_MS });
    expect(cluster.runOf("lost").status).toBe("completed");
    over = true;
    await cluster.until(Promise.all([starting, ...spinning.map((run) => run.result())]));
    expect(worker.activeRuns).toBe(0);
    expect(cluster.repeated()).toEqual([]);
    expect(cluster.trespasses()).toEqual([]);
  });
});

test("a claim that is answered late is not an unknown claim: the run is executed once, by the one that claimed it", async () => {
  const cluster = new Cluster();
  const claims = new Valve("runs.claim", "answers");
  const process = cluster.process("p", claims.hook);
  const other = cluster.process("other");
  await process.worker({ workflows: [quick] });
  await cluster.clock.settle();
  claims.shut();
  await cluster.until(other.client.start(quick, undefined, { id: "r" }));
  await cluster.clock.advance({ milliseconds: 5 * HEARTBEAT_MS });
  expect(cluster.runOf("r")).toMatchObject({ epoch: 1, status: "running" });
  claims.open();
  expect(await cluster.until(other.client.get("r").result())).toBe("quick");
  expect(cluster.trespasses()).toEqual([]);
});

test("a run that ends while the store lists it is not an unknown claim: nothing is released", async () => {
  const cluster = new Cluster();
  const heartbeats = new Valve("workers.heartbeat", "answers");
  const lists = new Valve("workers.readHeld", "answers");
  const process = cluster.process("p", (method, params, next) =>
    heartbeats.hook(method, params, () => lists.hook(method, params, next)),
  );
  const [first, second] = [new Gate(), new Gate()];
  const gates: Record<string, Gate> = { first, second };
  const held = workflow("held", async (ctx) => ctx.step("wait", () => gates[ctx.info.id]?.opened));
  await process.worker({ workflows: [held] });
  const [one, other] = await cluster.until(
    process.client.startMany(["first", "second"].map((id) => ({ workflow: held, options: { id } }))),
  );
  heartbeats.shut();
  lists.shut();
  await cluster.when(() => heartbeats.waiting === 1);
  first.open();
  await cluster.until(one?.result() as Promise<unknown>);
  // The store has counted two runs, and the worker has one.
  heartbeats.open();
  await cluster.when(() => lists.waiting === 1);
  second.open();
  await cluster.until(other?.result() as Promise<unknown>);
  lists.open();
  await cluster.clock.settle();
  expect(cluster.store.calls["runs.releaseIfHeld"] ?? 0).toBe(0);
});

describe("a run that was taken from a worker without a hint reaching it", () => {
  test.each([false, true])(
    "is dropped after a heartbeat, and its step aborted (other runs are busy: %s)",
    async (loaded) => {
      const cluster = new Cluster();
      let over = false;
      let abortedAtMs = 0;
      const long = workflow("long", async (ctx) => {
        await ctx.step("wait", ({ signal }) => {
          signal.addEventListener("abort", () => {
            abortedAtMs = cluster.clock.monotonic();
          });
          return NEVER;
        });
      });
      const busy = workflow("busy", async (ctx) => {
        while (!over) await ctx.step("spin", () => cluster.wait(3));
      });
      const process = cluster.process("p", async (method, _params, next) => {
        if (method === "runs.commit") await cluster.wait(7);
        return next();
      });
      cluster.hints.loses = (hint) => hint.type === "taken";
      const worker = await process.worker({ workflows: [long, busy] });
      if (loaded) for (let i = 0; i < 3; i++) await cluster.until(process.client.start(busy));
      const run = await cluster.until(process.client.start(long));
      await cluster.when(() => cluster.count(run.id, "wait") === 1);
      await cluster.clock.advance("2s");
      await cluster.until(run.terminate());
      const terminatedMs = cluster.clock.monotonic();
      await cluster.clock.advance({ milliseconds: 3 * HEARTBEAT_MS });
      over = true;
      await cluster.clock.advance("1s");
      expect(abortedAtMs - terminatedMs).toBeGreaterThan(0);
      expect(abortedAtMs - terminatedMs).toBeLessThanOrEqual(2 * HEARTBEAT_MS);
      expect(worker.activeRuns).toBe(0);
    },
  );
});

test("a worker that claims a run again before it hears that it has let it go, loses nothing and goes on at once", async () => {
  const cluster = new Cluster();
  const listen = workflow("listen", async (ctx) => {
    await ctx.step("before", () => 1);
    return ctx.receive(word);
  });
  const suspended = new Gate();
  const process = cluster.process("p");
  await process.worker({ workflows: [listen] });
  let lost = false;
  cluster.store.fault = (moment, method) => {
    if (method !== "runs.commit" || moment === "before" || lost) return undefined;
    lost = true;
    suspended.open();
    return outcomeUnknown();
  };
  const run = await cluster.until(process.client.start(listen, undefined, { id: "r" }));
  await cluster.until(suspended.opened);
  expect(cluster.runOf("r").status).toBe("waiting");
  // The run is due again, and claimed, while the worker is about to repeat the commit that suspended it.
  await cluster.until(run.signal(word, "hello"));
  const sentMs = cluster.clock.monotonic();
  expect(await cluster.until(run.result())).toBe("hello");
  expect(cluster.clock.monotonic() - sentMs).toBeLessThanOrEqual(1_000);
  expect(cluster.repeated()).toEqual([]);
});
