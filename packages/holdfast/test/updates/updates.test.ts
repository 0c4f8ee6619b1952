import { describe, expect, test } from "vitest";
import { query, signal, update, workflow } from "../../src/index.ts";
import { testEngine } from "../../src/testing/index.ts";

const add = update<number, number>("add");
const finish = update("finish");
const stop = signal("stop");

const counter = workflow("counter", async (ctx) => {
  let sum = 0;
  let done = false;
  ctx.on(add, {
    validate: (n) => {
      if (n < 0) throw new Error("must not be negative");
    },
    handle: (n) => {
      sum += n;
      return sum;
    },
  });
  ctx.on(finish, () => {
    done = true;
  });
  await ctx.until(() => done);
  return sum;
});

describe("an update", () => {
  test("is handled by the code of the run, and its answer comes back", async () => {
    const t = await testEngine({ workflows: [counter] });
    const run = await t.client.start(counter);
    expect(await run.update(add, 3)).toBe(3);
    expect(await run.update(add, 4)).toBe(7);
    expect(await run.update(finish)).toBeUndefined();
    expect(await run.result()).toBe(7);
    await t.close();
  });

  test("that validate refuses changes nothing, and leaves a note", async () => {
    const t = await testEngine({ workflows: [counter] });
    const run = await t.client.start(counter);
    const error = await run.update(add, -1).catch((e: unknown) => e);
    expect(error).toMatchObject({ code: "update_rejected", cause: { message: "must not be negative" } });
    expect((error as Error).message).toContain("must not be negative");
    expect(await run.update(add, 1)).toBe(1);
    const types = (await run.history()).map(({ type }) => type);
    expect(types).toEqual(["run_started", "update_rejected", "update_accepted", "update_completed"]);
    await run.update(finish);
    expect(await run.result()).toBe(1);
    await t.close();
  });

  test("without a handler is refused, and so is one to a run that has ended", async () => {
    const t = await testEngine({ workflows: [counter] });
    const run = await t.client.start(counter);
    await expect(run.update(update("other"))).rejects.toMatchObject({ code: "handler_not_found" });
    await run.update(finish, undefined, { id: "f" });
    await run.result();
    await expect(run.update(add, 1)).rejects.toMatchObject({ code: "run_closed" });
    // A known id is answered after the end, too.
    expect(await run.update(finish, undefined, { id: "f" })).toBeUndefined();
    await t.close();
  });

  test("with a known id is one update: the second gets the answer of the first", async () => {
    const t = await testEngine({ workflows: [counter] });
    const run = await t.client.start(counter);
    const answers = await Promise.all([run.update(add, 5, { id: "a" }), run.update(add, 5, { id: "a" })]);
    expect(answers).toEqual([5, 5]);
    expect(await run.update(add, 1)).toBe(6);
    await t.close();
  });

  test("whose handler throws fails alone; the run continues", async () => {
    const risky = update<string, void>("risky");
    const w = workflow("w", async (ctx) => {
      ctx.on(risky, (text) => {
        throw new TypeError(text);
      });
      await ctx.receive(stop);
      return "fine";
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    await expect(run.update(risky, "boom")).rejects.toMatchObject({
      code: "update_failed",
      cause: { name: "TypeError", message: "boom" },
    });
    await run.signal(stop);
    expect(await run.result()).toBe("fine");
    await t.close();
  });

  test("may use ctx: handlers run beside each other and beside the workflow", async () => {
    const slow = update<number, string>("slow");
    const w = workflow("w", async (ctx) => {
      ctx.on(slow, async (ms) => {
        await ctx.sleep("wait", { milliseconds: ms });
        return ctx.step("work", () => `after ${ms}`);
      });
      await ctx.receive(stop);
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    expect(await Promise.all([run.update(slow, 500), run.update(slow, 100)])).toEqual(["after 500", "after 100"]);
    const steps = await run.steps();
    expect(steps.map(({ op, status }) => [op, status])).toContainEqual(["update:slow", "completed"]);
    await t.close();
  });

  test("can be awaited until it is accepted, and its result later", async () => {
    const slow = update<undefined, string>("slow");
    const w = workflow("w", async (ctx) => {
      ctx.on(slow, async () => {
        await ctx.sleep("wait", "1 day");
        return "done";
      });
      await ctx.receive(stop);
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    const accepted = await run.update(slow, undefined, { wait: "accepted", id: "u" });
    expect(accepted.id).toBe("u");
    await t.clock.advance("2 days");
    expect(await accepted.result()).toBe("done");
    await t.close();
  });

  test("that is accepted lets the clock of a test go on while its result is awaited", async () => {
    const slow = update<undefined, string>("slow");
    const w = workflow("w", async (ctx) => {
      ctx.on(slow, async () => {
        await ctx.sleep("wait", "1 day");
        return "done";
      });
      await ctx.receive(stop);
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    const accepted = await run.update(slow, undefined, { wait: "accepted" });
    expect(await accepted.result()).toBe("done");
    await t.close();
  });

  test("that is not answered in time is not withdrawn", async () => {
    const slow = update<undefined, string>("slow");
    const w = workflow("w", async (ctx) => {
      ctx.on(slow, async () => {
        await ctx.sleep("wait", "1 day");
        return "done";
      });
      await ctx.receive(stop);
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    await expect(run.update(slow, undefined, { id: "u", timeout: "1h" })).rejects.toMatchObject({
      code: "update_timeout",
    });
    expect(await run.update(slow, undefined, { id: "u" })).toBe("done");
    await t.close();
  });

  test("that a canceled run has not read yet is rejected", async () => {
    const w = workflow("w", async (ctx) => {
      ctx.on(add, (n) => n);
      try {
        await ctx.receive(stop);
      } finally {
        await ctx.uncancelable((c) => c.sleep("clean up", "1h"));
      }
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    await run.cancel();
    await expect(run.update(add, 1)).rejects.toMatchObject({ code: "update_rejected" });
    await t.close();
  });

  test("whose run ends before the handler does gets run_closed", async () => {
    const slow = update<undefined, string>("slow");
    const w = workflow("w", async (ctx) => {
      ctx.on(slow, async () => {
        await ctx.receive(signal("never"));
        return "done";
      });
      await ctx.receive(stop);
      return "over";
    });
    const t = await testEngine({ workflows: [w], onForgotten: "warn" });
    const run = await t.client.start(w);
    const accepted = await run.update(slow, undefined, { wait: "accepted" });
    await run.signal(stop);
    expect(await run.result()).toBe("over");
    await expect(accepted.result()).rejects.toMatchObject({ code: "run_closed" });
    await t.close();
  });
});

test("an update or a query that is not one is refused where it is used", async () => {
  const w = workflow("w", async (ctx) => {
    ctx.on("add" as never, () => 1);
  });
  const t = await testEngine({ workflows: [w, counter] });
  const run = await t.client.start(counter);
  await expect(run.update("add" as never, 1 as never)).rejects.toMatchObject({ code: "invalid_option" });
  await expect(run.update(query("x") as never)).rejects.toMatchObject({ code: "invalid_option" });
  await expect(run.update(add, 1, { tiemout: "1s" } as never)).rejects.toMatchObject({ code: "invalid_option" });
  await expect((await t.client.start(w)).result()).rejects.toMatchObject({ code: "run_parked" });
  await t.close();
});
