// Locks that history shows as held, and that the store has given away since: after a retry of the run, and in a fork.
import { type Context, signal, task, workflow } from "holdfast";
import { crashEverywhere } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { LockedRoom } from "../lab/locked-room.ts";
import { openWorld } from "../lab/world.ts";

const go = signal("go");

/** A run that fails inside of the room, and another one that comes in after it. */
function parties(options: { readonly retry?: { readonly attempts: number; readonly fixed: "1 minute" } } = {}) {
  const room = new LockedRoom();
  const failing = { left: 1 };
  const careful = workflow({ name: "careful", ...options }, (ctx: Context) =>
    ctx.withLock("room", async (lock) => {
      await ctx.step("before", () => 1);
      await ctx.step("enter", () => room.enter("careful", lock));
      const work = () => {
        room.leave("careful");
        if (--failing.left >= 0) throw new Error("not yet");
      };
      const again = () => room.enter("careful", lock);
      await ctx.step("work", work, { retry: "none" });
      await ctx.step("again", again);
      await ctx.step("leave", () => room.leave("careful"));
      return "done";
    }),
  );
  const visit = workflow("visit", (ctx: Context) => room.visit(ctx, {}, "1 hour"));
  return { room, failing, careful, visit };
}

describe("a lock is regained before anything starts", () => {
  test("when the run is retried as a whole", async () => {
    const { room, careful, visit } = parties({ retry: { attempts: 3, fixed: "1 minute" } });
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [careful, visit], cacheSize: 0 });
    const run = await client.start(careful, undefined, { id: "careful" });
    const other = await client.start(visit, undefined, { id: "visitor" });
    await world.clock.advance("10 minutes");
    expect(room.visits).toEqual(["careful", "visitor"]);
    expect([...room.inside]).toEqual(["visitor"]);
    const why = await client.why("careful");
    expect(why.waitingFor[0]).toBe("lock:room");
    expect(await world.result(run)).toBe("done");
    expect(await world.result(other)).toBe("visitor");
    expect(room.most).toBe(1);
    expect(world.events(run).map(({ type }) => type)).toEqual([
      ...["lock_requested", "lock_granted", "step_completed", "step_completed", "step_failed", "lock_released"],
      ...["run_retried", "op_rescheduled", "lock_granted", "step_completed", "step_completed", "step_completed"],
      "lock_released",
    ]);
    expect(world.store.state.locks.size).toBe(0);
    // The fence that the code sees is that of the second grant.
    expect(room.fences).toEqual([1, 2, 3]);
  });

  test("when a person retries the run", async () => {
    const { room, careful, visit } = parties();
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [careful, visit] });
    const run = await client.start(careful, undefined, { id: "careful" });
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
    expect(world.store.state.locks.size).toBe(0);
    const other = await client.start(visit, undefined, { id: "visitor" });
    await world.clock.settle();
    await run.retry();
    await world.clock.advance("10 minutes");
    expect([...room.inside]).toEqual(["visitor"]);
    expect((await client.why("careful")).waitingFor[0]).toBe("lock:room");
    expect(await world.result(run)).toBe("done");
    await world.result(other);
    expect(room).toMatchObject({ most: 1, visits: ["careful", "visitor", "careful"] });
  });

  test("the outer one first: whoever takes two locks in the same order never waits in a circle", async () => {
    let fails = true;
    const both = workflow("both", (ctx: Context) =>
      ctx.withLock("outer", async () => {
        await ctx.sleep("on the way", "1 hour");
        return ctx.withLock("inner", () =>
          ctx.step("work", () => (fails ? Promise.reject(new Error("not yet")) : ctx.info.id), { retry: "none" }),
        );
      }),
    );
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [both], cacheSize: 0 });
    const run = await client.start(both, undefined, { id: "retried" });
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
    fails = false;
    const other = await client.start(both, undefined, { id: "other" });
    await world.clock.advance("1 minute");
    await run.retry();
    await world.clock.advance("2 hours");
    expect(await Promise.all([run, other].map((one) => one.status()))).toEqual(["completed", "completed"]);
    expect(world.store.state.locks.size).toBe(0);
  });

  test("in a fork whose cut is inside, also while the origin holds it", async () => {
    const room = new LockedRoom();
    const visit = workflow("visit", (ctx: Context) => room.visit(ctx, {}, "1 hour"));
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [visit] });
    const run = await client.start(visit, undefined, { id: "origin" });
    await world.clock.settle();
    const fork = await client.get("origin").fork({ before: "enter", id: "fork" });
    await world.clock.advance("30 minutes");
    expect(room.visits).toEqual(["origin"]);
    await world.result(run);
    await world.result(fork);
    expect(room).toMatchObject({ most: 1, visits: ["origin", "fork"] });
    expect(world.store.state.locks.size).toBe(0);
  });

  test("in a fork of a run that was waiting", async () => {
    const room = new LockedRoom();
    const visit = workflow("visit", async (ctx: Context) => {
      await ctx.step("first", () => 1);
      return ctx.parallel([(c) => room.visit(c), (c) => c.sleep("beside", "1 day")]);
    });
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [visit] });
    await client.start(visit, undefined, { id: "a" });
    await world.clock.settle();
    const waiting = await client.start(visit, undefined, { id: "b" });
    await world.clock.settle();
    const fork = await waiting.fork({ before: "beside", id: "c" });
    await world.clock.settle();
    expect((await client.why("c")).waitingFor).toContain("lock:room");
    await world.result(fork);
    expect(room).toMatchObject({ most: 1, visits: ["a", "b", "c"] });
  });

  test("what the code of a fork requests behind the history of its origin is requested once", async () => {
    const room = new LockedRoom();
    let finish = (): void => {};
    const old = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const visit = (now: boolean) =>
      workflow("visit", async (ctx: Context) => {
        if (now) ctx.retired("old");
        else await ctx.step("old", () => old);
        await room.visit(ctx);
        await ctx.receive(go);
      });
    const world = openWorld();
    const client = world.client();
    const worker = await world.worker(client, { workflows: [visit(false)] });
    const run = await client.start(visit(false), undefined, { id: "a" });
    await world.clock.settle();
    await run.signal(go);
    await world.clock.settle();
    finish();
    await world.result(run);
    await worker.stop();
    await world.worker(client, { workflows: [visit(true)] });
    const signaled = world.events(run).find(({ type }) => type === "signal_received");
    const fork = await run.fork({ before: (signaled?.seq ?? 0) + 1, id: "b" });
    await world.result(fork);
    expect(room.visits).toEqual(["a", "b"]);
    expect(world.events(fork).filter(({ op }) => op === "lock:room")).toMatchObject([
      { type: "lock_requested" },
      { type: "lock_granted" },
      { type: "lock_released" },
    ]);
  });

  test("tasks that the code asks for meanwhile wait, too; a cancel does not", async () => {
    const room = new LockedRoom();
    const done: string[] = [];
    const mail = task("mail", (who: string) => void done.push(who));
    let fails = true;
    const job = workflow("job", (ctx: Context) =>
      ctx.withLock("room", async () => {
        const other = ctx.receive(go).then(() => ctx.task(mail, ctx.info.id));
        await ctx.step(
          "work",
          () => {
            if (fails) throw new Error("not yet");
          },
          { retry: "none" },
        );
        await other;
      }),
    );
    const visit = workflow("visit", (ctx: Context) => room.visit(ctx, {}, "1 hour"));
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [job, visit], tasks: [mail], cacheSize: 0 });
    const runs = [await client.start(job, undefined, { id: "a" }), await client.start(job, undefined, { id: "b" })];
    for (const run of runs) await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
    fails = false;
    const visitor = await client.start(visit, undefined, { id: "visitor" });
    await world.clock.settle();
    for (const run of runs) await run.retry();
    for (const run of runs) await run.signal(go);
    await world.clock.advance("5 minutes");
    expect(done).toEqual([]);
    await runs[0]?.cancel();
    await expect(world.result(runs[0] as never)).rejects.toMatchObject({ code: "run_canceled" });
    await world.result(runs[1] as never);
    await world.result(visitor);
    expect(done).toEqual(["b"]);
    expect(world.store.state.locks.size + world.store.state.debts.size).toBe(0);
  });

  test("a task that is the first thing in a fork waits, and its event says so", async () => {
    const done: string[] = [];
    const mail = task("mail", (who: string) => void done.push(who));
    const job = workflow("job", (ctx: Context) =>
      ctx.withLock("room", async () => {
        await ctx.task(mail, ctx.info.id);
        await ctx.sleep("stay", "1 hour");
      }),
    );
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [job], tasks: [mail] });
    const run = await client.start(job, undefined, { id: "origin" });
    await world.clock.advance("1 minute");
    const fork = await run.fork({ before: "mail", id: "fork" });
    await world.clock.advance("10 minutes");
    expect(done).toEqual(["origin"]);
    await world.result(fork);
    expect(done).toEqual(["origin", "fork"]);
    expect(world.events(fork).find(({ type }) => type === "task_scheduled")?.meta?.later).toBe(true);
  });

  test("a request of a try that was taken back is given back", async () => {
    let fails = true;
    const job = workflow({ name: "job", retry: { attempts: 3, fixed: "1 hour" } }, async (ctx: Context) => {
      let failure: unknown;
      await ctx
        .step("a", () => (fails ? Promise.reject(new Error("a")) : "ok"), { retry: "none" })
        .catch((error) => {
          failure = error;
        });
      if (failure === undefined) {
        await ctx.sleep("long", "1 day");
        return "done";
      }
      void ctx.withLock("stray", () => ctx.sleep("inside", "365 days"));
      await ctx.step("b", () => 1);
      throw failure;
    });
    const next = workflow("next", (ctx) => ctx.withLock("stray", { timeout: "2 hours" }, () => "in"));
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [job, next], cacheSize: 0 });
    const run = await client.start(job);
    await world.clock.advance("1 minute");
    fails = false;
    const other = await client.start(next);
    expect(await world.result(other)).toBe("in");
    expect(await world.result(run)).toBe("done");
  });
});

