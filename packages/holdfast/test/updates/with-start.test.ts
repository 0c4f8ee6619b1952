import { describe, expect, test } from "vitest";
import { signal, update, workflow } from "../../src/index.ts";
import { testEngine } from "../../src/testing/index.ts";
import { Cluster, faultsInStore, outcomeUnknown } from "../lab/harness.ts";

const item = signal<string>("item");
const add = update<string, number>("add");
const close = update("close");

const cart = workflow("cart", async (ctx, owner: string) => {
  const items: string[] = [];
  let open = true;
  ctx.on(add, {
    validate: (name) => {
      if (name === "") throw new Error("no name");
    },
    handle: (name) => items.push(name),
  });
  ctx.on(close, () => {
    open = false;
  });
  void (async () => {
    for (;;) items.push(await ctx.receive(item));
  })();
  await ctx.until(() => !open);
  return { owner, items };
});

describe("signalWithStart", () => {
  test("starts a run with its signal, and sends the next one to the same run", async () => {
    const t = await testEngine({ workflows: [cart], onForgotten: "warn" });
    const first = await t.client.signalWithStart(cart, "ann", item, "a", { id: "c" });
    const second = await t.client.signalWithStart(cart, "bob", item, "b", { id: "c" });
    expect([first.created, second.created, second.runId === first.runId]).toEqual([true, false, true]);
    await first.update(close);
    expect(await first.result()).toEqual({ owner: "ann", items: ["a", "b"] });
    const third = await t.client.signalWithStart(cart, "cid", item, "c", { id: "c" });
    expect([third.created, third.runId === first.runId]).toEqual([true, false]);
    await third.update(close);
    expect(await third.result()).toEqual({ owner: "cid", items: ["c"] });
    await t.close();
  });

  test("with a known signal id sends nothing twice, and starts nothing", async () => {
    const t = await testEngine({ workflows: [cart], onForgotten: "warn" });
    const options = { id: "c", signalId: "s1" };
    const first = await t.client.signalWithStart(cart, "ann", item, "a", options);
    await t.client.signalWithStart(cart, "ann", item, "a", options);
    await first.update(close);
    expect(await first.result()).toEqual({ owner: "ann", items: ["a"] });
    expect((await t.client.signalWithStart(cart, "ann", item, "a", options)).created).toBe(false);
    expect(await t.client.count()).toBe(1);
    await t.close();
  });

  test("obeys ifRunning and ifClosed, and needs an id", async () => {
    const t = await testEngine({ workflows: [cart], onForgotten: "warn" });
    const run = await t.client.signalWithStart(cart, "ann", item, "a", { id: "c" });
    await expect(
      t.client.signalWithStart(cart, "ann", item, "b", { id: "c", ifRunning: "fail" }),
    ).rejects.toMatchObject({ code: "run_already_exists" });
    await run.update(close);
    expect(await run.result()).toEqual({ owner: "ann", items: ["a"] });
    await expect(
      t.client.signalWithStart(cart, "ann", item, "b", { id: "c", ifClosed: "return" }),
    ).rejects.toMatchObject({ code: "run_closed" });
    await expect(t.client.signalWithStart(cart, "ann", item, "b", {} as never)).rejects.toMatchObject({
      code: "invalid_option",
    });
    await t.close();
  });
});

