import { type Alert, signal, task, workflow } from "holdfast";
import { hookedStore } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { answeringStore } from "../../src/calls/answering-store.ts";
import { HoldfastError } from "../../src/errors/holdfast-error.ts";
import { systemEnvironment } from "../../src/system/environment.ts";
import { openFleet } from "../lab/fleet.ts";
import { Gate } from "../lab/harness.ts";
import { throughNetwork } from "../lab/network.ts";
import { stuck, stuckTask, type Watched, watched } from "./watched.ts";

describe("stalled_run", () => {
  test("is found when its worker records nothing for long enough, and comes right with the next record", async () => {
    const { fleet, client, alerts, told } = await watched([{ detect: "stalled_run", after: "2m", action: "alert" }]);
    const { definition, gate } = stuck();
    await fleet.worker({ workflows: [definition], name: "busy" });
    const run = await client.start(definition, undefined, { id: "r" });
    await fleet.clock.advance("90s");
    expect(alerts).toEqual([]);
    await fleet.clock.advance("1m");
    expect(alerts).toMatchObject([
      {
        state: "firing",
        detect: "stalled_run",
        namespace: "default",
        run: { id: "r", workflow: "stuck" },
        worker: "busy",
      },
    ]);
    expect(alerts[0]?.text).toMatch(/^Worker busy has held run "r" \(stuck\) for 2m\S* without recording anything\.$/);
    gate.open();
    await fleet.result(run);
    await fleet.clock.advance("20s");
    expect(told()).toEqual(["firing stalled_run", "resolved stalled_run"]);
    expect(new Set(alerts.map(({ id }) => id)).size).toBe(1);
  });

  test("is not found while it makes progress, sleeps, or is of another workflow", async () => {
    const rule = { detect: "stalled_run", after: "1m", action: "alert" } as const;
    const { fleet, client, alerts } = await watched([{ ...rule, workflow: "steps" }]);
    const pause = (): Promise<void> => new Promise((resolve) => void fleet.clock.setTimer(30_000, resolve));
    const steps = workflow("steps", async (ctx) => {
      for (let i = 0; i < 10; i++) await ctx.step("work", pause);
      await ctx.sleep("nap", "1h");
    });
    const { definition } = stuck();
    await fleet.worker({ workflows: [steps, definition] });
    await client.start(steps, undefined, { id: "busy" });
    await client.start(definition, undefined, { id: "other" });
    await fleet.clock.advance("30m");
    expect(alerts).toEqual([]);
  });
});

describe("stalled_task", () => {
  test("is found when an attempt takes too long and does not report", async () => {
    const { fleet, client, alerts } = await watched([{ detect: "stalled_task", after: "2m", action: "alert" }]);
    const { send, mails } = stuckTask();
    await fleet.worker({ workflows: [mails], tasks: [send] });
    await client.start(mails, undefined, { id: "r" });
    await fleet.clock.advance("110s");
    expect(alerts).toEqual([]);
    await fleet.clock.advance("40s");
    expect(alerts).toMatchObject([{ detect: "stalled_task", op: "send", run: { id: "r" }, queue: "default" }]);
    expect(alerts[0]?.text).toMatch(/^Attempt 1 of task "send" \(send\) of run "r" has been running for 2m/);
  });

  test("is not found while the attempt reports something new", async () => {
    const { fleet, client, alerts } = await watched([{ detect: "stalled_task", after: "2m", action: "alert" }]);
    const slow = task("slow", async (_input: undefined, t) => {
      for (let i = 0; i < 20; i++) {
        t.heartbeat(i);
        await new Promise<void>((resolve) => void fleet.clock.setTimer(20_000, resolve));
      }
    });
    const waits = workflow("waits", (ctx) => ctx.task(slow, undefined));
    await fleet.worker({ workflows: [waits], tasks: [slow] });
    const run = await client.start(waits);
    await fleet.clock.advance("6m");
    expect(alerts).toEqual([]);
    await fleet.result(run);
  });
});

