import { hostname } from "node:os";
import { signal, type WorkerOptions, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { type Deferred, deferred } from "../lab/deferred.ts";
import { ahead, openFleet } from "../lab/fleet.ts";

const go = signal("go");

/** A workflow of one step that ends when the test says so. */
function gated() {
  const gates: Deferred<string>[] = [];
  const job = workflow("job", (ctx) =>
    ctx.step("work", () => {
      const gate = deferred<string>();
      gates.push(gate);
      return gate.promise;
    }),
  );
  return { job, gates };
}

describe("a worker", () => {
  test("works on no more runs at once than its concurrency; the others wait their turn", async () => {
    const { job, gates } = gated();
    const fleet = openFleet();
    const worker = await fleet.worker({ workflows: [job], concurrency: 3 });
    const client = fleet.client();
    const runs = await client.startMany(Array.from({ length: 8 }, () => ({ workflow: job })));
    for (let done = 0; done < 8; done++) {
      await fleet.clock.settle();
      expect(gates).toHaveLength(Math.min(8, done + 3));
      expect(worker.activeRuns).toBe(Math.min(3, 8 - done));
      gates[done]?.resolve(`done ${done}`);
    }
    expect(new Set(await Promise.all(runs.map((run) => fleet.result(run)))).size).toBe(8);
  });

  test("has a free slot while its run sleeps, waits or is in backoff", async () => {
    const { job, gates } = gated();
    const asleep = workflow("asleep", (ctx) => ctx.sleep("nap", "1 day"));
    const waiting = workflow("waiting", (ctx) => ctx.receive(go));
    const retrying = workflow("retrying", (ctx) =>
      ctx.step("no", () => Promise.reject(new Error("no")), { retry: { attempts: 2, fixed: "1 day" } }),
    );
    const fleet = openFleet();
    const worker = await fleet.worker({ workflows: [job, asleep, waiting, retrying], concurrency: 1 });
    const client = fleet.client();
    for (const definition of [asleep, waiting, retrying, asleep, waiting, retrying]) await client.start(definition);
    await fleet.clock.settle();
    expect(worker.activeRuns).toBe(0);
    const run = await client.start(job);
    await fleet.clock.settle();
    expect(worker.activeRuns).toBe(1);
    gates[0]?.resolve("worked");
    expect(await fleet.result(run)).toBe("worked");
  });

  test("among several shares the work, and no run is worked on twice", async () => {
    const counts = new Map<string, number>();
    const job = workflow("job", async (ctx, n: number) => {
      const first = await ctx.step(
        "a",
        (s) => void counts.set(s.idempotencyKey, (counts.get(s.idempotencyKey) ?? 0) + 1),
      );
      await ctx.sleep("nap", { seconds: n % 7 });
      await ctx.step("b", (s) => void counts.set(s.idempotencyKey, (counts.get(s.idempotencyKey) ?? 0) + 1));
      return [n, first];
    });
    const fleet = openFleet();
    const workers = await Promise.all(
      Array.from({ length: 4 }, (_, i) => fleet.forgetful({ workflows: [job], concurrency: 5, name: `w${i}` })),
    );
    const client = fleet.client();
    const runs = await client.startMany(Array.from({ length: 300 }, (_, n) => ({ workflow: job, input: n })));
    const results = await Promise.all(runs.map((run) => fleet.result(run)));
    expect(results.map(([n]) => n)).toEqual(runs.map((_, n) => n));
    expect(counts.size).toBe(600);
    expect([...counts.values()].every((count) => count === 1)).toBe(true);
    expect(workers.every((worker) => worker.activeRuns === 0)).toBe(true);
  });

  test("that dies loses nothing: another takes its runs over when its lease has run out", async () => {
    const calls: string[] = [];
    const job = workflow("job", async (ctx) => {
      await ctx.step("first", () => calls.push("first"));
      return ctx.step("second", () => {
        calls.push("second");
        return calls.length > 2 ? "by the other" : new Promise<string>(() => {});
      });
    });
    const fleet = openFleet();
    const first = await fleet.worker({ workflows: [job], lease: "10s" });
    const run = await fleet.client().start(job);
    await fleet.clock.settle();
    const dead = first.workerId;
    // A process that is gone: nothing of it reaches the store any more.
    fleet.store.fault = (moment, _method, params) =>
      moment === "before" && (params as { workerId?: string }).workerId === dead ? gone() : undefined;
    await fleet.worker({ workflows: [job], lease: "10s" });
    expect(await fleet.clock.until(run.result(), "1 day")).toBe("by the other");
    expect(calls).toEqual(["first", "second", "second"]);
    const rows = await fleet.client().workers.list();
    expect(rows.find((row) => row.workerId === dead)).toMatchObject({ status: "offline", died: true });
    fleet.store.fault = undefined;
  });
});

describe("drain", () => {
  test("takes nothing new, lets running steps end, gives the rest back, and signs off", async () => {
    const { job, gates } = gated();
    const two = workflow("two", async (ctx) => {
      await ctx.step("one", () => gate.promise);
      return ctx.step("two", () => "by the next worker");
    });
    const gate = deferred();
    const fleet = openFleet();
    const worker = await fleet.worker({ workflows: [job, two] });
    const client = fleet.client();
    const ends = await client.start(job);
    const goesOn = await client.start(two);
    await fleet.clock.settle();
    const drained = worker.drain();
    const late = await client.start(job);
    await fleet.clock.settle();
    expect((await client.workers.list())[0]?.status).toBe("draining");
    expect((await client.workers.events()).events[0]).toMatchObject({ type: "stopping" });
    expect(await late.status()).toBe("pending");
    gates[0]?.resolve("in time");
    gate.resolve();
    await fleet.clock.until(drained);
    expect(await ends.status()).toBe("completed");
    expect(await goesOn.describe()).toMatchObject({ workerId: null, status: "running" });
    expect((await client.workers.list())[0]).toMatchObject({ status: "offline", died: false });
    await fleet.worker({ workflows: [two] });
    expect(await fleet.result(goesOn)).toBe("by the next worker");
  });

  test("gives up on steps that do not end within drainTimeout, and aborts them", async () => {
    const aborted: string[] = [];
    const job = workflow("job", (ctx) =>
      ctx.step("work", (s) => {
        if (aborted.length > 0) return "again";
        s.signal.addEventListener("abort", () => aborted.push(s.signal.reason.code));
        return new Promise<string>(() => {});
      }),
    );
    const fleet = openFleet();
    const worker = await fleet.worker({ workflows: [job], drainTimeout: "1m" });
    const run = await fleet.client().start(job);
    await fleet.clock.settle();
    const began = fleet.clock.now();
    await fleet.clock.until(worker.drain());
    expect(fleet.clock.now() - began).toBe(60_000);
    expect(aborted).toEqual(["lease_lost"]);
    await fleet.worker({ workflows: [job] });
    expect(await fleet.result(run)).toBe("again");
  });

  test("asked for twice ends once for both, and a stop cuts it short", async () => {
    const { job } = gated();
    const fleet = openFleet();
    const worker = await fleet.worker({ workflows: [job] });
    await fleet.client().start(job);
    await fleet.clock.settle();
    const ended: string[] = [];
    const all = [worker.drain(), worker.drain()].map((drain, i) => drain.then(() => ended.push(`drain ${i}`)));
    await fleet.clock.settle();
    expect(ended).toEqual([]);
    await Promise.all([worker.stop(), ...all]);
    expect(ended).toEqual(["drain 0", "drain 1"]);
    expect((await fleet.client().workers.list()).map(({ status }) => status)).toEqual(["offline"]);
  });
});

describe("a termination signal", () => {
  test("drains a worker that was asked to listen, and only that", async () => {
    const { job, gates } = gated();
    const fleet = openFleet();
    const listening = await fleet.worker({ workflows: [job], handleSignals: true, name: "listening" });
    const run = await fleet.client().start(job);
    await fleet.clock.settle();
    await fleet.worker({ workflows: [job], name: "deaf" });
    const others = process.listeners("SIGTERM").slice(0, -1);
    for (const other of others) process.off("SIGTERM", other);
    process.emit("SIGTERM", "SIGTERM");
    process.emit("SIGTERM", "SIGTERM"); // an echo of the first
    for (const other of others) process.on("SIGTERM", other);
    gates[0]?.resolve("ended in peace");
    expect(await fleet.result(run)).toBe("ended in peace");
    await fleet.clock.until(listening.drain());
    await fleet.clock.advance("1s");
    expect(process.listenerCount("SIGTERM")).toBe(others.length);
    const states = (await fleet.client().workers.list()).map(({ name, status }) => [name, status]);
    expect(states).toEqual([
      ["listening", "offline"],
      ["deaf", "online"],
    ]);
  });
});

describe("start and stop of a worker", () => {
  test("may overlap: a stop during the start leaves it stopped, and it can be started again", async () => {
    const { job, gates } = gated();
    const fleet = openFleet();
    const client = fleet.client();
    const worker = client.worker({ workflows: [job] });
    const starting = worker.start();
    await Promise.all([worker.stop(), starting]);
    expect((await client.workers.list()).map(({ status }) => status)).toEqual(["offline"]);
    await worker.stop();
    await worker.start();
    await worker.start();
    const run = await client.start(job);
    await fleet.clock.settle();
    gates[0]?.resolve("works");
    expect(await fleet.result(run)).toBe("works");
    expect((await client.workers.list()).map(({ status }) => status)).toEqual(["offline", "online"]);
  });

  test("closing the client stops its workers and gives their runs back at once", async () => {
    const { job, gates } = gated();
    const fleet = openFleet();
    const client = fleet.client();
    await client.worker({ workflows: [job] }).start();
    const run = await client.start(job, undefined, { id: "j" });
    await fleet.clock.settle();
    await client.close();
    const other = fleet.client().get("j");
    expect(await other.describe()).toMatchObject({ status: "running", workerId: null });
    await fleet.worker({ workflows: [job] });
    await fleet.clock.settle();
    gates[1]?.resolve("by another");
    expect(await fleet.result(other)).toBe("by another");
    expect(run.id).toBe("j");
  });
});

describe("workers.list", () => {
  test("shows every worker with what it offers, its state and its last heartbeat", async () => {
    const { job } = gated();
    const v2 = workflow({ name: "job", version: "2", queue: "fast" }, async () => {});
    const fleet = openFleet();
    const began = fleet.clock.now();
    const worker = await fleet.worker({ workflows: [job, v2], name: "w", labels: { zone: "a" }, lease: "30s" });
    await fleet.client().start(job);
    await fleet.clock.advance("25s");
    const rows = await fleet.client().workers.list();
    const beat = rows[0]?.heartbeatAt ?? 0;
    expect(beat).toBeGreaterThan(began + 10_000);
    expect(rows).toEqual([
      {
        workerId: worker.workerId,
        namespace: "default",
        name: "w",
        queues: ["default", "fast"],
        workflows: ["job@1", "job@2"],
        labels: { host: hostname(), pid: String(process.pid), zone: "a" },
        about: { options: expect.objectContaining({ concurrency: 100, leaseMs: 30_000, coordinate: true }) },
        load: null,
        drainAsked: false,
        status: "online",
        leaseMs: 30_000,
        activeRuns: 1,
        activeTasks: 0,
        tasks: [],
        startedAt: began,
        heartbeatAt: beat,
        leaseExpiresAt: beat + 30_000,
        stoppedAt: null,
        died: false,
      },
    ]);
  });
});

describe("health", () => {
  test("is healthy while heartbeats come, degraded while a worker drains, and says why", async () => {
    const { job, gates } = gated();
    const fleet = openFleet();
    const client = fleet.client();
    expect(await client.health()).toMatchObject({ status: "degraded", reasons: ["No worker has registered."] });
    const worker = await fleet.worker({ workflows: [job], name: "w", lease: "30s" });
    await client.start(job);
    await fleet.clock.advance("1h");
    expect(await client.health()).toMatchObject({
      status: "healthy",
      reasons: [],
      store: { status: "healthy" },
      workers: [{ name: "w", status: "online", health: "healthy", activeRuns: 1 }],
    });
    const drained = worker.drain();
    await fleet.clock.advance("15s");
    expect(await client.health()).toMatchObject({
      status: "degraded",
      reasons: [expect.stringMatching(/^Worker w is draining; its last heartbeat is \d+ s old\.$/)],
    });
    gates[0]?.resolve("done");
    await fleet.clock.until(drained);
    await fleet.clock.advance("20s");
    expect(await client.health()).toMatchObject({
      status: "degraded",
      reasons: ["No worker is online; the last one left 20 s ago."],
      workers: [],
    });
  });

  test.each([1, -1])(
    "is judged by the clock of the store, also on a machine that is %i h ahead, as is why()",
    async (hours) => {
      const { job } = gated();
      const fleet = openFleet();
      const client = fleet.client({ clock: ahead(fleet.clock, hours) });
      await fleet.worker({ workflows: [job], name: "w", lease: "30s" });
      const run = await fleet.client().start(job);
      await fleet.clock.advance("1h");
      expect(await client.health()).toMatchObject({ status: "healthy", workers: [{ name: "w", health: "healthy" }] });
      expect((await client.why(run.id)).reason).toMatch(/^Worker w is working on it; its last heartbeat was \d/);
      fleet.store.fault = (moment, method) =>
        moment === "before" && method === "workers.heartbeat" ? gone() : undefined;
      await fleet.clock.advance("40s");
      const silent = await client.health();
      expect(silent).toMatchObject({ status: "unhealthy", workers: [{ name: "w", health: "unhealthy" }] });
      expect(silent.workers[0]?.heartbeatAgeMs).toBeLessThan(60_000);
      fleet.store.fault = undefined;
    },
  );

  test("is unhealthy when every worker is silent for longer than its lease, or the store does not answer", async () => {
    const { job } = gated();
    const fleet = openFleet();
    const client = fleet.client();
    await fleet.worker({ workflows: [job], name: "w", lease: "30s" });
    fleet.store.fault = (moment, method) =>
      moment === "before" && method === "workers.heartbeat" ? gone() : undefined;
    await fleet.clock.advance("20s");
    expect((await client.health()).status).toBe("degraded");
    await fleet.clock.advance("20s");
    expect((await client.health()).status).toBe("unhealthy");
    fleet.store.fault = () => gone();
    expect(await client.health()).toMatchObject({
      status: "unhealthy",
      reasons: ["The store does not answer: gone"],
      store: { status: "unhealthy", error: "gone" },
    });
    fleet.store.fault = undefined;
  });
});

describe("probes", () => {
  test("live says whether the store answers, ready also whether the workers of the client take work", async () => {
    const { job } = gated();
    const fleet = openFleet();
    const client = fleet.client();
    expect([await client.live(), await client.ready()]).toEqual([true, { ready: true, reasons: [] }]);
    const worker = client.worker({ workflows: [job], name: "w" });
    expect(await client.ready()).toEqual({ ready: false, reasons: ["Worker w takes no work."] });
    await worker.start();
    expect(await client.ready()).toEqual({ ready: true, reasons: [] });
    fleet.store.fault = () => gone();
    expect([await client.live(), await client.ready()]).toEqual([
      false,
      { ready: false, reasons: ["The store does not answer."] },
    ]);
    fleet.store.fault = undefined;
    await worker.drain();
    expect(await client.ready()).toEqual({ ready: false, reasons: ["Worker w takes no work."] });
    await client.close();
    await expect(client.live()).rejects.toMatchObject({ code: "client_closed" });
  });

  test("a store that does not answer at all is not waited for", async () => {
    const fleet = openFleet();
    const client = fleet.client();
    fleet.store.fault = () => new Promise<never>(() => {}) as never;
    const live = client.live();
    await fleet.clock.advance("6s");
    expect(await live).toBe(false);
    fleet.store.fault = undefined;
  });
});

describe("worker options", () => {
  const refused: [string, WorkerOptions, string][] = [
    ["concurrency of none", { concurrency: 0 }, "worker: concurrency is 0; it must be a whole number from 1 up."],
    ["half a slot", { concurrency: 1.5 }, "worker: concurrency is 1.5; it must be a whole number from 1 up."],
    ["a negative cache", { cacheSize: -1 }, "worker: cacheSize is -1; it must be a whole number from 0 up."],
    ["a lease that is too short", { lease: "100ms" }, "worker: lease is 100ms; the minimum is 1s."],
    ["a lease that is no duration", { lease: "soon" }, 'worker: lease is "soon", which is not a duration. Write "30s"'],
    [
      "a bare number as duration",
      { drainTimeout: 5 as never },
      'worker: drainTimeout is "5", which is not a duration.',
    ],
    ["an empty queue name", { queues: [""] }, 'The queue name "" is empty.'],
  ];
  test.each(refused)("%s is refused, and the message says what it may be", (_title, options, message) => {
    expect(() => openFleet().client().worker(options)).toThrowError(message);
  });
});

function gone(): Error {
  return Object.assign(new Error("gone"), { code: "store_unavailable", [Symbol.for("holdfast.error")]: true });
}
