import { jsonCodec, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { openEngine, openFleet } from "../lab/fleet.ts";

const named = workflow({ name: "named", version: "7", queue: "slow" }, async (ctx) => {
  const greeting = await ctx.step(`greet-${ctx.info.id}`, () => `hello ${ctx.info.id}`);
  await ctx.step(`note-${ctx.info.runId}-${ctx.info.version}-${ctx.info.namespace}-${ctx.info.queue}`, () => {});
  const { runId, id, workflow: of, version, namespace, queue } = ctx.info;
  return { greeting, runId, id, of, version, namespace, queue };
});

describe("replay of a history", () => {
  test("knows the run by its own id, run id, version, namespace and queue, also after a trip through JSON", async () => {
    const fleet = openFleet();
    await fleet.worker({ workflows: [named] }, { namespace: "shop" });
    const run = await fleet.client({ namespace: "shop" }).start(named, undefined, { id: "order-1" });
    const output = await fleet.result(run);
    expect(output).toMatchObject({ id: "order-1", runId: run.runId, version: "7", namespace: "shop", queue: "slow" });
    const history = await run.history();
    expect(await replay(named, history)).toEqual({ output });
    expect(await replay(named, JSON.parse(JSON.stringify(history)))).toEqual({ output });
    const saved = jsonCodec.decode(jsonCodec.encode(history, "history")) as typeof history;
    expect(await replay(named, saved)).toEqual({ output });
  });

  test("under another version of the code keeps what the run was started as", async () => {
    const t = await openEngine(named);
    const run = await t.client.start(named, undefined, { id: "order-1" });
    const output = await run.result();
    const next = workflow({ name: "named", version: "8", queue: "fast" }, named.fn);
    expect(await replay(next, await run.history())).toEqual({ output });
  });

  test("gives each run of a chain its own run id", async () => {
    const chain = workflow("chain", async (ctx, round: number): Promise<string> => {
      await ctx.step(`of-${ctx.info.runId}`, () => round);
      return round === 2 ? ctx.info.id : ctx.continueAsNew(2);
    });
    const t = await openEngine(chain);
    const run = await t.client.start(chain, 1, { id: "c" });
    expect(await run.result()).toBe("c");
    expect(await replay(chain, await run.history())).toEqual({ pending: [] });
    expect(await replay(chain, await t.client.get("c").history())).toEqual({ output: "c" });
  });

  test("that was saved without these takes the run id from its seed", async () => {
    const t = await openEngine(named);
    const run = await t.client.start(named);
    const { id, runId } = await run.result();
    expect(id).toBe(runId);
    const [start, ...rest] = await run.history();
    const { run: _run, ...old } = start as NonNullable<typeof start>;
    expect(await replay(named, [old, ...rest])).toMatchObject({ output: { id, runId } });
  });

  test("takes the run id that it is told", async () => {
    const t = await openEngine(named);
    const told = workflow("told", async (ctx) => ctx.info.runId);
    const run = await t.client.start(named);
    await run.result();
    const [start] = await run.history();
    const runId = "019b8805-3000-7000-8000-000000000001";
    expect(await replay(told, [start as NonNullable<typeof start>], { runId })).toEqual({ output: runId });
  });
});
