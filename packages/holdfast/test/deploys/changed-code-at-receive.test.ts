// What new code may do with a run that waits for a signal must not depend on whether it waits with a timeout.
import { type Context, type Duration, type RunHandle, signal, workflow } from "holdfast";
import { replay } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { type Fleet, openEngine, openFleet } from "../lab/fleet.ts";

type Code = (ctx: Context) => Promise<unknown>;

const go = signal<string>("go");
const other = signal<string>("other");
const DAY_MS = 24 * 3_600_000;

interface Deployment {
  readonly fleet: Fleet;
  readonly run: RunHandle;
  readonly began: number;
  /** Brings the run to a worker that has only this code, and keeps nothing in memory. */
  readonly deploy: (code: Code) => Promise<void>;
}

/** A run of the old code that has come to rest, and then lost its worker. */
async function underWay(before: Code, happens?: (run: RunHandle) => Promise<void>): Promise<Deployment> {
  const fleet = openFleet();
  let worker = await fleet.forgetful({ workflows: [workflow("order", before)] });
  const began = fleet.clock.now();
  const run = await fleet.client().start("order", undefined, { id: "o-1" });
  await fleet.clock.settle();
  await happens?.(run);
  await fleet.clock.settle();
  await fleet.clock.until(worker.stop());
  const deploy = async (code: Code): Promise<void> => {
    await fleet.clock.until(worker.stop());
    worker = await fleet.forgetful({ workflows: [workflow("order", code)] });
  };
  return { fleet, run, began, deploy };
}

/** Wakes the run, and lets it come to rest. */
async function send({ fleet, run }: Deployment, payload: string): Promise<void> {
  await run.signal(go, payload);
  await fleet.clock.settle();
}

/** Both ways of waiting. */
const WAYS: [string, { readonly timeout: Duration } | undefined][] = [
  ["without a timeout", undefined],
  ["with a timeout", { timeout: "30 days" }],
];

const receive = (ctx: Context, way: { readonly timeout: Duration } | undefined): Promise<string | undefined> =>
  way === undefined ? ctx.receive(go) : ctx.receive(go, way);

describe.each(WAYS)("new code for a run that waits for a signal %s", (_title, way) => {
  test("is not patched in front of the receive, where earlier code has come past, and is behind it", async () => {
    const before: Code = async (ctx) => {
      await ctx.step("charge", () => "charged");
      await receive(ctx, way);
      return ctx.step("ship", () => "shipped");
    };
    const deployment = await underWay(before);
    await deployment.deploy(async (ctx) => {
      await ctx.step("charge", () => "charged");
      const early = ctx.patched("early");
      const word = await receive(ctx, way);
      return [early, word, ctx.patched("late"), await ctx.step("ship", () => "shipped")];
    });
    await send(deployment, "yes");
    expect(await deployment.fleet.result(deployment.run)).toEqual([false, "yes", true, "shipped"]);
  });

  test("is not patched in the first turn either, of which history knows nothing, nor does it write its lines again", async () => {
    const after: Code = async (ctx) => {
      const early = ctx.patched("early");
      ctx.log.info({}, "the run has begun");
      return [early, await receive(ctx, way), ctx.patched("late")];
    };
    const deployment = await underWay(async (ctx) => {
      ctx.log.info({}, "the run has begun");
      return receive(ctx, way);
    });
    await deployment.deploy(after);
    await send(deployment, "yes");
    expect(await deployment.fleet.result(deployment.run)).toEqual([false, "yes", true]);
    const { lines } = deployment.fleet;
    expect(lines.filter(({ message }) => message === "the run has begun")).toHaveLength(1);
  });

  test("may do a new step in front of the receive", async () => {
    const deployment = await underWay(async (ctx) => {
      await ctx.step("charge", () => "charged");
      return receive(ctx, way);
    });
    const after: Code = async (ctx) => {
      await ctx.step("charge", () => "charged");
      const wrapped = await ctx.step("gift wrap", () => "wrapped");
      return [wrapped, await receive(ctx, way)];
    };
    await deployment.deploy(after);
    await send(deployment, "yes");
    expect(await deployment.fleet.result(deployment.run)).toEqual(["wrapped", "yes"]);
    expect(await replay(workflow("order", after), await deployment.run.history())).toEqual({
      output: ["wrapped", "yes"],
    });
  });

  test("may not do one in front of a receive that history has passed", async () => {
    const deployment = await underWay(
      async (ctx) => {
        await receive(ctx, way);
        await ctx.step("charge", () => "charged");
        return ctx.receive(other);
      },
      (run) => run.signal(go, "yes"),
    );
    await deployment.deploy(async (ctx) => {
      await ctx.step("gift wrap", () => "wrapped");
      await receive(ctx, way);
      await ctx.step("charge", () => "charged");
      return ctx.receive(other);
    });
    await deployment.run.signal(other, "more");
    await deployment.fleet.clock.settle();
    expect(await deployment.run.describe()).toMatchObject({ status: "parked", error: { code: "replay_divergence" } });
  });

  test("may leave the receive out", async () => {
    const deployment = await underWay(async (ctx) => {
      await ctx.step("charge", () => "charged");
      return receive(ctx, way);
    });
    await deployment.deploy((ctx) => ctx.step("charge", () => "charged"));
    await send(deployment, "yes");
    expect(await deployment.fleet.result(deployment.run)).toBe("charged");
  });

  test("may wait the other way", async () => {
    const flipped = way === undefined ? { timeout: "30 days" as const } : undefined;
    const waits =
      (how: typeof way): Code =>
      async (ctx) => {
        await ctx.step("charge", () => "charged");
        const word = await receive(ctx, how);
        return [word, await ctx.receive(other)];
      };
    const deployment = await underWay(waits(way), (run) => run.signal(other, "early"));
    await deployment.deploy(waits(flipped));
    await send(deployment, "yes");
    expect(await deployment.fleet.result(deployment.run)).toEqual(["yes", "early"]);
    const history = await deployment.run.history();
    expect(await replay(workflow("order", waits(flipped)), history)).toEqual({ output: ["yes", "early"] });
  });
});

