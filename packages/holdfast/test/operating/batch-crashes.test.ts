/** Batches whose process dies: others go on with them, and nothing is done twice. */
import { type BatchResult, signal, workflow } from "holdfast";
import { SeededSource } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { Cluster, type Process, type StoreHook, unavailable } from "../lab/harness.ts";

const go = signal<string>("go");
const wait = workflow("wait", async (ctx) => {
  for (;;) if ((await ctx.receive(go)) === "end") return;
});

/** Kills a process at the n-th call of a method: before it reaches the store, or before its answer comes back. */
function killAt(
  method: string,
  times: number,
  side: "before" | "after",
): { hook: StoreHook; victim: { process?: Process } } {
  const victim: { process?: Process } = {};
  let calls = 0;
  const hook: StoreHook = async (called, _params, next) => {
    const isIt = called === method && victim.process !== undefined && ++calls === times;
    if (isIt && side === "before") victim.process?.kill();
    const answer = await next();
    if (isIt) victim.process?.kill();
    return answer;
  };
  return { hook, victim };
}

async function clusterWith(runs: number): Promise<{ cluster: Cluster; ids: readonly string[] }> {
  const cluster = new Cluster();
  const server = cluster.process("server");
  await server.worker({ workflows: [wait] });
  const ids = Array.from({ length: runs }, (_, i) => `r${i}`);
  for (const id of ids) await server.client.start(wait, undefined, { id });
  await cluster.clock.settle();
  return { cluster, ids };
}

const signalsOf = (cluster: Cluster, id: string): number =>
  cluster.eventsOf(id).filter(({ type }) => type === "signal_received").length;

async function dieAndGoOn(
  cluster: Cluster,
  kill: ReturnType<typeof killAt>,
  begin: (process: Process) => Promise<BatchResult>,
): Promise<BatchResult> {
  const caller = cluster.process("caller", kill.hook);
  kill.victim.process = caller;
  let over = false;
  const end = (): void => {
    over = true;
  };
  void begin(caller).then(end, end);
  await cluster.when(() => caller.life.dead || over);
  const other = cluster.process("other");
  return cluster.until(begin(other));
}

