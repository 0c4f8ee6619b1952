/** A mover that dies, or gets no answer, at any of its calls: no run is lost, and none runs twice. */
import { describe, expect, test } from "vitest";
import { outcomeUnknown, type StoreHook, unavailable, Valve } from "../lab/harness.ts";
import { go, TwoStores } from "./two-stores.ts";

const IDS = ["a", "b", "c"];

/** Three runs: one sleeps, one has an unread signal, one has not begun. */
async function begun(): Promise<TwoStores> {
  const stores = new TwoStores();
  const server = stores.from.process("server");
  const worker = await server.worker({ workflows: [stores.effects.order] });
  for (const id of IDS.slice(0, 2)) await server.client.start(stores.effects.order, id, { id });
  await stores.from.clock.settle();
  await worker.stop();
  await server.client.get("b").signal(go, "early", { id: "early" });
  await server.client.start(stores.effects.order, "c", { id: "c" });
  return stores;
}

/** All of them come to their ends, in whichever store they are, and each step has happened once. */
async function finish(stores: TwoStores): Promise<void> {
  const client = { from: stores.from.process("a").client, to: stores.to.process("b").client };
  for (const id of IDS) expect([id, stores.openIn(id).length]).toEqual([id, 1]);
  for (const cluster of [stores.from, stores.to])
    await cluster.process("worker").worker({ workflows: [stores.effects.order] });
  for (const id of IDS) {
    const there = stores.openIn(id)[0] === stores.to ? client.to : client.from;
    await there.get(id).signal(go, "late", { id: "late" });
    await stores.from.when(() => stores.effects.lines.includes(`${id} ship`), "1 hour");
    const { runId } = await there.get(id).describe();
    const [task] = (await there.tasks.list({ runId })).tasks;
    await there.tasks.complete(task?.token as string, "ana");
    expect(await stores.until(there.get(id).result())).toBe(`${id} ${id === "b" ? "early" : "late"} ana`);
  }
  const steps = IDS.flatMap((id) => ["charge", "pack", "ship", "tell"].map((step) => `${id} ${step}`));
  expect([...stores.effects.lines].sort()).toEqual(steps.sort());
}

/** How many calls a move makes that nothing disturbs. */
async function callsOfMove(): Promise<number> {
  const stores = await begun();
  let calls = 0;
  const { source, target } = stores.mover((_method, _params, next) => {
    calls += 1;
    return next();
  });
  expect(await stores.until(source.client.move({ to: target.client }))).toMatchObject({ runs: 3, skippedCount: 0 });
  await finish(stores);
  return calls;
}

describe.each(["before", "after"] as const)("a mover, %s any of its calls,", (side) => {
  test("is killed: whoever repeats the move finishes it", { timeout: 60_000 }, async () => {
    const calls = await callsOfMove();
    expect(calls).toBeGreaterThan(20);
    for (let n = 1; n <= calls; n++) {
      const stores = await begun();
      let made = 0;
      let dead = false;
      const hook: StoreHook = async (_method, _params, next) => {
        made += 1;
        const isIt = made === n;
        const die = (): void => {
          dead = true;
          mover.kill();
        };
        if (isIt && side === "before") die();
        const answer = await next();
        if (isIt) die();
        return answer;
      };
      const mover = stores.mover(hook);
      void mover.source.client.move({ to: mover.target.client }).catch(() => {});
      await stores.from.when(() => dead);
      for (const id of IDS) expect(stores.openIn(id).length).toBeLessThan(2);
      const again = stores.mover();
      await stores.until(again.source.client.move({ to: again.target.client }));
      for (const id of IDS) expect([n, stores.openIn(id)]).toEqual([n, [stores.to]]);
      for (const { store } of [stores.from, stores.to]) expect([n, store.state.departures.size]).toEqual([n, 0]);
      if (n % 5 === 0) await finish(stores);
    }
  });

  test("gets an error instead of the answer: it repeats the call, and nothing happens twice", async () => {
    const stores = await begun();
    const seen = new Set<string>();
    const hook: StoreHook = async (method, params, next) => {
      const key = `${method} ${JSON.stringify(params)?.slice(0, 200)}`;
      if (seen.has(key)) return next();
      seen.add(key);
      if (side === "before") throw unavailable();
      await next();
      throw outcomeUnknown();
    };
    const { source, target } = stores.mover(hook);
    expect(await stores.until(source.client.move({ to: target.client }))).toMatchObject({ runs: 3, skippedCount: 0 });
    await finish(stores);
  });
});

test("two movers at once move each run once", async () => {
  const stores = await begun();
  const [one, two] = [stores.mover(), stores.mover()];
  const moves = [one, two].map(({ source, target }) => source.client.move({ to: target.client }));
  await stores.until(Promise.all(moves));
  for (const id of IDS) expect(stores.openIn(id)).toEqual([stores.to]);
  await finish(stores);
});

test("a run that has arrived, ended and been purged does not come again when its mover is repeated", async () => {
  const stores = await begun();
  const mover = stores.mover(async (method, _params, next) => {
    const answer = await next();
    if (method === "transfers.arrive") mover.kill();
    return answer;
  });
  void mover.source.client.move({ to: mover.target.client, filter: { id: "c" } }).catch(() => {});
  await stores.from.when(() => mover.source.life.dead);
  const { client } = stores.to.process("b");
  await client.get("c").terminate();
  await stores.until(stores.to.wait(10));
  expect(await client.purge({ olderThan: "1ms" })).toBe(1);
  const again = stores.mover();
  await stores.until(again.source.client.move({ to: again.target.client, filter: { id: "c" } }));
  expect(stores.openIn("c")).toEqual([]);
});

test.each([
  ["is under way", false],
  ["has ended and was purged", true],
])("a mover that was stopped before its arrival does not bring a run again that %s", async (_title, ends) => {
  const stores = await begun();
  const valve = new Valve("transfers.arrive", "calls");
  valve.shut();
  const slow = stores.mover(valve.hook);
  const moving = slow.source.client.move({ to: slow.target.client, filter: { id: "c" } });
  await stores.from.when(() => valve.waiting === 1);
  const quick = stores.mover();
  await stores.until(quick.source.client.move({ to: quick.target.client, filter: { id: "c" } }));
  expect(stores.openIn("c")).toEqual([stores.to]);
  if (ends) {
    await quick.target.client.get("c").terminate();
    await stores.until(stores.to.wait(10));
    expect(await quick.target.client.purge({ olderThan: "1ms" })).toBe(1);
  }
  valve.open();
  await stores.until(moving);
  expect(stores.openIn("c")).toEqual(ends ? [] : [stores.to]);
});