test("two runs that share a lock survive a crash at every call", async () => {
  const inside = new Set<string>();
  let most = 0;
  const locked = (ctx: Context): Promise<string> =>
    ctx.withLock("room", async () => {
      const who = ctx.info.workflow;
      await ctx.step("in", () => {
        inside.add(who);
        most = Math.max(most, inside.size);
      });
      await ctx.sleep("stay", "1 minute");
      await ctx.step("out", () => void inside.delete(who));
      return who;
    });
  const sister = workflow("sister", locked);
  const both = workflow("both", async (ctx: Context) => {
    const child = await ctx.startChild(sister);
    const own = await locked(ctx);
    return [own, await child.result()];
  });
  const effects = { reset: () => inside.clear(), snapshot: () => [most, inside] };
  const report = await crashEverywhere(both, undefined, { workflows: [sister], effects });
  expect(report.output).toEqual(["both", "sister"]);
  expect(report.crashes).toBeGreaterThan(20);
  expect(most).toBe(1);
});

test("a run that fails in a lock and is retried survives a crash at every call", async () => {
  let tries = 0;
  const job = workflow({ name: "job", retry: { attempts: 3, fixed: "1 minute" } }, (ctx: Context) =>
    ctx.withLock("room", async () => {
      await ctx.step("before", () => 1);
      const flaky = () => (++tries === 1 ? Promise.reject(new Error("not yet")) : "worked");
      return ctx.step("flaky", flaky, { retry: "none" });
    }),
  );
  const reset = (): void => {
    tries = 0;
  };
  const report = await crashEverywhere(job, undefined, { effects: { reset, snapshot: () => "" } });
  expect(report.output).toBe("worked");
  expect(report.crashes).toBeGreaterThan(10);
});