describe("a batch whose caller dies", () => {
  const POINTS = [
    ["runs.commit", 1, "before"],
    ["runs.commit", 1, "after"],
    ["runs.commit", 2, "before"],
    ["runs.commit", 2, "after"],
    ["runs.commit", 3, "before"],
    ["inbox.deliver", 1, "before"],
    ["inbox.deliver", 1, "after"],
    ["inbox.deliver", 2, "after"],
    ["runs.list", 2, "before"],
  ] as const;

  test.each(POINTS)("at call %s number %i, %s it, sends each run one signal", async (...point) => {
    const { cluster, ids } = await clusterWith(150);
    const result = await dieAndGoOn(cluster, killAt(...point), (process) =>
      process.client.batch({ workflow: "wait" }).signal(go, "hi", { id: "b" }),
    );
    expect(result).toEqual({ id: "b", matched: 150, done: 150, skipped: [], skippedCount: 0 });
    await cluster.clock.settle();
    expect(ids.filter((id) => signalsOf(cluster, id) !== 1)).toEqual([]);
    expect(cluster.errors).toEqual([]);
  });

  test.each([
    ["pause", "runs.pauseIfIdle", "run_parked"],
    ["terminate", "runs.terminate", "run_terminated"],
    ["cancel", "inbox.deliver", "cancel_requested"],
  ] as const)("in the midst of a %s counts what it had done as done", async (action, method, type) => {
    const { cluster, ids } = await clusterWith(30);
    const result = await dieAndGoOn(cluster, killAt(method, action === "pause" ? 13 : 1, "after"), (process) =>
      process.client.batch({ workflow: "wait", status: ["waiting", "running"] })[action]({ id: "b" }),
    );
    expect(result).toMatchObject({ matched: 30, done: 30, skippedCount: 0 });
    await cluster.clock.settle();
    const server = cluster.process("reader").client;
    for (const id of ids) {
      const history = await cluster.until(server.get(id).history());
      expect(history.filter((event) => event.type === type).length, id).toBe(1);
    }
  });

  test("resumes only those that the batch has not resumed before it died", async () => {
    const { cluster, ids } = await clusterWith(30);
    const { client } = cluster.process("operator");
    await cluster.until(client.batch({}).pause());
    let again = "";
    const result = await dieAndGoOn(cluster, killAt("runs.resumeIfParked", 13, "after"), async (process) => {
      if (process.name === "other") {
        // A person pauses a run again that the batch had resumed.
        const resumed = ids.filter((id) => cluster.runOf(id).status !== "parked");
        again = resumed[0] as string;
        await client.get(again).pause("I meant it");
      }
      return process.client.batch({ status: "parked" }).resume({ id: "b" });
    });
    expect(result).toMatchObject({ matched: 30, done: 30, skippedCount: 0 });
    await cluster.clock.settle();
    expect(ids.filter((id) => cluster.runOf(id).status === "parked")).toEqual([again]);
  });

  test("is gone on with by a worker of any process, without another call", async () => {
    const { cluster, ids } = await clusterWith(150);
    const kill = killAt("inbox.deliver", 1, "after");
    const caller = cluster.process("caller", kill.hook);
    kill.victim.process = caller;
    void caller.client
      .batch({ workflow: "wait" })
      .signal(go, "hi", { id: "b" })
      .catch(() => {});
    await cluster.when(() => caller.life.dead);
    await cluster.when(() => ids.every((id) => signalsOf(cluster, id) === 1), "5 minutes");
    const reader = cluster.process("reader").client;
    expect(await cluster.until(reader.batchRun("b").result())).toMatchObject({ matched: 150, done: 150 });
  });

  test("waits where no worker is left, and is gone on with by the next one that starts", async () => {
    const cluster = new Cluster();
    const kill = killAt("runs.commit", 2, "after");
    const caller = cluster.process("caller", kill.hook);
    for (let i = 0; i < 150; i++) await caller.client.start(wait, undefined, { id: `r${i}` });
    kill.victim.process = caller;
    void caller.client
      .batch({})
      .terminate({ id: "b" })
      .catch(() => {});
    await cluster.when(() => caller.life.dead);
    await cluster.clock.advance("1h");
    const open = (): number =>
      [...cluster.store.state.runs.values()].filter(({ status }) => status === "pending").length;
    expect(open()).toBeGreaterThan(0);
    await cluster.process("server").worker({ workflows: [wait] });
    await cluster.when(() => open() === 0, "5 minutes");
    const reader = cluster.process("reader").client;
    expect(await cluster.until(reader.batchRun("b").result())).toMatchObject({ matched: 150, done: 150 });
  });
});

test("two callers of the same batch at the same time get the same result, and every run one signal", async () => {
  const { cluster, ids } = await clusterWith(250);
  const call = (name: string): Promise<BatchResult> =>
    cluster.process(name).client.batch({ workflow: "wait" }).signal(go, "hi", { id: "b", perSecond: 100 });
  const [one, two] = await cluster.until(Promise.all([call("one"), call("two")]));
  expect(one).toEqual({ id: "b", matched: 250, done: 250, skipped: [], skippedCount: 0 });
  expect(two).toEqual(one);
  expect(ids.filter((id) => signalsOf(cluster, id) !== 1)).toEqual([]);
});

/** Kills the process at its n-th call, whatever that is. */
function killAtCall(times: number, side: "before" | "after"): ReturnType<typeof killAt> {
  const kill = killAt("", 0, "before");
  let calls = 0;
  const hook: StoreHook = async (_called, _params, next) => {
    const isIt = kill.victim.process !== undefined && ++calls === times;
    if (isIt && side === "before") kill.victim.process?.kill();
    const answer = await next();
    if (isIt) kill.victim.process?.kill();
    return answer;
  };
  return { ...kill, hook };
}