describe("the timer of a receive that new code comes to later", () => {
  test("keeps the time that was promised", async () => {
    const deployment = await underWay(async (ctx) => {
      await ctx.step("charge", () => "charged");
      return ctx.receive(go, { timeout: "30 days" });
    });
    await deployment.deploy(async (ctx) => {
      await ctx.step("charge", () => "charged");
      await ctx.sleep("pause", "10 days");
      const word = await ctx.receive(go, { timeout: "30 days" });
      return [word, ctx.now().getTime() - deployment.began];
    });
    await deployment.run.signal(other, "a reason to look");
    const [word, after] = (await deployment.fleet.result(deployment.run)) as [unknown, number];
    expect([word, after]).toEqual([undefined, 30 * DAY_MS]);
  });

  test("is over with the signal that it would have received: the next receive keeps the time of its own", async () => {
    const twice: Code = async (ctx) => {
      const first = await ctx.receive(go, { timeout: "2 days" });
      return [first, await ctx.receive(go, { timeout: "10 days" }), ctx.now()];
    };
    const deployment = await underWay(twice, (run) => run.signal(go, "one"));
    await deployment.fleet.clock.advance("8 days");
    const after: Code = async (ctx) => {
      await ctx.step("gift wrap", () => "wrapped");
      return twice(ctx);
    };
    await deployment.deploy(after);
    await deployment.run.signal(other, "a reason to look");
    const output = await deployment.fleet.result(deployment.run);
    expect(output).toEqual(["one", undefined, new Date(deployment.began + 10 * DAY_MS)]);
    expect(await replay(workflow("order", after), await deployment.run.history())).toEqual({ output });
  });

  test("that history knows to have fired is a divergence for code that does not wait, or not so", async () => {
    const before: Code = async (ctx) => {
      await ctx.receive(go, { timeout: "1h" });
      return ctx.receive(other);
    };
    for (const after of [
      async (ctx: Context) => ctx.receive(go),
      async (ctx: Context) => ctx.step("gift wrap", () => "wrapped"),
    ]) {
      const deployment = await underWay(before);
      await deployment.deploy(before);
      await deployment.fleet.clock.advance("2h");
      await deployment.deploy(after);
      await deployment.run.signal(other, "yes");
      await deployment.fleet.clock.settle();
      expect(await deployment.run.describe()).toMatchObject({
        status: "parked",
        error: { code: "replay_divergence", message: expect.stringContaining("receive:go") },
      });
    }
  });
});

describe("ctx.patched in replay()", () => {
  test("answers as it would answer the run itself: false wherever the history has come past", async () => {
    const before = workflow("order", (ctx) => ctx.receive(go));
    const t = await openEngine(before);
    const run = await t.client.start(before, undefined, { id: "o-1" });
    const patched = workflow("order", async (ctx) => {
      if (ctx.patched("wrap")) await ctx.step("gift wrap", () => "wrapped");
      return ctx.receive(go);
    });
    await t.clock.settle();
    expect(await replay(patched, await run.history())).toEqual({ pending: ["receive:go"] });
  });
});