describe("circle", () => {
  test("is found when runs wait for each other, and not when one only waits for another", async () => {
    const { fleet, client, alerts } = await watched([{ detect: "circle", after: "1m", action: "alert" }]);
    const gate = new Gate();
    const crossing = workflow("crossing", (ctx, names: readonly [string, string]) =>
      ctx.withLock(names[0], () =>
        (async () => {
          await ctx.sleep("nap", "1s");
          return ctx.withLock(names[1], async () => {});
        })(),
      ),
    );
    const holding = workflow("holding", (ctx) => ctx.withLock("c", () => ctx.step("hold", () => gate.opened)));
    const waiting = workflow("waiting", (ctx) => ctx.withLock("c", async () => {}));
    await fleet.worker({ workflows: [crossing, holding, waiting] });
    await client.start(holding, undefined, { id: "h" });
    await fleet.clock.settle();
    await client.start(waiting, undefined, { id: "w" });
    await fleet.clock.advance("3m");
    expect(alerts).toEqual([]);
    const x = await client.start(crossing, ["a", "b"], { id: "x" });
    await client.start(crossing, ["b", "a"], { id: "y" });
    await fleet.clock.advance("2m");
    expect(alerts).toMatchObject([{ detect: "circle", circle: expect.arrayContaining(["x", "y"]) }]);
    expect(alerts[0]?.text).toMatch(/wait for each other in a circle; none of them ends on its own\.$/);
    gate.open();
    await x.cancel();
    await fleet.clock.advance("1m");
    expect(alerts.map(({ state }) => state)).toEqual(["firing", "resolved"]);
  });
});

describe("worker", () => {
  const { definition } = stuck("idle");

  test("is found when it is silent, stays so when it has died, and comes right when it has a successor", async () => {
    const { fleet, alerts, told } = await watched([{ detect: "worker", action: "alert" }]);
    const environment = { ...systemEnvironment, isGone: () => false };
    const sick = { workflows: [definition], name: "sick", lease: "30s" } as const;
    const { workerId } = await fleet.worker(sick, { environment });
    await fleet.clock.advance("1m");
    expect(alerts).toEqual([]);
    const { workers } = fleet.store;
    const { heartbeat } = workers;
    workers.heartbeat = (params) => (params.workerId === workerId ? new Promise(() => {}) : heartbeat(params));
    await fleet.clock.advance("28s");
    expect(alerts).toMatchObject([{ detect: "worker", worker: "sick", text: expect.stringMatching(/is silent/) }]);
    const row = fleet.store.state.workers.get(workerId);
    if (row) Object.assign(row, { status: "offline", died: true, stoppedAt: fleet.clock.now() });
    await fleet.clock.advance("1m");
    expect(told()).toEqual(["firing worker"]);
    await fleet.worker(sick, { environment });
    await fleet.clock.advance("20s");
    expect(told()).toEqual(["firing worker", "resolved worker"]);
  });

  test("is found when it has died before anybody saw that it was silent, for ten minutes", async () => {
    const { fleet, alerts, told } = await watched([{ detect: "worker", action: "alert" }]);
    const { workerId } = await fleet.worker({ workflows: [definition], name: "sick", lease: "1h" });
    const row = fleet.store.state.workers.get(workerId);
    if (row) Object.assign(row, { status: "offline", died: true, stoppedAt: fleet.clock.now() });
    await fleet.clock.advance("30s");
    expect(alerts).toMatchObject([{ worker: "sick", text: expect.stringMatching(/^Worker sick has died; its last/) }]);
    await fleet.clock.advance("10m");
    expect(told()).toEqual(["firing worker", "resolved worker"]);
  });

  test("is not found when it drains or stops by itself", async () => {
    const { fleet, alerts } = await watched([{ detect: "worker", action: "alert" }]);
    const one = await fleet.worker({ workflows: [definition], lease: "30s" });
    await fleet.clock.advance("1m");
    await fleet.clock.until(one.drain());
    await fleet.clock.advance("5m");
    expect(alerts).toEqual([]);
  });
});

