import { describe, expect, test } from "vitest";
import { workflow } from "../../src/define/definitions.ts";
import type { Context } from "../../src/replay/context/context.ts";
import { replay, testEngine } from "../../src/testing/index.ts";
import { openFleet } from "../lab/fleet.ts";
import { Cluster } from "../lab/harness.ts";

/** A step whose calls and compensations are written down. */
function charging(log: string[], name = "charge") {
  return (ctx: Context): Promise<unknown> =>
    ctx.step(name, () => log.push(name), { compensate: (_, { outcome }) => void log.push(`undo ${name}: ${outcome}`) });
}

const fail = (ctx: Context): Promise<never> =>
  ctx.step(
    "fails",
    () => {
      throw new Error("declined");
    },
    { retry: "none" },
  );

describe("a step whose start is recorded, but that the run was given up before it could begin", () => {
  test("is not compensated, and the run says that there was nothing to undo", async () => {
    const log: string[] = [];
    const order = workflow("order", (ctx) => Promise.all([charging(log)(ctx), fail(ctx)]));
    const t = await testEngine({ workflows: [order] });
    const run = await t.client.start(order);
    await expect(run.result()).rejects.toMatchObject({ cause: { message: "declined" } });
    expect(log).toEqual([]);
    expect(await run.describe()).toMatchObject({ status: "failed", compensation: null });
    await t.close();
  });

  test("does not keep the others from being compensated", async () => {
    const log: string[] = [];
    const order = workflow("order", async (ctx) => {
      await ctx.parallel([charging(log), fail]).catch(() => {});
      await charging(log, "reserve")(ctx);
      throw new Error("no stock");
    });
    const t = await testEngine({ workflows: [order] });
    const run = await t.client.start(order);
    await expect(run.result()).rejects.toMatchObject({ cause: { message: "no stock" } });
    expect(log).toEqual(["reserve", "undo reserve: completed"]);
    expect(await run.describe()).toMatchObject({ compensation: "compensated" });
    await t.close();
  });

  test("is not compensated either when only its branch was given up, and the run fails later", async () => {
    const log: string[] = [];
    const order = workflow("order", async (ctx) => {
      await ctx.parallel([charging(log), fail]).catch(() => {});
      await ctx.sleep("a while", "1h");
      throw new Error("no stock");
    });
    const t = await testEngine({ workflows: [order] });
    const run = await t.client.start(order);
    await expect(run.result()).rejects.toMatchObject({ cause: { message: "no stock" } });
    expect(log).toEqual([]);
    expect(await run.describe()).toMatchObject({ compensation: null });
    await t.close();
  });

  test("is still not compensated by a worker that replays the history", async () => {
    const log: string[] = [];
    const order = workflow("order", async (ctx) => {
      await ctx.parallel([charging(log), fail]).catch(() => {});
      await charging(log, "reserve")(ctx);
      await ctx.sleep("a while", "1h");
      throw new Error("no stock");
    });
    const fleet = openFleet();
    await fleet.forgetful({ workflows: [order] });
    const run = await fleet.client().start(order);
    await expect(fleet.result(run)).rejects.toMatchObject({ cause: { message: "no stock" } });
    expect(log).toEqual(["reserve", "undo reserve: completed"]);
    expect(await replay(order, await run.history())).toMatchObject({ error: { message: "no stock" } });
  });

  test("is compensated with outcome unknown when a crash has taken along the knowledge that it did not begin", async () => {
    const log: string[] = [];
    const order = workflow("order", (ctx) => Promise.all([charging(log)(ctx), ctx.sleep("a while", "1h")]));
    const cluster = new Cluster();
    const doomed = cluster.process("doomed");
    const heir = cluster.process("heir");
    await doomed.worker({ workflows: [order] });
    // The start of the step takes effect, and its sender is gone before it hears of it.
    cluster.store.fault = (moment, method) => {
      if (method === "runs.commit" && moment === "after") doomed.kill();
      return undefined;
    };
    await cluster.until(doomed.client.start(order, undefined, { id: "r" }));
    await cluster.until(heir.client.get("r").cancel());
    await heir.worker({ workflows: [order] });
    await expect(cluster.until(heir.client.get("r").result())).rejects.toMatchObject({ code: "run_canceled" });
    expect(log).toEqual(["undo charge: unknown"]);
  });
});

