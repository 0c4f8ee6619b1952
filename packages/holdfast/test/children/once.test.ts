import { signal, workflow } from "holdfast";
import type { DeliverMessagesParams } from "holdfast/adapter";
import { describe, expect, test } from "vitest";
import { openFleet } from "../lab/fleet.ts";
import { openWorld } from "../lab/world.ts";

const go = signal("go");

describe("the end of a child", () => {
  test("that is told again after the parent has been retried is not taken for its next end", async () => {
    const world = openWorld();
    let broken = true;
    const work = async (): Promise<string> => {
      if (broken) throw new Error("no");
      await world.later(3_600_000);
      return "done";
    };
    const child = workflow("child", async (ctx) => ctx.step("work", work, { retry: "none" }));
    const main = workflow("main", async (ctx) => ctx.child(child));
    const told: DeliverMessagesParams[] = [];
    const client = world.client({
      hooks: {
        "inbox.deliver": async (params, call) => {
          told.push(params);
          return call();
        },
      },
    });
    await world.worker(client, { workflows: [main, child] });
    const run = await client.start(main);
    await expect(world.result(run)).rejects.toThrow();
    broken = false;
    await run.retry();
    await world.clock.advance("1m");
    // The same message as the first time, from a payer that was cut off for long.
    for (const params of told) await world.store.inbox.deliver(params);
    expect(await world.result(run)).toBe("done");
    expect(world.events(run).filter(({ type }) => type === "child_failed")).toHaveLength(1);
  });

  test("reaches a parent that is replayed from its history each time", async () => {
    const fleet = openFleet();
    const leaf = workflow("leaf", async (ctx, n: number) => {
      await ctx.sleep("a while", { minutes: n });
      return n;
    });
    const main = workflow("main", async (ctx) => {
      const kid = await ctx.startChild(leaf, 30);
      const early = await Promise.all([1, 2, 3].map((n) => ctx.child(leaf, n)));
      return [...early, await kid.result()];
    });
    await fleet.forgetful({ workflows: [main, leaf] });
    expect(await fleet.result(await fleet.client().start(main))).toEqual([1, 2, 3, 30]);
  });

  test("that has been started stays the only one although that turn of the parent is taken back for a signal", async () => {
    const world = openWorld();
    const leaf = workflow("leaf", async (ctx) => ctx.sleep("a while", "1h"));
    const main = workflow("main", async (ctx) => {
      const heard: string[] = [];
      const listening = ctx.receive(go).then(() => heard.push("go"));
      listening.catch(() => {});
      const kid = await ctx.startChild(leaf, undefined, { id: "kid" });
      return [kid.id, ...heard];
    });
    let sent = false;
    const outside = world.client();
    const client = world.client({
      hooks: {
        "runs.commit": async (params, call) => {
          const ends = params.commits.some(({ runId, transition }) => {
            const row = world.store.state.runs.get(runId);
            return transition.type === "end" && row?.workflow === "main";
          });
          if (ends && !sent) {
            sent = true;
            await outside.get("m").signal(go);
          }
          return call();
        },
      },
    });
    await world.worker(client, { workflows: [main, leaf] });
    const run = await client.start(main, undefined, { id: "m" });
    expect(await world.result(run)).toEqual(["kid", "go"]);
    const types = world.events(run).map(({ type }) => type);
    expect(types.slice(0, 2)).toEqual(["signal_received", "child_started"]);
    expect([...world.store.state.runs.values()].filter(({ workflow: name }) => name === "leaf")).toHaveLength(1);
  });

  test("is told to a parent that is held by another process", async () => {
    const fleet = openFleet();
    const leaf = workflow("leaf", async (_ctx, n: number) => n);
    const main = workflow("main", async (ctx) => {
      const held = ctx.step(
        "long",
        () => new Promise((resolve) => void fleet.clock.setTimer(60_000, () => resolve(1))),
      );
      return [await ctx.child(leaf, 7), await held];
    });
    await fleet.worker({ workflows: [main] });
    await fleet.worker({ workflows: [leaf] });
    expect(await fleet.result(await fleet.client().start(main))).toEqual([7, 1]);
  });
});

describe("a run that owes something", () => {
  test("is not purged before it has been paid", async () => {
    const world = openWorld();
    const child = workflow("child", async () => "done");
    const main = workflow("main", async (ctx) => ctx.child(child, undefined, { id: "kid" }));
    let pays = false;
    const busy = { outcome: "busy", runId: null, status: null } as const;
    const client = world.client({
      hooks: {
        "inbox.deliver": async (params, call) =>
          pays ? call() : { outcomes: params.messages.map(() => busy), now: world.clock.now() },
      },
    });
    await world.worker(client, { workflows: [main] });
    await world.worker(client, { workflows: [child] });
    const run = await client.start(main);
    await world.clock.advance("10s");
    const purge = async (): Promise<number> =>
      (await world.store.runs.purge({ namespace: "default", endedBefore: world.clock.now() + 1, limit: 10 })).purged;
    expect(await purge()).toBe(0);
    pays = true;
    expect(await world.result(run)).toBe("done");
    expect(await purge()).toBe(2);
    expect(world.store.state.children.size).toBe(0);
  });
});

describe("the history of a run with children", () => {
  test("can be replayed elsewhere", async () => {
    const { replay } = await import("holdfast/testing");
    const fleet = openFleet();
    const leaf = workflow("leaf", async (_ctx, n: number) => n * 2);
    const main = workflow("main", async (ctx) => {
      const kid = await ctx.startChild(leaf, 1, { id: "kid" });
      await ctx.signal("nobody", go).catch(() => {});
      return [kid.id, await kid.result(), await ctx.child(leaf, 2)];
    });
    await fleet.worker({ workflows: [main, leaf] });
    const run = await fleet.client().start(main);
    const output = await fleet.result(run);
    expect(await replay(main, await run.history())).toEqual({ output });
  });
});
