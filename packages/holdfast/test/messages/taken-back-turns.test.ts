/** What becomes of the steps of a run whose last turns are taken back, because a signal has come before its end. */
import { type Context, type RunHandle, type StepOptions, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { askTransaction } from "../../src/replay/context/run-context.ts";
import { waylaid } from "../lab/waylaid.ts";
import { Gate, openWorld } from "../lab/world.ts";

const word = signal<string>("word");

const KINDS: Record<string, StepOptions<string>> = {
  "a plain step": {},
  'a step with onCrash: "fail"': { onCrash: "fail" },
  "a step with a compensation": { compensate: () => {} },
};

/** The signal is accepted while the first end of the run is on its way. */
const inTime = (handle: RunHandle, ends: number): Promise<unknown> | undefined =>
  ends === 1 ? handle.signal(word, "in time") : undefined;

/** A step that can be opened, and knows how often it was executed and aborted. */
class Door {
  readonly gate = new Gate();
  /** Its function is about to return for the first time. */
  readonly passed = new Gate();
  calls = 0;
  aborts = 0;
  failures = 0;

  ask(ctx: Context, name: string, options: StepOptions<string> = {}): Promise<string> {
    const pass = async ({ signal: abort }: { signal: AbortSignal }): Promise<string> => {
      this.calls += 1;
      abort.addEventListener("abort", () => {
        this.aborts += 1;
      });
      await this.gate.opened;
      this.passed.open();
      if (this.calls <= this.failures) throw new Error("locked");
      return `${name}${this.calls}`;
    };
    return ctx.step(name, pass, options);
  }
}

/** Ends as soon as `a` is done, unless there is a signal: then it waits for `b` as well. */
async function firstOrBoth(ctx: Context, a: Promise<string>, b: Promise<string>): Promise<unknown> {
  const first = await Promise.race([a, ctx.receive(word)]);
  return first === "a1" ? "ended without the signal" : [first, await b];
}

describe("a step whose result is still to be delivered when the code ends", () => {
  test.each(Object.entries(KINDS))("is not executed again when that end is taken back: %s", async (_, options) => {
    const world = openWorld();
    const [a, b] = [new Door(), new Door()];
    const code = (ctx: Context) => firstOrBoth(ctx, a.ask(ctx, "a"), b.ask(ctx, "b", options));
    const { run } = await waylaid(world, code, inTime);
    await world.clock.settle();
    a.gate.open();
    b.gate.open();
    expect(await world.result(run)).toEqual(["in time", "b1"]);
    expect(b.calls).toBe(1);
  });

  test("is not executed again either if the signal has come together with it", async () => {
    const world = openWorld();
    const [a, b] = [new Door(), new Door()];
    const code = (ctx: Context) => firstOrBoth(ctx, a.ask(ctx, "a"), b.ask(ctx, "b", { onCrash: "fail" }));
    const { run, ends } = await waylaid(world, code, () => undefined, {
      "inbox.read": async (_, call) => {
        const answer = await call();
        a.gate.open();
        b.gate.open();
        await b.passed.opened;
        return answer;
      },
    });
    await world.clock.settle();
    await run.signal(word, "in time");
    expect(await world.result(run)).toEqual(["in time", "b1"]);
    expect([a.calls, b.calls, ends()]).toEqual([1, 1, 1]);
  });

  test("keeps the attempts that have failed, and the delay before the next one", async () => {
    const world = openWorld();
    const [a, b] = [new Door(), new Door()];
    b.failures = 1;
    const retry = { attempts: 2, fixed: "1h" } as const;
    const code = (ctx: Context) => firstOrBoth(ctx, a.ask(ctx, "a"), b.ask(ctx, "b", { retry }));
    const { run } = await waylaid(world, code, inTime);
    await world.clock.settle();
    const began = world.clock.now();
    a.gate.open();
    b.gate.open();
    expect(await world.result(run)).toEqual(["in time", "b2"]);
    expect(world.clock.now() - began).toBe(3_600_000);
    expect(b.calls).toBe(2);
  });
});

describe("a step that has lost a race", () => {
  /** Gives up after an hour, in several turns, unless there is a signal: then it waits for the step. */
  const patient =
    (door: Door, options: StepOptions<string>) =>
    async (ctx: Context): Promise<unknown> => {
      const outcome = await ctx.race({
        timeout: (c) => c.sleep("patience", "1h"),
        work: async (c) => {
          const work = door.ask(c, "work", options);
          await c.receive(word);
          return { work };
        },
      });
      if (outcome.winner === "work") return outcome.value.work;
      await ctx.sleep("nothing", "0ms");
      return "gave up";
    };

  test.each(Object.entries(KINDS))("runs on while that can still be taken back: %s", async (_, options) => {
    const world = openWorld();
    const door = new Door();
    const { run } = await waylaid(world, patient(door, options), inTime);
    await world.clock.advance("2h");
    expect([door.calls, door.aborts]).toEqual([1, 0]);
    door.gate.open();
    expect(await world.result(run)).toBe("work1");
    expect(door.calls).toBe(1);
  });

  test("keeps a result that comes while that can still be taken back", async () => {
    const world = openWorld();
    const door = new Door();
    const open = async (handle: RunHandle, ends: number): Promise<void> => {
      if (ends > 1) return;
      door.gate.open();
      await world.clock.settle();
      await handle.signal(word, "in time");
    };
    const { run } = await waylaid(world, patient(door, { onCrash: "fail" }), open);
    expect(await world.result(run)).toBe("work1");
    expect(door.calls).toBe(1);
  });

  test("is aborted once that is durable, if the code goes on", async () => {
    const world = openWorld();
    const door = new Door();
    const client = world.client();
    const job = workflow("job", async (ctx) => {
      await patient(door, {})(ctx);
      return ctx.receive(word, { timeout: "1h" });
    });
    await world.worker(client, { workflows: [job] });
    const run = await client.start(job);
    await world.clock.advance("90m");
    expect(door.aborts).toBe(1);
    expect(await run.status()).toBe("waiting");
    expect(await world.result(run)).toBeUndefined();
  });

  test("is wound up once that is durable, also between two attempts", async () => {
    const world = openWorld();
    const door = new Door();
    door.gate.open();
    door.failures = 1;
    const client = world.client();
    const retry = { attempts: 2, fixed: "2h" } as const;
    const job = workflow("job", async (ctx) => {
      await patient(door, { retry, compensate: () => {} })(ctx);
      await ctx.sleep("rest", "2h");
    });
    await world.worker(client, { workflows: [job] });
    const began = world.clock.now();
    const run = await client.start(job);
    await world.result(run);
    const ended = world.events(run).find(({ type }) => type === "step_failed");
    expect(ended).toMatchObject({ op: "work", at: began + 3_600_000, meta: { withdrawn: true } });
    expect(door.calls).toBe(1);
  });
});

describe("a transaction that commits while the last turns of its run are taken back", () => {
  test("is undone as one that has taken effect, however late its result message is read", async () => {
    const world = openWorld();
    const [begun, committed] = [new Gate(), new Gate()];
    const undone: unknown[] = [];
    let reads = 0;
    const code = async (ctx: Context): Promise<unknown> => {
      const compensate = (result: unknown, { outcome }: { readonly outcome: string }) =>
        void undone.push([result, outcome]);
      askTransaction(ctx, "pay", { kind: "memory", fn: () => "receipt" }, { compensate }).catch(() => {});
      if ((await ctx.receive(word, { timeout: "1h" })) === undefined) return "gave up";
      throw new Error("rejected");
    };
    const { run } = await waylaid(world, code, inTime, {
      transact: async (_, call) => {
        await begun.opened;
        const answer = await call();
        committed.open();
        return answer;
      },
      "inbox.read": async (_, call) => {
        reads += 1;
        // The first one is that of the run that is taken back: its answer does not have the result message.
        if (reads > 1) await world.later(1_000);
        const answer = await call();
        begun.open();
        await committed.opened;
        await world.later(1);
        return answer;
      },
    });
    await expect(world.result(run)).rejects.toThrow("rejected");
    expect(undone).toEqual([["receipt", "completed"]]);
  });
});

describe("a step that has ended after the code did", () => {
  test("leaves the others alone when that end is taken back: the run is held until they are done", async () => {
    const world = openWorld();
    const [quick, slow] = [new Door(), new Door()];
    const code = async (ctx: Context): Promise<unknown> => {
      const both = [slow.ask(ctx, "slow"), quick.ask(ctx, "quick")];
      const heard = await ctx.receive(word, { timeout: "1h" });
      return heard === undefined ? "gave up" : [heard, ...(await Promise.all(both))];
    };
    const { run } = await waylaid(world, code, async (handle, ends) => {
      if (ends === 1) quick.gate.open();
      await inTime(handle, ends);
    });
    await world.clock.advance("2h");
    expect(await run.status()).toBe("running");
    expect(world.row(run).heldBy).not.toBeNull();
    slow.gate.open();
    expect(await world.result(run)).toEqual(["in time", "slow1", "quick1"]);
    expect([quick.calls, slow.calls, slow.aborts]).toEqual([1, 1, 0]);
  });
});
