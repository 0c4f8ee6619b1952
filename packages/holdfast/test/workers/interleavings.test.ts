import { type Client, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import type { MemoryTransaction } from "../../src/memory/transactions/transact.ts";
import type { Context } from "../../src/replay/context/context.ts";
import { askTransaction } from "../../src/replay/context/run-context.ts";
import type { StepInfo } from "../../src/replay/ops/step-options.ts";
import { Gate, Line, openWorld, WORKER_CALLS } from "../lab/world.ts";

const word = signal<string>("word");
const EVERY_SECOND = { attempts: 5, initial: "1s", factor: 1, jitter: 0 } as const;
const fail = (time: number): never => {
  throw new Error(`no luck the ${time}. time`);
};

describe("a transaction that has committed while messages before its outcome are still to be read", () => {
  test("is undone when the run fails in that moment", async () => {
    const world = openWorld();
    const [reading, paid, broken] = [new Gate(), new Gate(), new Gate()];
    const client = world.client({
      hooks: {
        "inbox.read": async (_params, call) => {
          await reading.opened;
          return call();
        },
      },
    });
    const ledger: string[] = [];
    const order = workflow("order", async (ctx) => {
      const pay = async (tx: MemoryTransaction): Promise<string> => {
        tx.onCommit(() => ledger.push("pay"));
        await paid.opened;
        return "receipt";
      };
      const compensate = (receipt: unknown, { outcome }: { outcome: string }): void =>
        void ledger.push(`undo ${String(receipt)}, ${outcome}`);
      await Promise.all([
        askTransaction(ctx, "pay", { kind: "memory", fn: pay }, { compensate }),
        ctx.step("ship", () => broken.opened.then(() => Promise.reject(new Error("no ship"))), {
          retry: { attempts: 1 },
        }),
      ]);
    });
    await world.worker(client, { workflows: [order] });
    const run = await client.start(order);
    await world.clock.settle();
    await run.signal(word, "hello");
    await world.clock.settle();
    paid.open();
    await world.clock.settle();
    expect(ledger).toEqual(["pay"]);
    broken.open();
    await world.clock.settle();
    reading.open();
    await expect(world.result(run)).rejects.toThrow("no ship");
    expect(ledger).toEqual(["pay", "undo receipt, completed"]);
  });
});

describe("the end of a run that this process holds", () => {
  test("is known at once when it was terminated from here", async () => {
    const world = openWorld();
    const client = world.client();
    const endless = workflow("endless", (ctx) => ctx.step("wait", () => new Promise<void>(() => {})));
    await world.worker(client, { workflows: [endless] });
    const run = await client.start(endless);
    await world.clock.settle();
    const result = run.result();
    result.catch(() => {});
    await world.clock.settle();
    const before = world.clock.now();
    await world.clock.until(run.terminate());
    await expect(world.clock.until(result)).rejects.toMatchObject({ code: "run_terminated" });
    expect(world.clock.now() - before).toBeLessThan(100);
  });
});

describe("a worker that has stopped", () => {
  test("sends nothing more when it hears only then that a row was locked", async () => {
    const world = openWorld();
    const [sent, answer] = [new Gate(), new Gate()];
    let stopped = false;
    let later = 0;
    const client = world.client({
      hooks: {
        "runs.commit": async ({ commits }) => {
          if (stopped) later += 1;
          sent.open();
          await answer.opened;
          return {
            now: world.clock.now(),
            outcomes: commits.map(() => ({ outcome: "busy" as const, held: true, delivered: 0 })),
            messages: [],
          };
        },
      },
    });
    const hello = workflow("hello", (ctx) => ctx.step("greet", () => "hello"));
    const worker = await world.worker(client, { workflows: [hello] });
    await client.start(hello);
    await world.clock.until(sent.opened);
    await world.clock.until(worker.stop());
    stopped = true;
    answer.open();
    await world.clock.until(world.later(60_000));
    expect(later).toBe(0);
  });
});

describe("a run whose step misuses ctx when it is aborted", () => {
  test("starts nothing more", async () => {
    const world = openWorld();
    const client = world.client();
    const started: number[] = [];
    const slow = ({ signal: aborted }: StepInfo): Promise<void> => {
      const tidyUp = (): Promise<void> => ctx.step("tidy up", () => {});
      return new Promise<void>(() => aborted.addEventListener("abort", () => expect(tidyUp).toThrow("ctx.step")));
    };
    let ctx: Context;
    const sloppy = workflow("sloppy", async (own) => {
      ctx = own;
      await ctx.parallel([
        (branch) => branch.race([(inner) => inner.step("slow", slow), (inner) => inner.sleep("limit", "1s")]),
        (branch) => branch.step("flaky", ({ attempt }) => fail(started.push(attempt)), { retry: EVERY_SECOND }),
      ]);
    });
    await world.worker(client, { workflows: [sloppy] });
    const run = await client.start(sloppy);
    await world.clock.until(world.later(5_000));
    expect(await world.clock.until(run.status())).toBe("parked");
    expect(started).toEqual([1]);
  });
});

describe("a run that goes on for another", () => {
  test("takes patched code, although an outcome of its predecessor's is in its inbox", async () => {
    const world = openWorld();
    const [paid, enough] = [new Gate(), new Gate()];
    const client = world.client({
      hooks: {
        transact: async (_params, call) => {
          const result = await call();
          paid.open();
          await enough.opened;
          return result;
        },
      },
    });
    const relay = workflow("relay", async (ctx, leg: number): Promise<boolean> => {
      if (leg === 2) return ctx.patched("new");
      void askTransaction(ctx, "pay", { kind: "memory", fn: () => 1 });
      await ctx.step("wait", () => paid.opened);
      return ctx.continueAsNew(2);
    });
    await world.worker(client, { workflows: [relay] });
    const run = await client.start(relay, 1);
    const result = world.result(run);
    expect(await result).toBe(true);
    enough.open();
  });
});

describe("code that runs behind a cancel, in front of the outcome of a transaction that nobody waits for any more", () => {
  test("is patched or not, but the same on every worker", async () => {
    const world = openWorld();
    const lines = [1, 2, 3].map(() => new Line(...WORKER_CALLS));
    const taken: string[] = [];
    const [commit, begun] = [new Gate(), new Gate()];
    const order = workflow("order", async (ctx) => {
      await askTransaction(ctx, "pay", { kind: "memory", fn: () => commit.opened }).catch(() =>
        ctx.uncancelable((inner) => {
          const way = ctx.patched("tidy") ? "new" : "old";
          return inner.step(way, () => {
            begun.open();
            return taken.push(way) === 1 ? new Promise<void>(() => {}) : undefined;
          });
        }),
      );
    });
    const clients = lines.map(({ hooks }) => world.client({ hooks }));
    const [first, second, third] = clients as [Client, Client, Client];
    await world.worker(first, { workflows: [order] });
    const run = await first.start(order);
    await world.clock.settle();
    (lines[0] as Line).down = true;
    await run.cancel();
    commit.open();
    await world.clock.settle();
    await world.worker(second, { workflows: [order] });
    await world.clock.until(begun.opened);
    (lines[1] as Line).down = true;
    await world.worker(third, { workflows: [order] });
    await world.clock.until(world.later(120_000));
    expect(world.row(run).status).toBe("completed");
    expect(taken[1]).toBe(taken[0]);
  });
});
