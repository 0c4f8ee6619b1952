import { expect, test } from "vitest";
import { signal, update, workflow } from "../../src/index.ts";
import type { DeliverMessagesParams } from "../../src/ports/store.ts";
import { Cluster, faultsInStore, HEARTBEAT_MS, outcomeUnknown, type StoreHook } from "../lab/harness.ts";

const add = update<number, number>("add");
const word = signal<string>("word");

/** Adds until it is told to stop, and keeps the order of what it was told. */
const adder = workflow("adder", async (ctx) => {
  const told: number[] = [];
  let sum = 0;
  ctx.on(add, (n) => {
    told.push(n);
    sum += n;
    return sum;
  });
  await ctx.receive(word);
  return told;
});
const sleeper = workflow("sleeper", async (ctx) => ctx.sleep("long", "1h"));
const busy = workflow("busy", async (ctx) => ctx.step("forever", () => new Promise(() => {})));

/** A process whose worker has suspended a run, and the calls that it makes from then on. */
async function resting(options: { readonly hook?: StoreHook; readonly concurrency?: number } = {}) {
  const cluster = new Cluster();
  const calls: string[] = [];
  let watched = false;
  const process = cluster.process("p", async (method, params, next) => {
    if (!watched) return next();
    calls.push((params as DeliverMessagesParams).holdBy ? `${method}, holding` : method);
    return options.hook ? options.hook(method, params, next) : next();
  });
  const { concurrency = 10 } = options;
  const worker = await process.worker({ workflows: [adder, sleeper, busy], concurrency });
  await cluster.until(process.client.start(adder, undefined, { id: "r" }));
  await cluster.clock.settle();
  expect(cluster.runOf("r").status).toBe("waiting");
  watched = true;
  const heldBy = (): string | null => cluster.runOf("r").heldBy;
  return { cluster, process, worker, calls, heldBy, handle: process.client.get("r") };
}

test("an update of a run that rests here costs a delivery and a commit, and no claim", async () => {
  const { cluster, calls, handle } = await resting();
  expect(await cluster.until(handle.update(add, 1))).toBe(1);
  expect(calls).toEqual(["inbox.deliver, holding", "runs.commit"]);
  expect(await cluster.until(handle.update(add, 2))).toBe(3);
  expect(calls).toEqual(["inbox.deliver, holding", "runs.commit", "inbox.deliver, holding", "runs.commit"]);
  expect(faultsInStore(cluster.store)).toEqual([]);
});

test("messages that are sent at once arrive in order, and take the run once", async () => {
  const { cluster, process, handle } = await resting();
  const { epoch } = cluster.runOf("r");
  const { runId } = cluster.runOf("r");
  const sums = [1, 2, 3, 4].map((n) => process.client.get("r").update(add, n));
  expect(await cluster.until(Promise.all(sums))).toEqual([1, 3, 6, 10]);
  expect(cluster.runOf("r")).toMatchObject({ runId, epoch: epoch + 1 });
  await cluster.until(handle.signal(word, "stop"));
  expect(await cluster.until(handle.result())).toEqual([1, 2, 3, 4]);
});

test("a delivery without an answer is looked up: the run goes on at once", async () => {
  let lost = 0;
  const { cluster, calls, handle } = await resting({
    hook: async (method, _params, next) => {
      const answer = await next();
      if (method !== "inbox.deliver" || lost > 0) return answer;
      lost += 1;
      throw outcomeUnknown();
    },
  });
  const before = cluster.clock.now();
  expect(await cluster.until(handle.update(add, 5))).toBe(5);
  expect(cluster.clock.now() - before).toBeLessThan(HEARTBEAT_MS / 10);
  expect(calls.filter((call) => call === "runs.claim")).toHaveLength(1);
  expect(faultsInStore(cluster.store)).toEqual([]);
});

test("a delivery that takes effect after it was looked up is noticed, and the run is given back", async () => {
  const late: (() => Promise<unknown>)[] = [];
  const { cluster, handle, heldBy } = await resting({
    hook: async (method, _params, next) => {
      if (method !== "inbox.deliver" || late.length > 0) return next();
      late.push(next);
      throw outcomeUnknown();
    },
  });
  // By the time it is sent again, the first copy has arrived: a duplicate takes nothing.
  const sent = handle.signal(word, "late");
  await cluster.clock.settle();
  await late[0]?.();
  expect(heldBy()).not.toBe(null);
  await cluster.until(sent);
  expect(await cluster.until(handle.result())).toEqual([]);
  expect(faultsInStore(cluster.store)).toEqual([]);
});

test("a process that dies with the answer leaves the run and its message to another worker", async () => {
  const { cluster, process, handle, heldBy } = await resting({
    hook: async (method, _params, next) => {
      const answer = await next();
      if (method === "inbox.deliver") process.kill();
      return answer;
    },
  });
  void handle.update(add, 7, { id: "u" }).catch(() => {});
  await cluster.clock.settle();
  expect(heldBy()).not.toBe(null);
  const second = cluster.process("second");
  await second.worker({ workflows: [adder] });
  expect(await cluster.until(second.client.get("r").update(add, 7, { id: "u" }))).toBe(7);
  expect(faultsInStore(cluster.store)).toEqual([]);
});

test("a run that another worker has had since is not taken", async () => {
  const { cluster, process, calls, handle } = await resting();
  const second = cluster.process("second");
  await second.worker({ workflows: [adder] });
  process.life.freeze();
  await cluster.until(second.client.get("r").update(add, 1));
  process.life.thaw(cluster.clock);
  expect(await cluster.until(handle.update(add, 2))).toBe(3);
  expect(calls).toContain("inbox.deliver, holding");
  expect(faultsInStore(cluster.store)).toEqual([]);
});

test("a worker without a free slot takes nothing; the run waits for one", async () => {
  const { cluster, process, calls, handle, heldBy } = await resting({ concurrency: 1 });
  await cluster.until(process.client.start(busy, undefined, { id: "b" }));
  await cluster.clock.settle();
  await cluster.until(handle.signal(word, "stop"));
  expect(calls).toContain("inbox.deliver");
  expect(heldBy()).toBe(null);
  await cluster.until(process.client.get("b").terminate());
  expect(await cluster.until(handle.result())).toEqual([]);
});

test("a worker that drains takes nothing", async () => {
  const { cluster, process, worker, calls, handle, heldBy } = await resting();
  await cluster.until(process.client.start(busy, undefined, { id: "b" }));
  await cluster.clock.settle();
  void worker.drain();
  await cluster.clock.settle();
  await cluster.until(handle.signal(word, "stop"));
  expect(calls).toContain("inbox.deliver");
  expect(calls).not.toContain("inbox.deliver, holding");
  expect(heldBy()).toBe(null);
});
