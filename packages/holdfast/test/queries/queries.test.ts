import { describe, expect, test } from "vitest";
import { query, signal, update, workflow } from "../../src/index.ts";
import { testEngine } from "../../src/testing/index.ts";
import { Cluster, outcomeUnknown, type StoreHook } from "../lab/harness.ts";

const total = query<number>("total");
const scaled = query<number, number>("scaled");
const add = update<number, number>("add");
const go = signal<number>("go");

const tally = workflow("tally", async (ctx) => {
  let sum = 0;
  ctx.on(total, () => sum);
  ctx.on(scaled, (by) => sum * by);
  ctx.on(add, (n) => {
    sum += n;
    return sum;
  });
  for (let n = await ctx.receive(go); n > 0; n = await ctx.receive(go)) {
    sum += n;
    await ctx.step("count", () => n);
  }
  return sum;
});

describe("a query", () => {
  test("is answered by the code of the run, with or without an argument, before and after its end", async () => {
    const t = await testEngine({ workflows: [tally] });
    const run = await t.client.start(tally);
    expect(await run.query(total)).toBe(0);
    await run.signal(go, 5);
    await t.clock.advance("1s");
    expect(await run.query(total)).toBe(5);
    expect(await run.query(scaled, 3)).toBe(15);
    await run.signal(go, 0);
    expect(await run.result()).toBe(5);
    expect(await run.query(total)).toBe(5);
    expect(await t.client.get(tally, run.id).query(scaled, 2)).toBe(10);
    await t.close();
  });

  test("sees what an update before it has done, and records nothing", async () => {
    const t = await testEngine({ workflows: [tally] });
    const run = await t.client.start(tally);
    await run.update(add, 2);
    const before = (await run.history()).length;
    expect(await Promise.all([run.query(total), run.query(scaled, 10)])).toEqual([2, 20]);
    expect((await run.history()).length).toBe(before);
    await t.close();
  });

  test("without a handler is refused", async () => {
    const t = await testEngine({ workflows: [tally] });
    const run = await t.client.start(tally);
    await expect(run.query(query("other"))).rejects.toMatchObject({ code: "handler_not_found" });
    await expect(run.query("total" as never)).rejects.toMatchObject({ code: "invalid_option" });
    await t.close();
  });

  test("to a run that ended before its code was ever called is refused, whatever that code does first", async () => {
    const busy = workflow("busy", async (ctx) => {
      ctx.on(total, () => 1);
      await ctx.sleep("rest", "1 hour");
    });
    const t = await testEngine({ workflows: [busy] });
    const run = await t.client.start(busy, undefined, { delay: "1 hour" });
    await run.cancel();
    await expect(run.result()).rejects.toMatchObject({ code: "run_canceled" });
    await expect(run.query(total)).rejects.toMatchObject({ code: "handler_not_found" });
    await t.close();
  });

  test("that throws, uses ctx or returns a promise fails, and the run is as it was", async () => {
    const throws = query("throws");
    const steps = query("steps");
    const waits = query("waits");
    const w = workflow("w", async (ctx) => {
      ctx.on(throws, () => {
        throw new Error("no");
      });
      ctx.on(steps, () => ctx.step("charge", () => 1) as never);
      ctx.on(waits, () => Promise.resolve(1) as never);
      await ctx.receive(go);
      return "fine";
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    for (let round = 0; round < 2; round++) {
      await expect(run.query(throws)).rejects.toMatchObject({ code: "query_failed", cause: { message: "no" } });
      await expect(run.query(steps)).rejects.toMatchObject({ code: "query_failed", cause: { code: "inside_step" } });
      await expect(run.query(waits)).rejects.toMatchObject({ code: "query_failed" });
      await t.clock.advance("1s");
    }
    expect((await run.history()).map(({ type }) => type)).toEqual(["run_started"]);
    await run.signal(go, 1);
    expect(await run.result()).toBe("fine");
    await t.close();
  });

  test("whose handler is an async function is a bug that the registration shows", async () => {
    const w = workflow("w", async (ctx) => {
      ctx.on(query<number>("late"), (async () => 1) as never);
      await ctx.receive(go);
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w);
    await expect(run.result()).rejects.toMatchObject({ code: "run_parked" });
    await t.close();
  });

  test("about a run that has continued as new is answered by the newest", async () => {
    const generation = query<number>("generation");
    const w = workflow("w", async (ctx, n: number) => {
      ctx.on(generation, () => n);
      await ctx.receive(go);
      if (n < 3) ctx.continueAsNew(n + 1);
    });
    const t = await testEngine({ workflows: [w] });
    const run = await t.client.start(w, 1);
    for (let n = 1; n < 3; n++) {
      expect(await run.query(generation)).toBe(n);
      await run.signal(go, 1);
      await t.clock.advance("1s");
    }
    expect(await run.query(generation)).toBe(3);
    await t.close();
  });
});

describe("from a process without the code", () => {
  async function open(hook?: StoreHook): Promise<{ cluster: Cluster; ask: () => Promise<unknown> }> {
    const cluster = new Cluster();
    const process = cluster.process("worker", hook);
    await process.worker({ workflows: [tally] });
    const run = await cluster.until(process.client.start(tally, undefined, { id: "t" }));
    await cluster.until(run.signal(go, 7));
    await cluster.clock.settle();
    const caller = cluster.process("caller", hook);
    return { cluster, ask: () => cluster.until(caller.client.get("t").query(total)) };
  }

  test("a query is answered by a worker that has it", async () => {
    const { cluster, ask } = await open();
    const before = cluster.clock.now();
    expect(await ask()).toBe(7);
    expect(cluster.clock.now() - before).toBeLessThan(50);
    expect(cluster.store.state.asks.size).toBe(0);
  });

  test.each(["asks.ask", "asks.take", "asks.answer", "asks.read"])(
    "a query is answered although the answer to %s is lost",
    async (lost) => {
      let n = 0;
      const { ask } = await open(async (method, _params, next) => {
        const answer = await next();
        if (method === lost && ++n === 1) throw outcomeUnknown();
        return answer;
      });
      expect(await ask()).toBe(7);
    },
  );

  test("a query is answered although some hints are lost", async () => {
    const { cluster, ask } = await open();
    let lost = 0;
    cluster.hints.loses = ({ type }) => (type === "asked" || type === "answered") && ++lost <= 2;
    expect(await ask()).toBe(7);
  });

  test("a query that nobody can answer times out after 10 seconds", async () => {
    const cluster = new Cluster();
    const gone = cluster.process("gone");
    await gone.worker({ workflows: [tally] });
    await cluster.until(gone.client.start(tally, undefined, { id: "t" }));
    await cluster.clock.settle();
    gone.kill();
    const run = cluster.process("caller").client.get("t");
    const before = cluster.clock.now();
    await expect(cluster.until(run.query(total))).rejects.toMatchObject({ code: "query_timeout" });
    expect(cluster.clock.now() - before).toBeGreaterThanOrEqual(10_000);
  });

  test("a query is answered when the worker that took it dies", async () => {
    const cluster = new Cluster();
    const dying = cluster.process("dying", async (method, _params, next) => {
      if (method === "asks.answer") dying.kill();
      return next();
    });
    await dying.worker({ workflows: [tally] });
    await cluster.until(dying.client.start(tally, undefined, { id: "t" }));
    await cluster.clock.settle();
    const heir = cluster.process("heir");
    const caller = cluster.process("caller");
    const answer = cluster.until(caller.client.get("t").query(total));
    await heir.worker({ workflows: [tally] });
    expect(await answer).toBe(0);
  });
});

test("the answer of a live run waits until everything that it has seen is durable", async () => {
  const cluster = new Cluster();
  let durable = 0;
  const process = cluster.process("p", async (method, params, next) => {
    if (method !== "runs.commit") return next();
    await cluster.wait(1_000);
    const answer = await next();
    const { commits } = params as { commits: readonly { events: readonly { type: string }[] }[] };
    durable += commits.flatMap(({ events }) => events).filter(({ type }) => type === "step_completed").length;
    return answer;
  });
  const seen = query<number>("seen");
  const w = workflow("w", async (ctx) => {
    let steps = 0;
    ctx.on(seen, () => steps);
    for (let i = 0; i < 3; i++) {
      await ctx.step("one", () => 1);
      steps += 1;
    }
    await ctx.receive(go);
  });
  await process.worker({ workflows: [w] });
  const run = await cluster.until(process.client.start(w));
  const wrong: unknown[] = [];
  for (let i = 0; i < 8; i++) {
    const answer = (await cluster.until(run.query(seen))) as number;
    if (answer > durable) wrong.push([answer, durable]);
    await cluster.until(cluster.wait(300));
  }
  expect(wrong).toEqual([]);
  expect(await cluster.until(run.query(seen))).toBe(3);
});

describe("what queries ask of the store", () => {
  const noticed = ["runs.read", "histories.read", "asks.ask", "asks.take", "asks.answer", "asks.read", "asks.forget"];

  test("about runs that wait here, all at once, is one read of their rows: no history is read", async () => {
    const t = await testEngine({ workflows: [tally] });
    const runs = await Promise.all(Array.from({ length: 100 }, () => t.client.start(tally)));
    await Promise.all(runs.map((run) => run.signal(go, 7)));
    await t.clock.advance("1s");
    const before = { ...t.store.calls };
    const answers = await Promise.all(runs.map(({ id }) => t.client.get(id).query(total)));
    expect(answers).toEqual(runs.map(() => 7));
    const calls = noticed.map((name) => [name, (t.store.calls[name as never] ?? 0) - (before[name as never] ?? 0)]);
    expect(calls.filter(([, n]) => n !== 0)).toEqual([["runs.read", 1]]);
    await t.close();
  });

  test("from a process without the code, all at once, is a few calls for all of them", async () => {
    const cluster = new Cluster();
    const serving = cluster.process("worker");
    await serving.worker({ workflows: [tally] });
    const ids = Array.from({ length: 50 }, (_, i) => `t${i}`);
    for (const id of ids) await cluster.until(serving.client.start(tally, undefined, { id }));
    await cluster.clock.settle();
    const caller = cluster.process("caller");
    const before = { ...cluster.store.calls };
    const answers = await cluster.until(Promise.all(ids.map((id) => caller.client.get(id).query(total))));
    await cluster.clock.settle();
    expect(answers).toEqual(ids.map(() => 0));
    for (const name of noticed) {
      const calls = (cluster.store.calls[name as never] ?? 0) - (before[name as never] ?? 0);
      expect([name, calls <= 5]).toEqual([name, true]);
    }
    expect(cluster.store.state.asks.size).toBe(0);
  });

  test("about a run that another worker has moved on is what has become of it", async () => {
    const cluster = new Cluster();
    const first = cluster.process("first");
    await first.worker({ workflows: [tally] });
    const run = await cluster.until(first.client.start(tally, undefined, { id: "t" }));
    await cluster.until(run.signal(go, 1));
    await cluster.clock.settle();
    expect(await cluster.until(run.query(total))).toBe(1);
    const second = cluster.process("second");
    await second.worker({ workflows: [tally], cacheSize: 1 });
    for (let n = 2; n <= 10; n++) {
      await cluster.until(second.client.get("t").signal(go, 1));
      await cluster.clock.settle();
      expect(await cluster.until(first.client.get("t").query(total))).toBe(n);
      expect(await cluster.until(second.client.get("t").query(total))).toBe(n);
    }
  });
});

describe("to a run that has not begun", () => {
  test("a query waits until the run has come to its first wait, and sees what was sent to it before", async () => {
    const cluster = new Cluster();
    const caller = cluster.process("caller");
    const run = await cluster.until(caller.client.start("tally", undefined, { id: "t" }));
    await cluster.until(run.signal(go, 5));
    const answer = run.query(total);
    await cluster.until(cluster.wait(3_000));
    const worker = cluster.process("worker");
    await worker.worker({ workflows: [tally] });
    expect(await cluster.until(answer)).toBe(5);
  });

  test("a query in the process that has just started it is answered with what the run has seen", async () => {
    const t = await testEngine({ workflows: [tally] });
    const run = await t.client.signalWithStart(tally, undefined, go, 4, { id: "t" });
    expect(await run.query(total)).toBe(4);
    await t.close();
  });

  test("a query is refused after 10 seconds if no worker takes it", async () => {
    const cluster = new Cluster();
    const process = cluster.process("caller");
    const run = await cluster.until(process.client.start("tally", undefined, { id: "t" }));
    const before = cluster.clock.now();
    await expect(cluster.until(run.query(total))).rejects.toMatchObject({
      code: "run_not_begun",
      message: expect.stringContaining("no worker has brought it to its first wait within 10s"),
    });
    expect(cluster.clock.now() - before).toBe(10_000);
  });

  test("a query is refused at once while its delay is not over, and answered after it", async () => {
    const t = await testEngine({ workflows: [tally] });
    const run = await t.client.start(tally, undefined, { delay: "3 s" });
    const before = t.clock.now();
    await expect(run.query(total)).rejects.toMatchObject({
      code: "run_not_begun",
      message: expect.stringContaining("it is to begin at "),
      data: { status: "pending", name: "total" },
    });
    expect(t.clock.now()).toBe(before);
    await t.clock.advance("3 s");
    expect(await run.query(total)).toBe(0);
    await t.close();
  });
});

test("a worker that has given a run up, and does not know it yet, does not answer for it", async () => {
  const cluster = new Cluster();
  let slow = false;
  const first = cluster.process("first", async (method, params, next) => {
    const answer = await next();
    const { commits } = (method === "runs.commit" ? params : { commits: [] }) as { commits: readonly Commit[] };
    if (slow && commits.some(({ transition }) => transition.type === "suspend")) await cluster.wait(5_000);
    return answer;
  });
  interface Commit {
    readonly transition: { readonly type: string };
  }
  await first.worker({ workflows: [tally] });
  const run = await cluster.until(first.client.start(tally, undefined, { id: "t" }));
  await cluster.clock.settle();
  slow = true;
  await cluster.until(run.signal(go, 1));
  await cluster.until(cluster.wait(100));
  const second = cluster.process("second");
  await second.worker({ workflows: [tally] });
  expect(await cluster.until(second.client.get("t").update(add, 10))).toBe(11);
  expect(await cluster.until(run.query(total))).toBe(11);
});
