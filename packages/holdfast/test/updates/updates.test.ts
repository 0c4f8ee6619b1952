import { describe, expect, test } from "vitest";
import { query, signal, update, workflow } from "../../src/index.ts";
import { testEngine } from "../../src/testing/index.ts";
import { Cluster, outcomeUnknown } from "../lab/harness.ts";

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

  test("with the id of another update is refused, whatever has become of that one", async () => {
    const slow = update<number, number>("slow");
    let calls = 0;
    const w = workflow("w", async (ctx) => {
      let sum = 0;
      ctx.on(add, (n) => {
        calls += 1;
        sum += n;
        return sum;
      });
      ctx.on(slow, async (n) => {
        await ctx.sleep("a while", "1h");
        sum += n;
        return sum;
      });
      await ctx.until(() => sum >= 10);
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w, undefined, { id: "x" });
    const taken = { code: "update_id_taken", data: { name: "add", updateId: "u", other: "slow" } };
    const accepted = await run.update(slow, 4, { id: "u", wait: "accepted" });
    await expect(run.update(add, 1, { id: "u" })).rejects.toMatchObject(taken);
    await expect(run.update(add, 1, { id: "u", wait: "accepted" })).rejects.toMatchObject(taken);
    expect(await accepted.result()).toBe(4);
    await expect(run.update(add, 1, { id: "u" })).rejects.toMatchObject(taken);
    const again = t.client.updateWithStart(w, undefined, add, 1, { id: "x", updateId: "u" });
    await expect(again).rejects.toMatchObject(taken);
    expect(await run.update(slow, 9, { id: "u" })).toBe(4);
    expect(calls).toBe(0);
    await run.update(slow, 6);
    await run.result();
    await expect(run.update(add, 1, { id: "u" })).rejects.toMatchObject(taken);
    expect(await run.update(slow, 9, { id: "u" })).toBe(4);
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

  test("that a canceled run has not read yet is refused: it accepts no more", async () => {
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
    await expect(run.update(add, 1)).rejects.toMatchObject({ code: "run_closed" });
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

test.each([1, 2, 3, 4])(
  "of two updates with one id that race, one is handled and the other refused (%i)",
  async (lost) => {
    const take = update<number, number>("take");
    const calls: string[] = [];
    const w = workflow("w", async (ctx) => {
      ctx.on(add, (n) => {
        calls.push("add");
        return n;
      });
      ctx.on(take, (n) => {
        calls.push("take");
        return -n;
      });
      await ctx.receive(stop);
    });
    const cluster = new Cluster();
    const worker = cluster.process("worker");
    await worker.worker({ workflows: [w] });
    const run = await cluster.until(worker.client.start(w, undefined, { id: "x" }));
    let n = 0;
    // Its messages come twice: the answer to the first is lost.
    const other = cluster.process("other", async (method, _params, next) => {
      const answer = await next();
      if (method === "inbox.deliver" && ++n < lost) throw outcomeUnknown();
      return answer;
    });
    const both = [run.update(add, 1, { id: "u" }), other.client.get("x").update(take, 1, { id: "u" })];
    const outcomes = await cluster.until(Promise.allSettled(lost % 2 === 0 ? both : both.reverse()));
    const told = outcomes.map((one) => (one.status === "fulfilled" ? one.value : one.reason.code));
    expect(calls).toHaveLength(1);
    expect(told.filter((one) => one === "update_id_taken")).toHaveLength(1);
    expect(told).toContain(calls[0] === "add" ? 1 : -1);
  },
);