describe("store", () => {
  test("is found when it does not answer for long enough, and comes right when it does", async () => {
    const { fleet, told, alerts } = await watched([{ detect: "store", after: "30s", action: "alert" }]);
    await fleet.clock.advance("1m");
    const away = new HoldfastError("store_unavailable", "the connection was refused");
    fleet.store.fault = (when) => (when === "before" ? away : undefined);
    await fleet.clock.advance("25s");
    expect(told()).toEqual([]);
    await fleet.clock.advance("35s");
    expect(alerts).toMatchObject([{ text: expect.stringMatching(/^The store has not answered for \d+s: .*refused/) }]);
    fleet.store.fault = undefined;
    await fleet.clock.advance("30s");
    expect(told()).toEqual(["firing store", "resolved store"]);
  });

  test("is found when it answers slowly for long enough, and comes right when it is quick again", async () => {
    const fleet = openFleet();
    const told: string[] = [];
    const onAlert = ({ state, text }: Alert): void => void told.push(`${state}: ${text}`);
    const rules = [{ detect: "store", after: "1m", action: "alert" }] as const;
    let slowMs = 0;
    const slowed = hookedStore(fleet.store, {
      readClock: async () => {
        await new Promise<void>((resolve) => void fleet.clock.setTimer(slowMs, resolve));
        return fleet.store.readClock();
      },
    });
    const store = answeringStore(throughNetwork(slowed, fleet.clock), { clock: fleet.clock });
    await fleet.worker({ name: "watcher", watchdog: { every: "10s", rules, onAlert } }, { store, connected: true });
    await fleet.clock.advance("2m");
    slowMs = 6_000;
    await fleet.clock.advance("50s");
    expect(told).toEqual([]);
    await fleet.clock.advance("1m");
    expect(told).toEqual([expect.stringMatching(/^firing: The store answers slowly: .* one in a hundred 6000 ms\.$/)]);
    slowMs = 0;
    await fleet.clock.advance("30m");
    expect(told.slice(1)).toEqual([expect.stringMatching(/^resolved: /)]);
  });

  test("that is away is told by the next in line, too, later, and by everybody in the end: those before may be gone with it", async () => {
    const fleet = openFleet();
    const rules = [{ detect: "store", after: "30s", action: "alert" }] as const;
    const all: Watched[] = [];
    for (let i = 0; i < 5; i++) {
      all.push(await watched(rules, {}, fleet));
      await fleet.clock.advance("1s");
    }
    const told = () => all.map((one) => one.told().length);
    await fleet.clock.advance("1m");
    const away = new HoldfastError("store_unavailable", "the connection was refused");
    fleet.store.fault = (when) => (when === "before" ? away : undefined);
    await fleet.clock.advance("50s");
    expect(told()).toEqual([1, 0, 0, 0, 0]);
    await fleet.clock.advance("30s");
    expect(told()).toEqual([1, 1, 0, 0, 0]);
    await fleet.clock.advance("3m");
    expect(told()).toEqual([1, 1, 1, 0, 0]);
    await fleet.clock.advance("6m");
    expect(told()).toEqual([1, 1, 1, 1, 1]);
    fleet.store.fault = undefined;
    await fleet.clock.advance("30s");
    expect(all.map((one) => one.told())).toEqual(Array.from({ length: 5 }, () => ["firing store", "resolved store"]));
    await fleet.clock.advance("10m");
    expect(told()).toEqual([2, 2, 2, 2, 2]);
  });

  test("is found when it can be read and not written, which health says at once", async () => {
    const fleet = openFleet();
    let full = false;
    const broken = hookedStore(fleet.store, {
      "workers.heartbeat": async (params) => {
        if (full) throw new HoldfastError("store_unavailable", "the disk is full");
        return fleet.store.workers.heartbeat(params);
      },
    });
    const store = answeringStore(throughNetwork(broken, fleet.clock), { clock: fleet.clock });
    const told: string[] = [];
    const onAlert = ({ state, text }: Alert): void => void told.push(`${state}: ${text}`);
    const rules = [{ detect: "store", after: "30s", action: "alert" }] as const;
    const watchdog = { every: "10s", rules, onAlert } as const;
    await fleet.worker({ name: "watcher", lease: "30s", watchdog }, { store, connected: true });
    const client = fleet.client({ store, connected: true });
    await fleet.clock.advance("1m");
    expect(await fleet.clock.until(client.health())).toMatchObject({ status: "healthy" });
    full = true;
    await fleet.clock.advance("15s");
    expect(await fleet.clock.until(client.health())).toMatchObject({
      status: "unhealthy",
      reasons: ["The store can be read, but not written: the disk is full", expect.any(String)],
      store: { status: "unhealthy", error: "the disk is full" },
    });
    expect(await fleet.clock.until(client.ready())).toEqual({
      ready: false,
      reasons: ["The store can be read, but not written: the disk is full"],
    });
    expect(told).toEqual([]);
    await fleet.clock.advance("5m");
    expect(told).toEqual([
      expect.stringMatching(/^firing: The store can be read, but not written, for \d+s: the disk is full$/),
    ]);
    full = false;
    await fleet.clock.advance("1m");
    expect(told.slice(1)).toEqual([expect.stringMatching(/^resolved: /)]);
    expect((await fleet.clock.until(client.health())).store.status).toBe("healthy");
    expect(await fleet.clock.until(client.ready())).toEqual({ ready: true, reasons: [] });
  });

  test("that could not be reached for a while is whole as soon as it can be read again, as nothing says that it cannot be written", async () => {
    const fleet = openFleet();
    let fault: HoldfastError | undefined;
    const failing = async <T>(call: () => Promise<T>): Promise<T> => {
      if (fault) throw fault;
      return call();
    };
    let reads = true;
    const broken = hookedStore(fleet.store, {
      readClock: () => (reads ? fleet.store.readClock() : failing(() => fleet.store.readClock())),
      "inbox.deliver": (params) => failing(() => fleet.store.inbox.deliver(params)),
    });
    const store = answeringStore(throughNetwork(broken, fleet.clock), { clock: fleet.clock });
    const client = fleet.client({ store, connected: true });
    const go = signal("go");
    const wait = workflow("wait", async (ctx) => void (await ctx.receive(go)));
    const run = await fleet.clock.until(client.start(wait));
    const refused = async () => {
      const answer = run.signal(go).catch((error: HoldfastError) => error.code);
      expect(await fleet.clock.until(answer)).toBe("store_unavailable");
    };
    const ready = () => fleet.clock.until(client.ready());

    reads = false;
    fault = new HoldfastError("store_unavailable", "the connection was refused", { data: { unreachable: true } });
    await refused();
    expect(await ready()).toEqual({ ready: false, reasons: ["The store does not answer."] });
    fault = undefined;
    expect(await ready()).toEqual({ ready: true, reasons: [] });
    expect((await fleet.clock.until(client.health())).store.status).toBe("healthy");

    // What it has said of itself still counts: for a minute, through an outage, and until a write has passed.
    const full = { ready: false, reasons: ["The store can be read, but not written: the disk is full"] };
    reads = true;
    const diskFull = new HoldfastError("store_unavailable", "the disk is full");
    fault = diskFull;
    await refused();
    expect(await ready()).toEqual(full);
    fault = new HoldfastError("store_unavailable", "the connection was refused", { data: { unreachable: true } });
    await refused();
    fault = undefined;
    await fleet.clock.advance("20s");
    expect(await ready()).toEqual(full);
    await fleet.clock.advance("30s");
    expect(await ready()).toEqual({ ready: true, reasons: [] });
    fault = diskFull;
    await refused();
    expect(await ready()).toEqual(full);
    fault = undefined;
    await fleet.clock.until(run.signal(go));
    expect(await ready()).toEqual({ ready: true, reasons: [] });
  });

  test("is not found when it answers at once, nor when it is away for a moment", async () => {
    const { fleet, told } = await watched([{ detect: "store", after: "30s", action: "alert" }]);
    for (let i = 0; i < 5; i++) {
      const away = new HoldfastError("store_unavailable", "the connection was refused");
      fleet.store.fault = (when) => (when === "before" ? away : undefined);
      await fleet.clock.advance("15s");
      fleet.store.fault = undefined;
      await fleet.clock.advance("1m");
    }
    expect(told()).toEqual([]);
  });
});