describe("a step whose start is recorded when the run is tried again as a whole", () => {
  test("does not count as cut off by a crash", async () => {
    const log: string[] = [];
    let tries = 0;
    const order = workflow({ name: "order", retry: { attempts: 2, fixed: "1s" } }, (ctx) =>
      Promise.all([
        ctx.step("mail", () => log.push("mail"), { onCrash: "fail" }),
        ctx.step(
          "flaky",
          () => {
            tries += 1;
            if (tries === 1) throw new Error("not yet");
          },
          { retry: "none" },
        ),
      ]),
    );
    const t = await testEngine({ workflows: [order] });
    await t.run(order);
    expect(log).toEqual(["mail"]);
    await t.close();
  });
});

describe("a step that was given up before it could begin, in a run that is tried again", () => {
  /** Fails the first time, and never again. */
  function failOnce(): (ctx: Context) => Promise<unknown> {
    let tries = 0;
    const fn = (): void => {
      tries += 1;
      if (tries === 1) throw new Error("not yet");
    };
    return (ctx) => ctx.step("flaky", fn, { retry: "none" });
  }

  test("is done then, when an operator has the run tried again", async () => {
    const log: string[] = [];
    const flaky = failOnce();
    const order = workflow("order", (ctx) => Promise.all([charging(log)(ctx), flaky(ctx)]));
    const t = await testEngine({ workflows: [order] });
    const run = await t.client.start(order);
    await expect(run.result()).rejects.toMatchObject({ cause: { message: "not yet" } });
    await run.retry();
    await run.result();
    expect(log).toEqual(["charge"]);
    await t.close();
  });

  test("is still not compensated when the next attempt is given up before it as well", async () => {
    const log: string[] = [];
    const order = workflow("order", (ctx) => Promise.all([charging(log)(ctx), fail(ctx)]));
    const t = await testEngine({ workflows: [order] });
    const run = await t.client.start(order);
    await expect(run.result()).rejects.toMatchObject({ cause: { message: "declined" } });
    await run.retry();
    await expect(run.result()).rejects.toMatchObject({ cause: { message: "declined" } });
    expect(log).toEqual([]);
    await t.close();
  });

  test("is done then, when the run is tried again by itself", async () => {
    const log: string[] = [];
    const flaky = failOnce();
    const order = workflow({ name: "order", retry: { attempts: 2, fixed: "1s" } }, (ctx) =>
      ctx.parallel([charging(log), flaky]),
    );
    const t = await testEngine({ workflows: [order] });
    await t.run(order);
    expect(log).toEqual(["charge"]);
    await t.close();
  });

  test("leaves what was recorded before alone: no step is done a second time", async () => {
    const log: string[] = [];
    const flaky = failOnce();
    const order = workflow("order", async (ctx) => {
      await ctx.parallel([charging(log), fail]).catch(() => {});
      await ctx.step("pack", () => log.push("pack"));
      await ctx.step("ship", () => log.push("ship"));
      await flaky(ctx);
    });
    const t = await testEngine({ workflows: [order] });
    const run = await t.client.start(order);
    await expect(run.result()).rejects.toMatchObject({ cause: { message: "not yet" } });
    await run.retry();
    await run.result();
    expect(log).toEqual(["pack", "ship"]);
    await t.close();
  });
});

test("a step that was aborted because another branch failed is tried again with the run", async () => {
  let tries = 0;
  const order = workflow({ name: "order", retry: { attempts: 2, fixed: "1s" } }, (ctx) =>
    ctx.parallel([
      () =>
        ctx.step(
          "charge",
          ({ signal }) =>
            tries > 0
              ? "charged"
              : new Promise((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted")))),
          { compensate: () => {} },
        ),
      async () => {
        await ctx.step("first", () => {});
        await ctx.step(
          "flaky",
          () => {
            tries += 1;
            if (tries === 1) throw new Error("not yet");
            return "fine";
          },
          { retry: "none" },
        );
      },
    ]),
  );
  const t = await testEngine({ workflows: [order] });
  expect(await t.run(order)).toEqual(["charged", undefined]);
  await t.close();
});
