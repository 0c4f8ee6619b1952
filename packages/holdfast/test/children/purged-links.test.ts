import { type Context, query, type RunHandle, signal, update, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { type Fleet, openFleet } from "../lab/fleet.ts";

const go = signal<string>("go");
const step = signal("step");
const add = update<number, number>("add");
const generation = query<number>("generation");

const kid = workflow("kid", async (ctx, links: number): Promise<string> => {
  ctx.on(add, (n) => n + links);
  ctx.on(generation, () => links);
  if (links < 3) return ctx.continueAsNew(links + 1);
  return `end ${links} ${await ctx.receive(go)}`;
});

type Act = (ctx: Context, child: Awaited<ReturnType<typeof startKid>>) => Promise<unknown>;

function startKid(ctx: Context) {
  return ctx.startChild(kid, 0, { id: "kid" });
}

function parentThat(act: Act) {
  return workflow("parent", async (ctx) => {
    const child = await startKid(ctx);
    await ctx.receive(step);
    return act(ctx, child);
  });
}

async function purge(fleet: Fleet): Promise<void> {
  await fleet.clock.advance("1m");
  expect(await fleet.client().purge({ olderThan: "1s", statuses: ["continued"] })).toBe(3);
}

describe("the handle of a child whose earlier runs were purged", () => {
  const acts: Record<string, { act: Act; result: unknown; kid: string }> = {
    signal: {
      act: async (_ctx, child) => [await child.signal(go, "x"), await child.result()],
      result: [undefined, "end 3 x"],
      kid: "completed",
    },
    update: { act: (_ctx, child) => child.update(add, 10), result: 13, kid: "canceled" },
    cancel: {
      act: async (_ctx, child) => [
        await child.cancel("enough"),
        await child.result().catch((error: { code: string }) => error.code),
      ],
      result: [undefined, "run_canceled"],
      kid: "canceled",
    },
    resultOf: {
      act: (ctx, child) => {
        const result = ctx.resultOf(kid, child);
        return ctx.signal(child, go, "y").then(() => result);
      },
      result: "end 3 y",
      kid: "completed",
    },
  };

  for (const [name, { act, result, kid: end }] of Object.entries(acts))
    test(`still reaches the child: ${name}`, async () => {
      const fleet = openFleet();
      await fleet.worker({ workflows: [kid, parentThat(act)] });
      const run = await fleet.client().start(parentThat(act));
      await purge(fleet);
      await run.signal(step);
      expect(await fleet.result(run)).toEqual(result);
      expect(await fleet.client().get("kid").status()).toBe(end);
    });

  test("lets why say what the child waits for", async () => {
    const fleet = openFleet();
    const parent = workflow("parent", async (ctx) => ctx.child(kid, 0, { id: "kid" }));
    await fleet.worker({ workflows: [kid, parent] });
    await fleet.client().start(parent, undefined, { id: "p" });
    await purge(fleet);
    expect((await fleet.client().why("p")).reason).toContain('"go"');
  });
});

describe("a handle from outside", () => {
  async function started(): Promise<{ fleet: Fleet; run: RunHandle<string> }> {
    const fleet = openFleet();
    await fleet.worker({ workflows: [kid] });
    const run = await fleet.client().start(kid, 0, { id: "kid" });
    await purge(fleet);
    return { fleet, run: run as RunHandle<string> };
  }

  test("still reaches the run that the purged ones continued as", async () => {
    const { fleet, run } = await started();
    expect(await run.update(add, 10)).toBe(13);
    expect(await run.query(generation)).toBe(3);
    expect((await run.describe()).id).toBe("kid");
    await run.signal(go, "z");
    expect(await fleet.result(run)).toBe("end 3 z");
  });

  test("that waited for the result before the purge gets it", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [kid] });
    const client = fleet.client();
    const run = await client.start(kid, 0, { id: "kid" });
    const result = run.result();
    await purge(fleet);
    await client.get("kid").signal(go, "w");
    await fleet.clock.advance("1m");
    expect(await result).toBe("end 3 w");
  });

  test("ends the run that the purged ones continued as", async () => {
    const { fleet, run } = await started();
    await run.terminate("over");
    expect(await fleet.client().get("kid").status()).toBe("terminated");
  });
});
