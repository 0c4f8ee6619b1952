import { describe, expect, test } from "vitest";
import { signal, workflow } from "../../src/define/definitions.ts";
import { deliverMessages } from "../../src/memory/inbox.ts";
import type { MessageKind } from "../../src/model/message.ts";
import { Cluster, faultsInStore, outcomeUnknown, unavailable, Valve } from "../lab/harness.ts";

const item = signal<number>("item");
const other = signal<string>("other");

/** Takes two items per run of the chain, until it has `want` of them. Signals of the other name are left until the end. */
const collect = workflow("collect", async (ctx, state: { have: number[]; want: number }): Promise<unknown> => {
  const have = [...state.have, await ctx.receive(item)];
  await ctx.step("note", () => have.length);
  if (have.length < state.want) have.push(await ctx.receive(item));
  if (have.length < state.want) ctx.continueAsNew({ ...state, have });
  return { have, left: await ctx.receive(other) };
});

function send(cluster: Cluster, kind: MessageKind, name: string, value: unknown): void {
  const { state } = cluster.store;
  const payload = Buffer.from(JSON.stringify(value));
  const message = { to: { namespace: "default", id: "c" }, kind, name, messageId: `${name} ${value}`, payload };
  deliverMessages(state, { messages: [message], inboxMax: 100 }, cluster.clock.now());
  cluster.hints.publish(state.hints.splice(0));
}