describe("backlog", () => {
  test("is found when something has been due for too long, in its queue, and comes right when it is taken", async () => {
    const { fleet, client, alerts, told } = await watched([{ detect: "backlog", after: "2m", action: "alert" }]);
    const job = workflow({ name: "job", queue: "jobs" }, async () => {});
    await client.start(job);
    await client.start(job);
    await fleet.clock.advance("110s");
    expect(alerts).toEqual([]);
    await fleet.clock.advance("30s");
    expect(alerts).toMatchObject([{ detect: "backlog", queue: "jobs" }]);
    expect(alerts[0]?.text).toMatch(/^2 runs wait in queue "jobs", the oldest for 2m/);
    await fleet.worker({ workflows: [job] });
    await fleet.clock.advance("20s");
    expect(told()).toEqual(["firing backlog", "resolved backlog"]);
  });

  test("of one workflow is not that of another", async () => {
    const rule = { detect: "backlog", after: "1m", action: "alert" } as const;
    const { fleet, client, alerts } = await watched([{ ...rule, workflow: "mine" }]);
    await client.start("other", undefined);
    await fleet.clock.advance("5m");
    expect(alerts).toEqual([]);
    await client.start("mine", undefined);
    await fleet.clock.advance("90s");
    expect(alerts).toMatchObject([{ workflow: "mine", text: expect.stringMatching(/^1 runs of mine wait/) }]);
  });
});

