import { signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { Gate, openWorld, type World } from "../lab/world.ts";

const word = signal<string>("word");

/**
 * A worker to which messages come at the worst moment for a run that continues as new: the step that the run waits for ends
 * while its inbox is being read, so that the message stands in the queue right behind the result.
 */
function untimely(world: World) {
  const step = new Gate();
  let armed = false;
  const client = world.client({
    hooks: {
      "inbox.read": async (_params, call) => {
        const messages = await call();
        if (armed) {
          step.open();
          for (let i = 0; i < 50; i++) await null;
        }
        return messages;
      },
    },
  });
  const arm = (): void => {
    armed = true;
  };
  return { client, step, arm };
}

describe("a run that continues as new", () => {
  test("hands on a signal that came in the moment in which it decided to", async () => {
    const world = openWorld();
    const { client, step, arm } = untimely(world);
    const relay = workflow("relay", async (ctx, leg: number): Promise<string | undefined> => {
      if (leg === 2) return ctx.receive(word, { timeout: "1h" });
      await ctx.step("work", () => step.opened);
      return ctx.continueAsNew(2);
    });
    await world.worker(client, { workflows: [relay] });
    const run = await client.start(relay, 1);
    await world.clock.settle();
    arm();
    await run.signal(word, "hello");
    expect(await world.result(run)).toBe("hello");
    expect(world.row(run)).toMatchObject({ status: "continued", delivered: 1, consumed: 0 });
  });

  test("hands on a cancel that came in the moment in which it decided to", async () => {
    const world = openWorld();
    const { client, step, arm } = untimely(world);
    const relay = workflow("relay", async (ctx, leg: number): Promise<string> => {
      if (leg === 1) {
        await ctx.step("work", () => step.opened);
        ctx.continueAsNew(2);
      }
      await ctx.sleep("nap", "1h");
      return "not canceled";
    });
    await world.worker(client, { workflows: [relay] });
    const run = await client.start(relay, 1);
    await world.clock.settle();
    arm();
    await run.cancel("enough");
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_canceled", data: { reason: "enough" } });
    expect(world.row(run).status).toBe("continued");
  });

  test("hands on attributes that it set long before, and that are in the store already", async () => {
    const world = openWorld();
    const client = world.client();
    const relay = workflow("relay", async (ctx, leg: number): Promise<string> => {
      if (leg === 2) return "done";
      ctx.set({ tenant: "acme" });
      await ctx.step("first", () => 1);
      await ctx.step("second", () => 2);
      return ctx.continueAsNew(2);
    });
    await world.worker(client, { workflows: [relay] });
    const run = await client.start(relay, 1, { id: "r", attributes: { plan: "free" } });
    expect(await world.result(run)).toBe("done");
    const { runs } = await client.list({ id: "r" });
    const attributes = { plan: "free", tenant: "acme" };
    expect(runs).toMatchObject([
      { status: "completed", attributes },
      { status: "continued", attributes },
    ]);
  });
});

describe("a signal that is sent twice at once with the same id", () => {
  test("is one signal, and never goes to the store twice in one call", async () => {
    const world = openWorld();
    const calls: string[][] = [];
    const client = world.client({
      hooks: {
        "inbox.deliver": (params, call) => {
          calls.push(params.messages.map(({ messageId }) => messageId));
          return call();
        },
      },
    });
    const listen = workflow("listen", async (ctx) => [
      await ctx.receive(word),
      await ctx.receive(word, { timeout: "1h" }),
      await ctx.receive(word, { timeout: "1h" }),
    ]);
    await world.worker(client, { workflows: [listen] });
    const run = await client.start(listen);
    await Promise.all([
      run.signal(word, "x", { id: "x" }),
      run.signal(word, "y", { id: "y" }),
      run.signal(word, "x", { id: "x" }),
    ]);
    expect(calls).toEqual([["\tword\tx", "\tword\ty"], ["\tword\tx"]]);
    expect(await world.result(run)).toEqual(["x", "y", undefined]);
  });
});
