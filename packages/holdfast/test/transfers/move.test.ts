/** Open runs move from one store to another: each goes on there, exactly once. */
import { type RunHandle, update, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { go, person, TwoStores } from "./two-stores.ts";

async function begun(stores: TwoStores, ...ids: readonly string[]) {
  const server = stores.from.process("server");
  const worker = await server.worker({ workflows: [stores.effects.order] });
  for (const id of ids) await server.client.start(stores.effects.order, `item of ${id}`, { id });
  await stores.from.clock.settle();
  return { server, worker };
}

/** A person does what there is to do, with the token from before. */
async function finishTask(stores: TwoStores, token: string): Promise<void> {
  const { client } = stores.to.process("person");
  await client.tasks.complete(token, "ana");
}

describe("a run that has moved", () => {
  test("sleeps, receives and ends in the other store, and nothing is done twice", async () => {
    const stores = new TwoStores();
    await begun(stores, "a");
    const { source, target } = stores.mover();
    expect(await stores.until(source.client.move({ to: target.client, by: "ana", reason: "growth" }))).toEqual({
      ...{ runs: 1, skipped: [], skippedCount: 0, skippedCodes: {} },
    });
    expect(stores.openIn("a")).toEqual([stores.to]);
    await stores.to.process("other").worker({ workflows: [stores.effects.order] });
    await stores.from.when(() => stores.effects.lines.includes("a pack"), "1 hour");
    await target.client.get("a").signal(go, "now");
    await stores.to.when(() => stores.effects.lines.includes("a ship"));
    const [task] = (await target.client.tasks.list({ status: "external" })).tasks;
    await finishTask(stores, task?.token as string);
    expect(await stores.until(target.client.get("a").result())).toBe("item of a now ana");
    expect(stores.effects.lines).toEqual(["a charge", "a pack", "a ship", "a tell"]);
    const history = (await source.client.get("a").history()).at(-1);
    expect(history).toMatchObject({ type: "run_moved", by: "ana", reason: "growth" });
  });

  test("is refused where it was, and says where it is", async () => {
    const stores = new TwoStores();
    const { server } = await begun(stores, "a");
    const { source, target } = stores.mover();
    const result = server.client.get("a").result();
    await stores.until(source.client.move({ to: target.client }));
    const moved = { code: "run_moved", data: { id: "a", to: "another store" } };
    await expect(stores.until(result)).rejects.toMatchObject(moved);
    const handle = server.client.get("a");
    await expect(handle.signal(go, "now")).rejects.toMatchObject(moved);
    for (const call of ["pause", "resume", "cancel", "terminate", "retry"] as const)
      await expect(handle[call]()).rejects.toMatchObject(moved);
    await expect(handle.fork({ before: "pack" })).rejects.toMatchObject(moved);
    for (const ifClosed of ["return", "start", "fail"] as const)
      await expect(server.client.start(stores.effects.order, "x", { id: "a", ifClosed })).rejects.toMatchObject(moved);
    await expect(
      server.client.startMany([{ workflow: stores.effects.order, input: "x", options: { id: "a" } }]),
    ).rejects.toMatchObject({
      ...{ code: "start_many_incomplete", data: { outcomes: [{ outcome: "refused", id: "a", code: "run_moved" }] } },
    });
    expect(await handle.status()).toBe("moved");
    expect((await server.client.list({ status: "moved" })).runs).toMatchObject([{ id: "a" }]);
    expect(await server.client.why("a")).toMatchObject({ reason: expect.stringMatching(/moved to another store/) });
    expect((await server.client.why("a")).reason).not.toMatch(/repeat/);
  });

  test("takes its unread messages and the tokens of its tasks along", async () => {
    const stores = new TwoStores();
    const { server, worker } = await begun(stores, "a");
    await server.client.get("a").signal(go, "early", { id: "s" });
    await stores.from.when(() => stores.effects.lines.includes("a ship"), "1 hour");
    const [task] = (await server.client.tasks.list({ status: "external" })).tasks;
    await worker.stop();
    const { source, target } = stores.mover();
    await stores.until(source.client.move({ to: target.client }));
    await expect(server.client.tasks.complete(task?.token as string, "eve")).rejects.toMatchObject({
      code: "run_moved",
    });
    await finishTask(stores, task?.token as string);
    await target.client.get("a").signal(go, "again", { id: "s" });
    await stores.to.process("other").worker({ workflows: [stores.effects.order] });
    expect(await stores.until(target.client.get("a").result())).toBe("item of a early ana");
    expect(person.name).toBe("person");
    expect(stores.effects.repeated()).toEqual([]);
  });

  test("answers an update in the other store that it was sent here", async () => {
    const stores = new TwoStores();
    const rename = update<string, string>("rename");
    const named = workflow("named", async (ctx) => {
      ctx.on(rename, async (name) => {
        await ctx.sleep("think", "1 hour");
        return `now ${name}`;
      });
      return ctx.receive(go);
    });
    const server = stores.from.process("server");
    await server.worker({ workflows: [named] });
    await server.client.start(named, undefined, { id: "a" });
    const asked = server.client.get("a").update(rename, "Ada", { id: "u" });
    asked.catch(() => {});
    await stores.from.clock.settle();
    const { source, target } = stores.mover();
    await stores.until(source.client.move({ to: target.client }));
    await expect(stores.until(asked)).rejects.toMatchObject({ code: "run_moved" });
    await stores.to.process("other").worker({ workflows: [named] });
    expect(await stores.until(target.client.get("a").update(rename, "Ada", { id: "u" }))).toBe("now Ada");
  });

  test("may come back, and go again", async () => {
    const stores = new TwoStores();
    await begun(stores, "a");
    const { source, target } = stores.mover();
    await stores.until(source.client.move({ to: target.client }));
    await stores.until(target.client.move({ to: source.client }));
    expect(stores.openIn("a")).toEqual([stores.from]);
    await stores.until(source.client.move({ to: target.client }));
    expect(stores.openIn("a")).toEqual([stores.to]);
    expect(await target.client.get("a").history()).toHaveLength(3);
    for (const { store } of [stores.from, stores.to]) expect(store.state.departures.size).toBe(0);
  });
});

describe("a move", () => {
  test("waits for runs that a worker holds", async () => {
    const stores = new TwoStores();
    const server = stores.from.process("server");
    let open: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    const slow = workflow("slow", async (ctx) => {
      await ctx.step("long", () => gate);
      await ctx.sleep("nap", "1 hour");
      return "done";
    });
    await server.worker({ workflows: [slow] });
    await server.client.start(slow, undefined, { id: "a" });
    await stores.from.clock.settle();
    const { source, target } = stores.mover();
    const moving = source.client.move({ to: target.client });
    await stores.from.clock.settle();
    expect(stores.openIn("a")).toEqual([stores.from]);
    open();
    expect(await stores.until(moving)).toMatchObject({ runs: 1 });
    expect(stores.openIn("a")).toEqual([stores.to]);
  });

  test("leaves families, and whoever has to do with a lock, where they are, and says why", async () => {
    const stores = new TwoStores();
    const server = stores.from.process("server");
    const child = workflow("child", async (ctx) => void (await ctx.receive(go)));
    const parent = workflow("parent", async (ctx) => void (await ctx.child(child, undefined, { id: "child" })));
    const locked = workflow("locked", async (ctx) => ctx.withLock("l", async () => void (await ctx.receive(go))));
    const watching = workflow("watching", async (ctx) => void (await ctx.resultOf("alone")));
    const alone = workflow("alone", async (ctx) => void (await ctx.receive(go)));
    await server.worker({ workflows: [child, parent, locked, watching, alone] });
    for (const one of [parent, locked, alone, watching]) await server.client.start(one, undefined, { id: one.name });
    await server.client.start(alone, undefined, { id: "free" });
    await stores.from.clock.settle();
    const { source, target } = stores.mover();
    const { runs, skipped, skippedCodes } = await stores.until(source.client.move({ to: target.client }));
    const codes = { tied_children: 1, tied_parent: 1, tied_locks: 1, tied_watches: 1, tied_watched: 1 };
    expect(skippedCodes).toEqual(codes);
    expect(Object.fromEntries(skipped.map(({ id, code }) => [id, code]))).toEqual({
      ...{ parent: "tied_children", child: "tied_parent", locked: "tied_locks" },
      ...{ watching: "tied_watches", alone: "tied_watched" },
    });
    expect(runs).toBe(1);
    expect(stores.openIn("free")).toEqual([stores.to]);
    for (const id of ["child", "locked", "alone"]) await server.client.get(id).signal(go, "x");
    for (const id of ["parent", "locked", "watching"]) await stores.until(server.client.get(id).result());
  });

  test("leaves a run whose id is taken in the other store", async () => {
    const stores = new TwoStores();
    await begun(stores, "a", "b");
    const { source, target } = stores.mover();
    await target.client.start(stores.effects.order, "theirs", { id: "a" });
    const { runs, skipped } = await stores.until(source.client.move({ to: target.client }));
    expect([runs, skipped.map(({ id, code }) => [id, code])]).toEqual([1, [["a", "id_taken"]]]);
    expect(stores.openIn("a")).toEqual([stores.from, stores.to]);
  });

  test("takes a run back if its id was taken while it was on its way", async () => {
    const stores = new TwoStores();
    await begun(stores, "a");
    const other = stores.to.process("other").client;
    const { source, target } = stores.mover(async (method, _params, next) => {
      if (method === "transfers.arrive" && stores.openIn("a").length === 0)
        await other.start(stores.effects.order, "theirs", { id: "a" });
      return next();
    });
    const { runs, skipped } = await stores.until(source.client.move({ to: target.client }));
    expect([runs, skipped.map(({ id, code }) => [id, code])]).toEqual([0, [["a", "id_taken"]]]);
    expect(stores.openIn("a")).toEqual([stores.from, stores.to]);
    await source.client.get("a").signal(go, "still here");
    await stores.from.when(() => stores.effects.lines.includes("a ship"), "1 hour");
    expect(stores.effects.repeated()).toEqual([]);
  });

  test("refuses its own store, and what is no store", async () => {
    const stores = new TwoStores();
    const one = stores.from.process();
    for (const to of [one.client, 7, {}, null]) {
      const given = to as never;
      await expect(one.client.move({ to: given })).rejects.toMatchObject({ code: "invalid_option" });
    }
  });
});

for (const [name, ask] of [
  ["cancel", (run: RunHandle) => run.cancel()],
  ["terminate", (run: RunHandle) => run.terminate()],
] as const)
  test(`a ${name} of a run that was away, and is back before that is read, reaches it`, async () => {
    const stores = new TwoStores();
    const { client } = stores.from.process("server");
    await client.start(stores.effects.order, "a", { id: "a" });
    const { source, target } = stores.mover();
    await stores.until(source.client.move({ to: target.client }));
    let answers = 0;
    const asking = stores.from.process("caller", async (method, _params, next) => {
      if (method === "runs.read" && answers++ === 0) await target.client.move({ to: source.client });
      return next();
    });
    await stores.until(ask(asking.client.get("a")));
    expect(answers).toBeGreaterThan(0);
    const [row] = [...stores.from.store.state.runs.values()].filter(({ endedAt }) => endedAt === null);
    const isAsked = row && stores.from.store.state.inbox.get(row.runId)?.some(({ kind }) => kind === "cancel");
    expect(name === "cancel" ? isAsked : row).toBe(name === "cancel" ? true : undefined);
  });