describe("crash_loop", () => {
  test("is found when workers of one name die three times, and not after two", async () => {
    const { fleet, alerts } = await watched([{ detect: "crash_loop", after: "10m", action: "alert" }]);
    const { definition } = stuck("idle");
    const die = async (): Promise<void> => {
      const { workerId } = await fleet.worker({ workflows: [definition], name: "shop" });
      const row = fleet.store.state.workers.get(workerId);
      if (row) Object.assign(row, { status: "offline", died: true, stoppedAt: fleet.clock.now() });
      await fleet.clock.advance("15s");
    };
    await die();
    await die();
    expect(alerts).toEqual([]);
    await die();
    expect(alerts).toMatchObject([{ worker: "shop", text: "Workers named shop have died 3 times within 10m." }]);
  });

  test("is found when a run has seen too many deaths", async () => {
    const { fleet, client, alerts } = await watched([{ detect: "crash_loop", action: "alert" }]);
    const run = await client.start("poison", undefined);
    await fleet.clock.advance("20s");
    expect(alerts).toEqual([]);
    const row = fleet.store.state.runs.get(run.runId);
    if (row) row.suspect = true;
    await fleet.clock.advance("10s");
    expect(alerts).toMatchObject([{ workflow: "poison", version: "1" }]);
    expect(alerts[0]?.text).toMatch(/^1 runs of poison@1 in queue "default" have killed their workers repeatedly/);
  });
});

describe("crash_loop that comes and goes", () => {
  test("is one finding until it has been quiet for the time of the rule", async () => {
    const { fleet, client, told } = await watched([{ detect: "crash_loop", after: "5m", action: "alert" }]);
    const { runId } = await client.start("poison", undefined);
    const row = fleet.store.state.runs.get(runId);
    const suspect = async (is: boolean, time: "20s" | "4m" | "6m"): Promise<void> => {
      if (row) row.suspect = is;
      await fleet.clock.advance(time);
    };
    // While a worker executes it, alone, nothing is due.
    for (let i = 0; i < 3; i++) {
      await suspect(true, "20s");
      await suspect(false, "4m");
    }
    expect(told()).toEqual(["firing crash_loop"]);
    await suspect(false, "6m");
    expect(told()).toEqual(["firing crash_loop", "resolved crash_loop"]);
  });
});

describe("unserved_version", () => {
  test("is found when no live worker offers what is due, and comes right when one does", async () => {
    const { fleet, client, alerts, told } = await watched([{ detect: "unserved_version", action: "alert" }]);
    const v2 = workflow({ name: "order", version: "2" }, async () => {});
    await fleet.worker({ workflows: [workflow({ name: "order", version: "1" }, async () => {})] });
    await client.start(v2);
    await fleet.clock.advance("80s");
    expect(alerts).toMatchObject([{ workflow: "order", version: "2", queue: "default" }]);
    expect(alerts[0]?.text).toMatch(
      /^No live worker offers order@2 on queue "default"; 1 run waits, the oldest for 1m/,
    );
    await fleet.worker({ workflows: [v2] });
    await fleet.clock.advance("20s");
    expect(told()).toEqual(["firing unserved_version", "resolved unserved_version"]);
  });

  test("is found for a task that no live worker has the labels for", async () => {
    const { fleet, client, alerts } = await watched([{ detect: "unserved_version", action: "alert" }]);
    const render = task({ name: "render", requires: ["gpu"] }, async () => {});
    const draws = workflow("draws", (ctx) => ctx.task(render, undefined));
    await fleet.worker({ workflows: [draws], tasks: [render] });
    await client.start(draws);
    await fleet.clock.advance("90s");
    expect(alerts).toMatchObject([{ text: expect.stringMatching(/^No live worker with gpu executes task "render"/) }]);
  });

  test("is not found while a live worker offers it, however busy, nor before its time", async () => {
    const { fleet, client, alerts } = await watched([{ detect: "unserved_version", action: "alert" }]);
    const { definition, gate } = stuck("busy");
    await fleet.worker({ workflows: [definition], concurrency: 1 });
    for (let i = 0; i < 3; i++) await client.start(definition);
    await client.start(
      workflow("later", async () => {}),
      undefined,
      { delay: "1h" },
    );
    await fleet.clock.advance("10m");
    expect(alerts).toEqual([]);
    gate.open();
    await fleet.clock.settle();
  });
});