test.each(Array.from({ length: 24 }, (_, seed) => seed))(
  "wherever the caller dies, every run is counted once and acted on once: seed %i",
  async (seed) => {
    const random = new SeededSource(seed);
    const below = (most: number): number => Math.floor(random.next() * most);
    const { cluster, ids } = await clusterWith(110 + below(150));
    const { client } = cluster.process("operator");
    const ended = ids.filter(() => below(10) === 0);
    for (const id of ended) await cluster.until(client.get(id).terminate("before"));
    const action = (["signal", "cancel", "terminate", "pause"] as const)[seed % 4] as "signal";
    const begin = (process: Process): Promise<BatchResult> => {
      const batch = process.client.batch({ workflow: "wait" });
      const options = { id: "b", ...(below(2) === 0 ? { perSecond: 70 } : {}) };
      return action === "signal" ? batch.signal(go, "hi", options) : batch[action as "cancel"](options);
    };
    const result = await dieAndGoOn(cluster, killAtCall(6 + below(30), below(2) === 0 ? "before" : "after"), begin);
    await cluster.clock.settle();
    expect(result.matched).toBe(ids.length);
    expect(result.done + result.skippedCount).toBe(result.matched);
    const runIds = ended.map((id) => cluster.runOf(id).runId);
    expect(result.skipped.map(({ runId }) => runId).sort()).toEqual(runIds.sort());
    const types = {
      signal: "signal_received",
      cancel: "cancel_requested",
      terminate: "run_terminated",
      pause: "run_parked",
    };
    const open = ids.filter((id) => !ended.includes(id));
    const histories = await cluster.until(Promise.all(open.map((id) => client.get(id).history())));
    const times = histories.map((events) => events.filter(({ type }) => type === types[action]).length);
    expect(new Set(times)).toEqual(new Set([1]));
    expect(cluster.errors).toEqual([]);
  },
);

test("a client that is closed gives its batch up, and the next caller goes on at once", async () => {
  const { cluster, ids } = await clusterWith(150);
  const caller = cluster.process("caller");
  const begun = caller.client.batch({ workflow: "wait" }).signal(go, "hi", { id: "b", perSecond: 50 });
  const refused = expect(begun).rejects.toMatchObject({ code: "client_closed" });
  await cluster.when(() => ids.some((id) => signalsOf(cluster, id) === 1));
  await cluster.until(caller.client.close());
  await refused;
  const before = cluster.clock.now();
  const other = cluster.process("other").client;
  const result = await cluster.until(other.batch({ workflow: "wait" }).signal(go, "hi", { id: "b", perSecond: 50 }));
  expect(result).toMatchObject({ matched: 150, done: 150 });
  expect(cluster.clock.now() - before).toBeLessThan(5_000);
  expect(ids.filter((id) => signalsOf(cluster, id) !== 1)).toEqual([]);
});

test("a batch outlasts an outage of the store, and makes up for no time", async () => {
  const { cluster, ids } = await clusterWith(150);
  let up = true;
  let outages = 0;
  const hook: StoreHook = (method, _params, next) => {
    if (method === "inbox.deliver" && outages === 0) {
      outages += 1;
      up = false;
      cluster.clock.setTimer(60_000, () => {
        up = true;
      });
    }
    return up ? next() : Promise.reject(unavailable());
  };
  const caller = cluster.process("caller", hook);
  const result = cluster.until(caller.client.batch({ workflow: "wait" }).signal(go, "hi", { id: "b", perSecond: 50 }));
  await expect(result).resolves.toMatchObject({ matched: 150, done: 150 });
  expect(ids.filter((id) => signalsOf(cluster, id) !== 1)).toEqual([]);
  const times = ids.map((id) => cluster.eventsOf(id).find(({ type }) => type === "signal_received")?.at ?? 0).sort();
  expect(times.filter((at, i) => (times[i + 50] ?? Number.POSITIVE_INFINITY) - at < 1_000)).toEqual([]);
});
