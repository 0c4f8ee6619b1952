import { describe, expect, test } from "vitest";
import type { AnyWorkflow } from "../../src/define/definitions.ts";
import { signal, workflow } from "../../src/define/definitions.ts";
import type { CompensationInfo } from "../../src/replay/ops/step-options.ts";
import { Cluster, faultsInStore, Gate, LEASE_MS, NEVER, type Process } from "../lab/harness.ts";

const word = signal<string>("word");

/** A worker that is about to die, and one that will take over; runs are started on the first. */
async function pair(cluster: Cluster, workflows: readonly AnyWorkflow[]): Promise<{ doomed: Process; heir: Process }> {
  const doomed = cluster.process("doomed");
  const heir = cluster.process("heir");
  await doomed.worker({ workflows });
  await heir.worker({ workflows });
  return { doomed, heir };
}

function startsOf(cluster: Cluster): string[] {
  return cluster.executions.map(({ process, op, attempt }) => `${process}: ${op} ${attempt}`);
}

describe("when a worker dies", () => {
  test("another one finishes its run after the lease: recorded steps are not repeated, the one in flight is", async () => {
    const cluster = new Cluster();
    const entered = new Gate();
    const three = workflow("three", async (ctx) => {
      const a = await ctx.step("a", () => "a");
      const b = await ctx.step("b", () => {
        if (doomed.life.dead) return "b";
        entered.open();
        return NEVER;
      });
      return [a, b, await ctx.step("c", () => "c")];
    });
    const { doomed, heir } = await pair(cluster, [three]);
    const run = await cluster.until(doomed.client.start(three, undefined, { id: "r" }));
    await cluster.until(entered.opened);
    doomed.kill();
    const diedAt = cluster.clock.monotonic();
    expect(await cluster.until(heir.client.get(run.id).result())).toEqual(["a", "b", "c"]);
    expect(startsOf(cluster)).toEqual(["doomed: a 1", "doomed: b 1", "heir: b 1", "heir: c 1"]);
    const tookMs = cluster.clock.monotonic() - diedAt;
    expect(tookMs).toBeLessThanOrEqual(LEASE_MS + 1_000);
    expect(faultsInStore(cluster.store)).toEqual([]);
  });

  test("a result that had reached the store but not the worker counts as recorded", async () => {
    const cluster = new Cluster();
    const two = workflow("two", async (ctx) => [await ctx.step("a", () => 1), await ctx.step("b", () => 2)]);
    const { doomed, heir } = await pair(cluster, [two]);
    cluster.store.fault = (moment, method) => {
      // The commit of the first result takes effect, and its sender dies before the answer arrives.
      if (method === "runs.commit" && moment === "after") doomed.kill();
      return undefined;
    };
    await cluster.until(doomed.client.start(two, undefined, { id: "r" }));
    expect(await cluster.until(heir.client.get("r").result())).toEqual([1, 2]);
    expect(startsOf(cluster)).toEqual(["doomed: a 1", "heir: b 1"]);
  });

  test("the attempts that failed before it died are counted, and the backoff is waited for", async () => {
    const cluster = new Cluster();
    const failing = workflow("failing", async (ctx) => {
      const fail = (): never => {
        throw new Error("no");
      };
      await ctx.step("try", fail, { retry: { attempts: 4, fixed: "40s" } });
    });
    const { doomed, heir } = await pair(cluster, [failing]);
    await cluster.until(doomed.client.start(failing, undefined, { id: "r" }));
    await cluster.when(() => cluster.count("r", "try") === 2);
    await cluster.clock.settle();
    doomed.kill();
    await expect(cluster.until(heir.client.get("r").result())).rejects.toMatchObject({ code: "run_failed" });
    expect(cluster.executions.map(({ attempt, atMs }) => [attempt, Math.round(atMs / 1_000)])).toEqual([
      [1, 0],
      [2, 40],
      [3, 80],
      [4, 120],
    ]);
  });

  test("a backoff that is longer than the lease is waited for by whoever holds the run, and no longer", async () => {
    const cluster = new Cluster();
    const mixed = workflow("mixed", async (ctx) => {
      const long = ctx.step("long", () => (doomed.life.dead ? "done" : NEVER));
      const flaky = ctx.step(
        "flaky",
        ({ attempt }) => {
          if (attempt === 1) throw new Error("once");
          return attempt;
        },
        { retry: { attempts: 2, fixed: "50s" } },
      );
      return Promise.all([long, flaky]);
    });
    const { doomed, heir } = await pair(cluster, [mixed]);
    await cluster.until(doomed.client.start(mixed, undefined, { id: "r" }));
    await cluster.clock.advance("5s");
    doomed.kill();
    expect(await cluster.until(heir.client.get("r").result())).toEqual(["done", 2]);
    const flaky = cluster.executions.filter(({ op }) => op === "flaky");
    expect(flaky.map(({ process, atMs }) => [process, atMs])).toEqual([
      ["doomed", 0],
      ["heir", 50_000],
    ]);
  });

  test("its timers fire at the time that was promised", async () => {
    const cluster = new Cluster();
    const times: Record<string, number> = {};
    const naps = workflow("naps", async (ctx) => {
      const begin = ctx.now().getTime();
      const nap = (name: string, seconds: number) =>
        ctx.sleep(name, { seconds }).then(() => {
          times[name] = ctx.now().getTime() - begin;
        });
      await Promise.all([nap("short", 10), nap("long", 60), ctx.step("busy", () => (doomed.life.dead ? 1 : NEVER))]);
    });
    const { doomed, heir } = await pair(cluster, [naps]);
    await cluster.until(doomed.client.start(naps, undefined, { id: "r" }));
    await cluster.clock.advance("5s");
    doomed.kill();
    await cluster.until(heir.client.get("r").result());
    // The short one was due while there was no worker; it fires as soon as there is one.
    expect(times["short"]).toBeGreaterThanOrEqual(10_000);
    expect(times["short"]).toBeLessThanOrEqual(LEASE_MS + 1_000);
    expect(times["long"]).toBe(60_000);
  });

  test("signals that it had taken in and signals that it had not are received once, in order", async () => {
    const cluster = new Cluster();
    const words = workflow("words", async (ctx) => {
      const heard = [await ctx.receive(word), await ctx.receive(word)];
      await ctx.step("think", () => (doomed.life.dead ? 1 : NEVER));
      return [...heard, await ctx.receive(word), await ctx.receive(word)];
    });
    const { doomed, heir } = await pair(cluster, [words]);
    const run = await cluster.until(doomed.client.start(words, undefined, { id: "r" }));
    for (const text of ["a", "b", "c"]) await cluster.until(run.signal(word, text));
    await cluster.clock.settle();
    doomed.kill();
    await cluster.until(heir.client.get("r").signal(word, "d"));
    expect(await cluster.until(heir.client.get("r").result())).toEqual(["a", "b", "c", "d"]);
    expect(faultsInStore(cluster.store)).toEqual([]);
  });

  test("a step that must not be repeated is not: it fails, and says that nobody knows", async () => {
    const cluster = new Cluster();
    const once = workflow("once", async (ctx) => {
      await ctx.step("first", () => 1, { onCrash: "fail" });
      await ctx.step("pay", () => NEVER, { onCrash: "fail", retry: { attempts: 5 } });
    });
    const { doomed, heir } = await pair(cluster, [once]);
    await cluster.until(doomed.client.start(once, undefined, { id: "r" }));
    await cluster.when(() => cluster.count("r", "pay") === 1);
    doomed.kill();
    await expect(cluster.until(heir.client.get("r").result())).rejects.toMatchObject({
      code: "run_failed",
      cause: { recordedCode: "step_crashed" },
    });
    expect(startsOf(cluster)).toEqual(["doomed: first 1", "doomed: pay 1"]);
    expect(cluster.eventsOf("r").at(-1)).toMatchObject({ type: "step_failed", op: "pay", meta: { unknown: true } });
  });

  test("the compensation of a step that it cut off is told that the outcome is unknown", async () => {
    const cluster = new Cluster();
    const told: [string, CompensationInfo["outcome"], unknown][] = [];
    const saga = workflow("saga", async (ctx) => {
      const undo =
        (name: string) =>
        (result: unknown, { outcome }: CompensationInfo) =>
          void told.push([name, outcome, result]);
      await ctx.step("book", () => "seat 7", { compensate: undo("book") });
      await ctx.step("pay", () => NEVER, { compensate: undo("pay"), onCrash: "fail" });
    });
    const { doomed, heir } = await pair(cluster, [saga]);
    await cluster.until(doomed.client.start(saga, undefined, { id: "r" }));
    await cluster.when(() => cluster.count("r", "pay") === 1);
    doomed.kill();
    await expect(cluster.until(heir.client.get("r").result())).rejects.toMatchObject({ code: "run_failed" });
    expect(told).toEqual([
      ["pay", "unknown", undefined],
      ["book", "completed", "seat 7"],
    ]);
    expect(cluster.runOf("r").compensation).toBe("compensated");
  });

  test("while it winds up a canceled run, the next one does so, and does not start the step again", async () => {
    const cluster = new Cluster();
    const told: string[] = [];
    const saga = workflow("saga", async (ctx) => {
      await ctx.step("pay", () => NEVER, { compensate: (_result, { outcome }) => void told.push(outcome) });
    });
    const { doomed, heir } = await pair(cluster, [saga]);
    const run = await cluster.until(doomed.client.start(saga, undefined, { id: "r" }));
    await cluster.when(() => cluster.count("r", "pay") === 1);
    await cluster.until(run.cancel());
    await cluster.clock.settle();
    expect(cluster.eventsOf("r").at(-1)?.type).toBe("cancel_requested");
    doomed.kill();
    await expect(cluster.until(heir.client.get("r").result())).rejects.toMatchObject({ code: "run_canceled" });
    expect(told).toEqual(["unknown"]);
    expect(startsOf(cluster)).toEqual(["doomed: pay 1", "heir: compensate:pay 1"]);
  });

  test("between two compensations, the one that is recorded is not repeated", async () => {
    const cluster = new Cluster();
    const undone: string[] = [];
    const saga = workflow("saga", async (ctx) => {
      const undoFirst = (): Promise<void> | void => {
        undone.push("first");
        if (!doomed.life.dead) return NEVER;
      };
      await ctx.step("first", () => 1, { compensate: undoFirst });
      await ctx.step("second", () => 2, { compensate: () => void undone.push("second") });
      throw new Error("too bad");
    });
    const { doomed, heir } = await pair(cluster, [saga]);
    await cluster.until(doomed.client.start(saga, undefined, { id: "r" }));
    await cluster.when(() => undone.length === 2);
    doomed.kill();
    await expect(cluster.until(heir.client.get("r").result())).rejects.toMatchObject({ cause: { message: "too bad" } });
    expect(undone).toEqual(["second", "first", "first"]);
  });
});

test("a worker that dies takes nothing along: each of its runs goes on with another one", async () => {
  const cluster = new Cluster();
  const many = workflow("many", async (ctx, n: number) => {
    await ctx.step("before", () => n);
    await ctx.step("work", () => (doomed.life.dead ? n : NEVER));
    return n;
  });
  const { doomed, heir } = await pair(cluster, [many]);
  const runs = await cluster.until(
    doomed.client.startMany(
      Array.from({ length: 50 }, (_, n) => ({ workflow: many, input: n, options: { id: `m${n}` } })),
    ),
  );
  await cluster.when(() => cluster.executions.filter(({ op }) => op === "work").length === 50);
  doomed.kill();
  const results = await cluster.until(Promise.all(runs.map(({ id }) => heir.client.get(id).result())));
  expect(results).toEqual(Array.from({ length: 50 }, (_, n) => n));
  expect(cluster.executions.filter(({ op }) => op === "before")).toHaveLength(50);
  expect(faultsInStore(cluster.store)).toEqual([]);
});
