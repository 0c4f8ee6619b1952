import { describe, expect, test } from "vitest";
import { type AnyWorkflow, workflow } from "../../src/define/definitions.ts";
import { Cluster, HEARTBEAT_MS, LEASE_MS, NEVER, type Process } from "../lab/harness.ts";

/** A process whose worker is replaced by a new one, in a new process, whenever it dies. */
class Supervisor {
  readonly #cluster: Cluster;
  readonly #workflows: readonly AnyWorkflow[];
  current: Process | undefined;
  deaths = 0;
  /** What the store had given to the worker each time it died. */
  readonly victims: string[][] = [];

  constructor(cluster: Cluster, workflows: (supervisor: Supervisor) => readonly AnyWorkflow[]) {
    this.#cluster = cluster;
    this.#workflows = workflows(this);
  }

  async start(): Promise<void> {
    this.current = this.#cluster.process(`life ${this.deaths + 1}`);
    const worker = this.current.client.worker({ workflows: this.#workflows, lease: "30s" });
    await worker.start();
  }

  /** For a step: the process is gone before anything else happens. */
  readonly die = (): Promise<never> => {
    this.deaths += 1;
    const held = [...this.#cluster.store.state.runs.values()].filter(({ heldBy }) => heldBy !== null);
    this.victims.push(held.map(({ id }) => id).sort());
    this.current?.kill();
    // Restarted soon by a process supervisor, long before the dead worker's lease expires.
    this.#cluster.clock.setTimer(2_000, () => void this.start());
    return NEVER;
  };
}

const innocent = workflow("innocent", async (ctx) => {
  for (let i = 0; i < 3; i++) await ctx.step(`s${i}`, () => i);
  await ctx.sleep("nap", "5s");
  return ctx.step("end", () => "fine");
});

/** Runs that hold on to the worker they are on, and so die with it. */
function makeNeighbour(cluster: Cluster) {
  return workflow("neighbour", async (ctx) => {
    await ctx.step("long", () => cluster.wait(LEASE_MS / 2));
    return "done";
  });
}

function makePoison(supervisor: Supervisor, cluster: Cluster, afterMs: number) {
  return workflow("poison", async (ctx) => {
    await ctx.step("harmless", () => 1);
    return ctx.step("kill", () => (healed ? "healed" : cluster.wait(afterMs).then(supervisor.die)));
  });
}

let healed = false;

describe.each([0, 2_500])("a run whose step kills its worker after %i ms each time", (afterMs) => {
  test("is claimed alone after two deaths, and parked after three deaths alone", async () => {
    healed = false;
    const cluster = new Cluster();
    const supervisor = new Supervisor(cluster, (self) => [
      innocent,
      makeNeighbour(cluster),
      makePoison(self, cluster, afterMs),
    ]);
    await cluster.until(supervisor.start());
    const client = cluster.process("client").client;
    await cluster.until(client.start("poison", undefined, { id: "poison" }));
    const neighbours = await cluster.until(
      client.startMany([1, 2, 3].map((n) => ({ workflow: "neighbour", options: { id: `n${n}` } }))),
    );
    const innocents = await cluster.until(
      client.startMany(Array.from({ length: 5 }, () => ({ workflow: "innocent" }))),
    );
    await cluster.when(() => cluster.runOf("poison").status === "parked", "30 minutes");
    expect(cluster.runOf("poison")).toMatchObject({ error: { code: "crash_loop" }, heldBy: null, availableAt: null });
    // Two deaths among others, three alone. Those that ran beside it when it was not known yet died with it, not later.
    const alone = supervisor.victims.filter((ids) => ids.length === 1 && ids[0] === "poison");
    expect([supervisor.deaths, alone.length]).toEqual([5, 3]);
    const results = await cluster.until(Promise.all([...neighbours, ...innocents].map((run) => run.result())));
    expect(results).toEqual(["done", "done", "done", ...Array.from({ length: 5 }, () => "fine")]);
    expect(cluster.count("poison", "harmless")).toBe(1);
  });

  test("goes on when it is resumed with what killed it mended, and its deaths are forgotten", async () => {
    healed = false;
    const cluster = new Cluster();
    const supervisor = new Supervisor(cluster, (self) => [makePoison(self, cluster, afterMs)]);
    await cluster.until(supervisor.start());
    const client = cluster.process("client").client;
    const run = await cluster.until(client.start("poison", undefined, { id: "poison" }));
    await cluster.when(() => cluster.runOf("poison").status === "parked", "30 minutes");
    await cluster.until(run.resume());
    await cluster.when(() => supervisor.deaths === 6);
    await cluster.clock.advance("40s");
    // Resumed without a cure it starts over: one death does not make a suspect.
    expect(cluster.runOf("poison")).toMatchObject({ suspect: false, aloneDeaths: 0 });
    healed = true;
    await cluster.when(() => cluster.runOf("poison").status === "completed", "30 minutes");
    expect(await cluster.until(run.result())).toBe("healed");
  });
});

describe("a suspect", () => {
  test("that makes progress is no suspect any more, and others may run beside it again", async () => {
    const cluster = new Cluster();
    let deaths = 0;
    const shaky = workflow("shaky", async (ctx) => {
      await ctx.step("kill", () => (supervisor.deaths < 2 ? supervisor.die() : "survived"));
      await ctx.step("long", () => cluster.wait(20_000));
      return "done";
    });
    const supervisor: Supervisor = new Supervisor(cluster, () => [shaky, innocent]);
    await cluster.until(supervisor.start());
    const client = cluster.process("client").client;
    const run = await cluster.until(client.start(shaky, undefined, { id: "shaky" }));
    await cluster.when(() => cluster.count("shaky", "long") === 1, "10 minutes");
    deaths = supervisor.deaths;
    expect(cluster.runOf("shaky")).toMatchObject({ deaths: 0, suspect: false, alone: false });
    const beganMs = cluster.clock.monotonic();
    await cluster.until(client.run(innocent));
    expect(cluster.clock.monotonic() - beganMs).toBeLessThan(10_000);
    expect(await cluster.until(run.result())).toBe("done");
    expect(deaths).toBe(2);
  });

  test("is taken at once by a worker that has nothing else to do", async () => {
    const cluster = new Cluster();
    const calm = workflow("calm", async (ctx) => ctx.step("s", () => "calm"));
    const process = cluster.process();
    const client = cluster.process("client").client;
    await cluster.until(client.start(calm, undefined, { id: "c" }));
    Object.assign(cluster.runOf("c"), { deaths: 2, suspect: true });
    const beganMs = cluster.clock.monotonic();
    await process.worker({ workflows: [calm] });
    expect(await cluster.until(client.get("c").result())).toBe("calm");
    expect(cluster.clock.monotonic() - beganMs).toBeLessThan(100);
  });

  test("does not keep a worker from its other work for long when that worker cannot become empty", async () => {
    const cluster = new Cluster();
    // Lost hints: the worker must find out by itself that it may take on other work again.
    cluster.hints.loses = () => true;
    const endless = workflow("endless", async (ctx) => ctx.step("s", () => NEVER));
    const calm = workflow("calm", async (ctx) => ctx.step("s", () => "calm"));
    const process = cluster.process();
    const client = cluster.process("client").client;
    await process.worker({ workflows: [endless, calm, innocent] });
    await cluster.until(process.client.start(endless));
    await cluster.until(client.start(calm, undefined, { id: "suspect" }));
    Object.assign(cluster.runOf("suspect"), { deaths: 2, suspect: true });
    await cluster.clock.advance("6s");
    const beganMs = cluster.clock.monotonic();
    expect(await cluster.until(client.run(calm))).toBe("calm");
    expect(cluster.clock.monotonic() - beganMs).toBeLessThanOrEqual(20_000);
    // And a worker that can become empty takes the suspect.
    const spare = cluster.process("spare");
    await spare.worker({ workflows: [calm] });
    expect(await cluster.until(client.get("suspect").result())).toBe("calm");
  });
});

describe("what is no death", () => {
  const long = workflow("long", async (ctx) => ctx.step("s", () => NEVER));

  test.each(["drain", "stop"] as const)("%s, however often: the run is never suspected", async (end) => {
    const cluster = new Cluster();
    const client = cluster.process("client").client;
    await cluster.until(client.start(long, undefined, { id: "r" }));
    for (let i = 0; i < 6; i++) {
      const process = cluster.process();
      const worker = await process.worker({ workflows: [long], drainTimeout: "1s" });
      await cluster.when(() => cluster.count("r", "s") === i + 1);
      await cluster.until(worker[end]());
      expect(cluster.runOf("r")).toMatchObject({ deaths: 0, suspect: false, heldBy: null });
    }
  });

  test("a sign-off that does not get through is one: the worker may as well have died", async () => {
    const cluster = new Cluster();
    const client = cluster.process("client").client;
    await cluster.until(client.start(long, undefined, { id: "r" }));
    const process = cluster.process();
    const worker = await process.worker({ workflows: [long] });
    await cluster.when(() => cluster.count("r", "s") === 1);
    process.life.cutOff();
    void worker.stop();
    await cluster.process("other").worker({ workflows: [] });
    await cluster.clock.advance({ milliseconds: LEASE_MS + HEARTBEAT_MS });
    expect(cluster.runOf("r")).toMatchObject({ deaths: 1, heldBy: null });
  });
});