describe("a run that continues as new", () => {
  test.each([0, 100])("hands on every signal once and in order, whenever they come (cache: %i)", async (cacheSize) => {
    for (let gap = 1; gap <= 6; gap++) {
      const cluster = new Cluster();
      const process = cluster.process("p");
      await process.worker({ workflows: [collect], cacheSize });
      const run = await cluster.until(process.client.start(collect, { have: [], want: 9 }, { id: "c" }));
      // One signal each time that so many moments have passed: before, between and after all that the engine does.
      let moments = 0;
      let sent = 0;
      cluster.store.fault = () => {
        moments += 1;
        if (moments % gap !== 0 || sent >= 9) return undefined;
        sent += 1;
        if (sent === 4) send(cluster, "signal", "other", "kept");
        send(cluster, "signal", "item", sent);
        return undefined;
      };
      const result = run.result();
      await cluster.clock.advance("1s");
      // What the engine's own moments were too few for.
      while (sent < 9) {
        sent += 1;
        if (sent === 4) send(cluster, "signal", "other", "kept");
        send(cluster, "signal", "item", sent);
        await cluster.clock.advance("1s");
      }
      expect(await cluster.until(result)).toEqual({ have: [1, 2, 3, 4, 5, 6, 7, 8, 9], left: "kept" });
      expect(faultsInStore(cluster.store)).toEqual([]);
      expect(cluster.repeated()).toEqual([]);
      expect(cluster.store.state.byId.get("default\nc")).toHaveLength(5);
    }
  });

  test.each(["calls", "answers"] as const)("hands on what comes while it does so (%s held back)", async (side) => {
    const cluster = new Cluster();
    const commits = new Valve("runs.commit", side);
    const process = cluster.process("p", commits.hook);
    await process.worker({ workflows: [collect] });
    const run = await cluster.until(process.client.start(collect, { have: [], want: 5 }, { id: "c" }));
    await cluster.until(run.signal(item, 1));
    await cluster.clock.settle();
    commits.shut();
    await cluster.until(run.signal(item, 2));
    await cluster.when(() => commits.waiting > 0);
    for (const n of [3, 4, 5]) {
      await cluster.until(run.signal(item, n));
      await cluster.clock.advance("1s");
    }
    await cluster.until(run.signal(other, "kept"));
    commits.open();
    expect(await cluster.until(run.result())).toEqual({ have: [1, 2, 3, 4, 5], left: "kept" });
    expect(faultsInStore(cluster.store)).toEqual([]);
  });

  test.each(["before", "after"] as const)("continues once when the commit fails %s it took effect", async (at) => {
    const cluster = new Cluster();
    const process = cluster.process("p");
    await process.worker({ workflows: [collect] });
    let failures = 0;
    cluster.store.fault = (moment, method) => {
      if (method !== "runs.commit" || moment !== at || failures++ % 2 === 1) return undefined;
      return at === "before" ? unavailable() : outcomeUnknown();
    };
    const run = await cluster.until(process.client.start(collect, { have: [], want: 6 }, { id: "c" }));
    for (const n of [1, 2, 3, 4, 5, 6]) await cluster.until(run.signal(item, n));
    await cluster.until(run.signal(other, "kept"));
    expect(await cluster.until(run.result())).toEqual({ have: [1, 2, 3, 4, 5, 6], left: "kept" });
    expect(cluster.store.state.byId.get("default\nc")).toHaveLength(3);
    expect(cluster.repeated()).toEqual([]);
  });

  test("and whose worker dies at any commit, loses and doubles nothing", async () => {
    for (let commit = 1; commit <= 8; commit++) {
      for (const moment of ["before", "after"] as const) {
        const cluster = new Cluster();
        const doomed = cluster.process("doomed");
        const heir = cluster.process("heir");
        await doomed.worker({ workflows: [collect] });
        let commits = 0;
        cluster.store.fault = (at, method) => {
          if (method !== "runs.commit" || at !== moment) return undefined;
          commits += 1;
          if (commits === commit) doomed.kill();
          return commits === commit && at === "before" ? unavailable() : undefined;
        };
        await cluster.until(heir.client.start(collect, { have: [], want: 5 }, { id: "c" }));
        for (const n of [1, 2, 3, 4, 5]) await cluster.until(heir.client.get("c").signal(item, n));
        await cluster.until(heir.client.get("c").signal(other, "kept"));
        await cluster.clock.advance("1s");
        await heir.worker({ workflows: [collect] });
        const result = await cluster.until(heir.client.get("c").result());
        expect([commit, moment, result]).toEqual([commit, moment, { have: [1, 2, 3, 4, 5], left: "kept" }]);
        expect(faultsInStore(cluster.store)).toEqual([]);
      }
    }
  });

  test("takes a cancel along that comes while it continues", async () => {
    const endless = workflow("endless", async (ctx, n: number): Promise<never> => {
      await ctx.step("work", () => n);
      return ctx.continueAsNew(n + 1);
    });
    for (let moment = 1; moment <= 12; moment++) {
      const cluster = new Cluster();
      const process = cluster.process("p");
      await process.worker({ workflows: [endless] });
      let moments = 0;
      cluster.store.fault = (_at, method) => {
        if (method !== "runs.start" && ++moments === moment) send(cluster, "cancel", "", "stop");
        // It never rests: without the cancel the test would not end.
        return undefined;
      };
      const run = await cluster.until(process.client.start(endless, 0, { id: "c" }));
      await expect(cluster.until(run.result())).rejects.toMatchObject({ code: "run_canceled" });
      expect((cluster.store.state.byId.get("default\nc") ?? []).length).toBeLessThanOrEqual(moment + 1);
    }
  });

  test("goes on at once, also when every hint is lost", async () => {
    const cluster = new Cluster();
    cluster.hints.loses = () => true;
    const count = workflow("count", async (ctx, n: number): Promise<number> => {
      await ctx.step("s", () => n);
      return n < 20 ? ctx.continueAsNew(n + 1) : n;
    });
    const process = cluster.process("p");
    await process.worker({ workflows: [count] });
    const run = await cluster.until(process.client.start(count, 1, { id: "n" }));
    await cluster.when(() => cluster.runOf("n").status === "completed");
    expect(cluster.clock.monotonic()).toBeLessThanOrEqual(100);
    expect(await cluster.until(run.result())).toBe(20);
  });

  test("keeps the attributes that it has set, whenever they were written", async () => {
    const cluster = new Cluster();
    const marked = workflow("marked", async (ctx, n: number): Promise<string> => {
      ctx.set({ [`early${n}`]: n });
      await ctx.step("a", () => n);
      ctx.set({ [`late${n}`]: n });
      await ctx.step("b", () => n);
      return n < 3 ? ctx.continueAsNew(n + 1) : "done";
    });
    const process = cluster.process("p");
    await process.worker({ workflows: [marked] });
    const run = await cluster.until(process.client.start(marked, 1, { id: "m", attributes: { mine: true } }));
    expect(await cluster.until(run.result())).toBe("done");
    const expected = { mine: true, early1: 1, late1: 1, early2: 2, late2: 2, early3: 3, late3: 3 };
    expect(cluster.runOf("m").attributes).toEqual(expected);
  });
});