describe("updateWithStart", () => {
  test("starts a run and answers, and then reaches the open run", async () => {
    const t = await testEngine({ workflows: [cart], onForgotten: "warn" });
    const first = await t.client.updateWithStart(cart, "ann", add, "a", { id: "c" });
    const second = await t.client.updateWithStart(cart, "ann", add, "b", { id: "c" });
    expect([first.result, second.result]).toEqual([1, 2]);
    expect([first.run.created, second.run.created]).toEqual([true, false]);
    await expect(t.client.updateWithStart(cart, "ann", add, "", { id: "c" })).rejects.toMatchObject({
      code: "update_rejected",
    });
    await first.run.update(close);
    expect(await first.run.result()).toEqual({ owner: "ann", items: ["a", "b"] });
    await t.close();
  });

  test("with a known update id gets the first answer, also after the end, and starts nothing", async () => {
    const t = await testEngine({ workflows: [cart], onForgotten: "warn" });
    const options = { id: "c", updateId: "u" };
    const { run } = await t.client.updateWithStart(cart, "ann", add, "a", options);
    await run.update(add, "b");
    expect((await t.client.updateWithStart(cart, "ann", add, "a", options)).result).toBe(1);
    await run.update(close);
    await run.result();
    expect((await t.client.updateWithStart(cart, "ann", add, "a", options)).result).toBe(1);
    expect(await t.client.count()).toBe(1);
    await t.close();
  });

  const join = update<string, number>("join");
  const room = workflow("room", async (ctx, seats: number) => {
    const guests: string[] = [];
    ctx.on(join, (name) => guests.push(name));
    await ctx.until(() => guests.length >= seats);
    return guests;
  });

  test.each(["here", "elsewhere"])(
    "reaches the next run if the open one ends first, with the worker %s",
    async (where) => {
      const cluster = new Cluster();
      const { client } = cluster.process("callers");
      const names = Array.from({ length: 20 }, (_, i) => `guest ${i}`);
      const enter = (name: string) => client.updateWithStart(room, 2, join, name, { id: "room", updateId: name });
      // Before there is a worker, all of them are in the inbox of one run.
      const entering = Promise.all(names.map(enter));
      await cluster.process(where === "here" ? "callers" : "other").worker({ workflows: [room] });
      const first = await cluster.until(entering);
      expect(first.map(({ result }) => result).sort()).toEqual(names.map((_, i) => (i % 2) + 1).sort());
      const { runs } = await client.list({ workflow: "room" });
      expect(runs.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => "completed"));
      const rooms = new Set(first.map(({ run, result }) => `${run.runId} ${result}`));
      expect(rooms.size).toBe(20);
    },
  );

  test("starts one run and no more if the workflow ends without looking at it", async () => {
    const brief = workflow("brief", async () => "done");
    const t = await testEngine({ workflows: [brief] });
    const enter = t.client.updateWithStart(brief, undefined, join, "ann", { id: "b", updateId: "u" });
    await expect(enter).rejects.toMatchObject({ code: expect.stringMatching(/^(run_closed|handler_not_found)$/) });
    expect(await t.client.count()).toBe(1);
    await t.close();
  });

  test("of a run that is being wound up is refused, and starts another when that has ended", async () => {
    const slow = workflow("slow", async (ctx) => {
      ctx.on(join, () => 1);
      try {
        await ctx.receive(item);
      } finally {
        await ctx.uncancelable((c) => c.sleep("clean up", "1h"));
      }
    });
    const t = await testEngine({ workflows: [slow] });
    const run = await t.client.start(slow, undefined, { id: "s" });
    await t.clock.advance("1s");
    await run.cancel();
    const enter = () => t.client.updateWithStart(slow, undefined, join, "ann", { id: "s", updateId: "u" });
    await expect(enter()).rejects.toMatchObject({ code: "run_closed" });
    await t.clock.advance("2h");
    expect(await run.status()).toBe("canceled");
    const next = await enter();
    expect([next.result, next.run.created]).toEqual([1, true]);
    await t.close();
  });

  test.each(["before", "after"] as const)(
    "starts one run and adds one item when the worker dies %s any call",
    async (moment) => {
      let deaths = 0;
      for (let at = 1; at <= 8; at++) {
        const cluster = new Cluster();
        let n = 0;
        let armed = false;
        const dying = cluster.process("dying", async (method, _params, next) => {
          if (!armed || method.startsWith("workers.")) return next();
          n += 1;
          if (n === at && moment === "before") dying.kill();
          const answer = next();
          await answer.catch(() => {});
          if (n === at && moment === "after") dying.kill();
          return answer;
        });
        await dying.worker({ workflows: [cart] });
        armed = true;
        await cluster.process("heir").worker({ workflows: [cart] });
        const { client } = cluster.process("caller");
        const options = { id: "c", updateId: "u" };
        const [one, two] = await cluster.until(
          Promise.all([
            client.updateWithStart(cart, "ann", add, "a", options),
            cluster.process("other").client.updateWithStart(cart, "ann", add, "a", options),
          ]),
        );
        expect([at, one.result, two.result, one.run.runId === two.run.runId]).toEqual([at, 1, 1, true]);
        expect(faultsInStore(cluster.store)).toEqual([]);
        if (dying.life.dead) deaths += 1;
      }
      expect(deaths).toBeGreaterThan(1);
    },
  );

  test("starts one run although the answers to runs.start are lost, next to its worker or not", async () => {
    for (const together of [true, false]) {
      const cluster = new Cluster();
      let lost = 0;
      const losing = cluster.process("p", async (method, _params, next) => {
        const answer = await next();
        if (method === "runs.start" && ++lost <= 2) throw outcomeUnknown();
        return answer;
      });
      await (together ? losing : cluster.process("w")).worker({ workflows: [cart] });
      const { result, run } = await cluster.until(losing.client.updateWithStart(cart, "ann", add, "a", { id: "c" }));
      expect(result).toBe(1);
      await cluster.until(run.update(close));
      expect(await cluster.until(run.result())).toEqual({ owner: "ann", items: ["a"] });
      expect(cluster.store.state.runs.size).toBe(1);
      expect(faultsInStore(cluster.store)).toEqual([]);
    }
  });
});
