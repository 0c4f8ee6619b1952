/** Transaction steps on the memory store, whose transactions commit at one moment: what was done is in the ledger, or it is not. */
import { describe, expect, test } from "vitest";
import { signal, workflow } from "../../src/define/definitions.ts";
import type { MemoryTransaction } from "../../src/memory/transactions/transact.ts";
import type { Context } from "../../src/replay/context/context.ts";
import { askTransaction } from "../../src/replay/context/run-context.ts";
import type { CompensationInfo, StepInfo, StepOptions } from "../../src/replay/ops/step-options.ts";
import {
  Cluster,
  faultsInStore,
  Gate,
  NEVER,
  outcomeUnknown,
  type Process,
  unavailable,
  Valve,
} from "../lab/harness.ts";

const go = signal<number>("go");

/** What has been committed, in order. */
class Ledger {
  readonly entries: string[] = [];

  /** A transaction step that writes its name into the ledger, when its function has come to an end. */
  write(ctx: Context, name: string, options: WriteOptions = {}): Promise<unknown> {
    const { before, value = `${name} is written`, ...rest } = options;
    const fn = async (tx: MemoryTransaction, step: StepInfo): Promise<unknown> => {
      tx.onCommit(() => this.entries.push(name));
      await before?.(step);
      return value;
    };
    return askTransaction(ctx, name, { kind: "memory", fn }, rest);
  }
}

interface WriteOptions extends StepOptions<unknown> {
  readonly before?: (step: StepInfo) => unknown;
  readonly value?: unknown;
}

/** The function of a step does not return until it is released. */
class SlowStep {
  readonly inside = new Gate();
  readonly #leave = new Gate();
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
  }

  readonly before = (): Promise<void> => {
    this.inside.open();
    return this.#leave.opened;
  };

  /** The message is in the inbox before the result message is, but the holder does not know it. */
  async endAfter(send: () => Promise<unknown>): Promise<void> {
    await this.#cluster.until(this.inside.opened);
    this.#cluster.hints.loses = ({ type }) => type === "inbox";
    await this.#cluster.until(send());
    this.#leave.open();
  }
}

class World {
  readonly cluster = new Cluster();
  readonly ledger = new Ledger();

  until<T>(promise: Promise<T>): Promise<T> {
    return this.cluster.until(promise);
  }

  /** How many result messages the store has for the run, in history or not. */
  outcomes(id: string): number {
    const inbox = this.cluster.store.state.inbox.get(this.cluster.runOf(id).runId) ?? [];
    return inbox.filter(({ kind }) => kind === "outcome").length;
  }

  types(id: string): string[] {
    return this.cluster.eventsOf(id).map(({ type, op }) => (op === null ? type : `${type} ${op}`));
  }

  check(...entries: string[]): void {
    expect(this.ledger.entries).toEqual(entries);
    expect(faultsInStore(this.cluster.store)).toEqual([]);
    expect(this.cluster.errors).toEqual([]);
  }
}

describe("a transaction step", () => {
  test("is written down once whichever of its store calls is the last one that its worker makes", async () => {
    const mixed = (ledger: Ledger) =>
      workflow("mixed", async (ctx) => {
        const first = await ctx.step("first", () => 1);
        const both = await Promise.all([
          ledger.write(ctx, "debit"),
          ctx.step("beside", () => 2),
          ledger.write(ctx, "credit"),
        ]);
        return [first, ...both, await ledger.write(ctx, "fee")];
      });
    let deaths = 0;
    for (let last = 1; ; last++) {
      for (const moment of ["before", "after"] as const) {
        const world = new World();
        const { cluster, ledger } = world;
        const definition = mixed(ledger);
        const heir = cluster.process("heir");
        let calls = 0;
        const doomed: Process = cluster.process("doomed", async (method, _params, next) => {
          const mine = ["runs.commit", "transact", "inbox.read"].includes(method) ? ++calls : 0;
          if (mine === last && moment === "before") doomed.kill();
          const answer = doomed.life.dead ? NEVER : await next();
          if (mine === last && moment === "after") doomed.kill();
          return doomed.life.dead ? NEVER : answer;
        });
        await doomed.worker({ workflows: [definition] });
        await world.until(doomed.client.start(definition, undefined, { id: "r" }));
        await heir.worker({ workflows: [definition] });
        expect(await world.until(heir.client.get("r").result())).toEqual([
          1,
          "debit is written",
          2,
          "credit is written",
          "fee is written",
        ]);
        world.check(...ledger.entries);
        expect([...ledger.entries].sort()).toEqual(["credit", "debit", "fee"]);
        if (doomed.life.dead) deaths += 1;
        else if (calls < last) {
          expect(deaths).toBeGreaterThan(12);
          return;
        }
      }
    }
  });

  test.each(["once", "three times"])(
    "whose commit is not answered %s happens once, as its first attempt",
    async (how) => {
      const world = new World();
      const { cluster, ledger } = world;
      let left = how === "once" ? 1 : 3;
      cluster.store.fault = (moment, method) =>
        method === "transact" && moment === "after" && left-- > 0 ? outcomeUnknown() : undefined;
      const one = workflow("one", (ctx) => ledger.write(ctx, "move"));
      const process = cluster.process();
      await process.worker({ workflows: [one] });
      const run = await world.until(process.client.start(one, undefined, { id: "r" }));
      expect(await world.until(run.result())).toBe("move is written");
      expect(cluster.eventsOf("r")[0]?.meta).not.toHaveProperty("attempt");
      world.check("move");
    },
  );

  test("that the store cannot be reached for is tried again for as long as it takes, and that is no attempt", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    let left = 12;
    cluster.store.fault = (moment, method) =>
      method === "transact" && moment === "before" && left-- > 0 ? unavailable() : undefined;
    const one = workflow("one", (ctx) => ledger.write(ctx, "move", { retry: "none" }));
    const process = cluster.process();
    await process.worker({ workflows: [one] });
    const run = await world.until(process.client.start(one, undefined, { id: "r" }));
    expect(await world.until(run.result())).toBe("move is written");
    expect(world.types("r").at(-1)).toBe("step_completed move");
    world.check("move");
  });

  test("of a worker that has lost its lease meanwhile does not happen; it happens where the run is now", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    const inside = new Gate();
    const leave = new Gate();
    const by: string[] = [];
    const one = (name: string) =>
      workflow("one", (ctx) =>
        ledger.write(ctx, "move", {
          before: () => {
            by.push(name);
            if (name === "heir") return undefined;
            inside.open();
            return leave.opened;
          },
        }),
      );
    const sleeper = cluster.process("sleeper");
    const heir = cluster.process("heir");
    await sleeper.worker({ workflows: [one("sleeper")] });
    await world.until(sleeper.client.start(one("sleeper"), undefined, { id: "r" }));
    await world.until(inside.opened);
    sleeper.life.freeze();
    await heir.worker({ workflows: [one("heir")] });
    expect(await world.until(heir.client.get("r").result())).toBe("move is written");
    leave.open();
    sleeper.thaw();
    await cluster.clock.advance("2 minutes");
    expect(by).toEqual(["sleeper", "heir"]);
    world.check("move");
  });

  test("that commits when nobody waits for it any more is taken out of the inbox, and the run goes on", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    const step = new SlowStep(cluster);
    const race = workflow("race", async (ctx) => {
      const { winner } = await ctx.race({
        move: (c) => ledger.write(c, "move", { before: step.before }),
        word: (c) => c.receive(go),
      });
      await ctx.sleep("rest", "1 minute");
      return winner;
    });
    const process = cluster.process();
    await process.worker({ workflows: [race] });
    const run = await world.until(process.client.start(race, undefined, { id: "r" }));
    await step.endAfter(() => run.signal(go, 1));
    expect(await world.until(run.result())).toBe("word");
    expect(world.types("r")).toEqual(["signal_received go", "timer_created rest", "timer_fired rest"]);
    expect(cluster.runOf("r")).toMatchObject({ delivered: 2, consumed: 2 });
    world.check("move");
  });

  test("that ran out of time in the middle of its commit has happened, and counts", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    const answers = new Valve("transact", "answers");
    const one = workflow("one", (ctx) => ledger.write(ctx, "move", { timeout: "1s", retry: "none" }));
    const process = cluster.process("p", answers.hook);
    await process.worker({ workflows: [one] });
    answers.shut();
    const run = await world.until(process.client.start(one, undefined, { id: "r" }));
    await cluster.when(() => ledger.entries.length === 1);
    await cluster.clock.advance("5s");
    answers.open();
    expect(await world.until(run.result())).toBe("move is written");
    world.check("move");
  });

  test("that runs out of time before its commit has not happened, and says so for certain", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    const told: unknown[] = [];
    const one = workflow("one", (ctx) =>
      ledger.write(ctx, "move", {
        before: () => NEVER,
        timeout: "1s",
        retry: "none",
        compensate: (_, { outcome }) => void told.push(outcome),
      }),
    );
    const process = cluster.process();
    await process.worker({ workflows: [one] });
    const run = await world.until(process.client.start(one, undefined, { id: "r" }));
    await expect(world.until(run.result())).rejects.toThrow("took longer than 1s");
    expect(told).toEqual(["failed"]);
    expect(cluster.eventsOf("r").some(({ meta }) => meta?.unknown)).toBe(false);
    world.check();
  });

  test("whose result cannot be stored has not happened, and is not tried again", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    let calls = 0;
    const one = workflow("one", (ctx) => ledger.write(ctx, "move", { before: () => ++calls, value: () => {} }));
    const process = cluster.process();
    await process.worker({ workflows: [one] });
    const run = await world.until(process.client.start(one, undefined, { id: "r" }));
    await expect(world.until(run.result())).rejects.toMatchObject({ code: "run_failed" });
    expect(calls).toBe(1);
    world.check();
  });

  test("of another store than the one in use fails with words that say so", async () => {
    const world = new World();
    const other = workflow("other", (ctx) => askTransaction(ctx, "move", { kind: "postgres", fn: () => 1 }));
    const process = world.cluster.process();
    await process.worker({ workflows: [other] });
    const run = await world.until(process.client.start(other, undefined, { id: "r" }));
    await expect(world.until(run.result())).rejects.toThrow(
      /@holdfast\/postgres, but this client is connected to memory/,
    );
    world.check();
  });
});

describe("the outcome of a transaction step", () => {
  test("that reaches the run by way of another message, before its own worker hears of it, counts once", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    const answers = new Valve("transact", "answers");
    const both = workflow("both", (ctx) => Promise.all([ledger.write(ctx, "move"), ctx.receive(go)]));
    const process = cluster.process("p", answers.hook);
    await process.worker({ workflows: [both] });
    answers.shut();
    const run = await world.until(process.client.start(both, undefined, { id: "r" }));
    await cluster.when(() => ledger.entries.length === 1);
    await world.until(run.signal(go, 7));
    await cluster.when(() => world.types("r").includes("step_completed move"));
    answers.open();
    expect(await world.until(run.result())).toEqual(["move is written", 7]);
    world.check("move");
  });

  test("is used by a run that was parked when it came, once it is resumed", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    const answers = new Valve("transact", "answers");
    const astray = new Gate<number>();
    let mended = false;
    const one = workflow("one", async (ctx) => {
      const moved = ledger.write(ctx, "move");
      await ctx.step("beside", () => (mended ? 1 : astray.opened));
      // Not an op: the run is parked.
      if (!mended)
        await Promise.resolve()
          .then(() => cluster.wait(10))
          .then(() => ctx.now());
      return moved;
    });
    const process = cluster.process("p", answers.hook);
    await process.worker({ workflows: [one] });
    answers.shut();
    const run = await world.until(process.client.start(one, undefined, { id: "r" }));
    await cluster.when(() => ledger.entries.length === 1);
    astray.open(1);
    await cluster.when(() => cluster.runOf("r").status === "parked");
    answers.open();
    await cluster.clock.settle();
    cluster.errors.length = 0;
    mended = true;
    await world.until(run.resume());
    expect(await world.until(run.result())).toBe("move is written");
    world.check("move");
  });

  test("is not the successor's, although that asks for a step of the same name", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    const step = new SlowStep(cluster);
    const chain = workflow("chain", async (ctx, round: number): Promise<unknown> => {
      const moved = ledger.write(ctx, "move", round === 1 ? { before: step.before } : { value: "the second" });
      if (round === 2) return moved;
      await ctx.receive(go);
      return ctx.continueAsNew(2);
    });
    const process = cluster.process();
    await process.worker({ workflows: [chain] });
    const run = await world.until(process.client.start(chain, 1, { id: "r" }));
    await step.endAfter(() => run.signal(go, 1));
    expect(await world.until(run.result())).toBe("the second");
    expect(world.outcomes("r")).toBe(2);
    world.check("move", "move");
  });

  test("that came when the run had failed already is found again when the run is retried", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    const answers = new Valve("transact", "answers");
    const fails = new Gate();
    let mended = false;
    const one = workflow("one", async (ctx) => {
      const moved = ledger.write(ctx, "move");
      const fail = async (): Promise<number> => {
        if (mended) return 1;
        await fails.opened;
        throw new Error("no");
      };
      await ctx.step("beside", fail, { retry: "none" });
      return moved;
    });
    const process = cluster.process("p", answers.hook);
    await process.worker({ workflows: [one] });
    answers.shut();
    const run = await world.until(process.client.start(one, undefined, { id: "r" }));
    await cluster.when(() => ledger.entries.length === 1);
    fails.open();
    await expect(world.until(run.result())).rejects.toMatchObject({ code: "run_failed" });
    answers.open();
    mended = true;
    await world.until(run.retry());
    expect(await world.until(run.result())).toBe("move is written");
    world.check("move");
  });

  test("is given to the same step of the next run attempt, when the whole run is retried", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    let tries = 0;
    const fallback = workflow({ name: "fallback", retry: { attempts: 2, fixed: "1s" } }, async (ctx) => {
      const fail = (): never => {
        tries += 1;
        throw new Error(`no ${tries}`);
      };
      try {
        return await ctx.step("main", fail, { retry: "none" });
      } catch (error) {
        const written = await ledger.write(ctx, "note it");
        if (tries === 1) throw error;
        return written;
      }
    });
    const process = cluster.process();
    await process.worker({ workflows: [fallback] });
    const run = await world.until(process.client.start(fallback, undefined, { id: "r" }));
    expect(await world.until(run.result())).toBe("note it is written");
    expect(ledger.entries).toEqual(["note it"]);
  });

  test("that no step of new code asks for parks the run, instead of being thrown away and done again", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    const named = (name: string) => workflow("one", (ctx) => ledger.write(ctx, name));
    const doomed: Process = cluster.process("doomed", async (method, _params, next) => {
      const answer = await next();
      if (method === "transact") doomed.kill();
      return doomed.life.dead ? NEVER : answer;
    });
    await doomed.worker({ workflows: [named("move")] });
    await world.until(doomed.client.start(named("move"), undefined, { id: "r" }));
    await cluster.when(() => doomed.life.dead);
    const renamed = cluster.process("renamed");
    const wrong = await renamed.worker({ workflows: [named("transfer")] });
    await cluster.when(() => cluster.runOf("r").status === "parked");
    expect(cluster.runOf("r").error?.message).toMatch(
      /step_completed of "move" was recorded, but the code did not ask/,
    );
    await world.until(wrong.stop());
    await renamed.worker({ workflows: [named("move")] });
    await world.until(renamed.client.get("r").resume());
    expect(await world.until(renamed.client.get("r").result())).toBe("move is written");
    cluster.errors.length = 0;
    world.check("move");
  });
});

test("code that was patched in front of a transaction that is done, but not in history yet, does not count as new", async () => {
  const world = new World();
  const { cluster, ledger } = world;
  const old = workflow("one", (ctx) => ledger.write(ctx, "move"));
  const patched = workflow("one", async (ctx) => {
    if (ctx.patched("check first")) await ctx.step("check", () => 1);
    const moved = await ledger.write(ctx, "move");
    return [moved, ctx.patched("afterwards")];
  });
  const doomed: Process = cluster.process("doomed", async (method, _params, next) => {
    const answer = await next();
    if (method === "transact") doomed.kill();
    return doomed.life.dead ? NEVER : answer;
  });
  await doomed.worker({ workflows: [old] });
  await world.until(doomed.client.start(old, undefined, { id: "r" }));
  await cluster.when(() => doomed.life.dead);
  const process = cluster.process("patched");
  await process.worker({ workflows: [patched] });
  expect(await world.until(process.client.get("r").result())).toEqual(["move is written", true]);
  expect(cluster.count("r", "check")).toBe(0);
  world.check("move");
});

describe("the compensation of a transaction step", () => {
  test("is not run when the run is canceled while the transaction waits for the store: its function was never called", async () => {
    const world = new Cluster();
    const waiting = new Valve("transact", "calls");
    const undone: CompensationInfo[] = [];
    const ledger = new Ledger();
    const w = workflow("w", (ctx) => ledger.write(ctx, "a", { compensate: (_result, info) => void undone.push(info) }));
    const worker = world.process("p", waiting.hook);
    await worker.worker({ workflows: [w] });
    waiting.shut();
    const run = await world.until(worker.client.start(w, undefined, { id: "r" }));
    await world.clock.advance("1s");
    expect(waiting.waiting).toBe(1);
    await world.until(run.cancel("enough"));
    waiting.open();
    await expect(world.until(run.result())).rejects.toMatchObject({ code: "run_canceled" });
    expect(undone).toEqual([]);
    expect(ledger.entries).toEqual([]);
    expect(faultsInStore(world.store)).toEqual([]);
  });

  test("is told that it has completed, with its result, when the cancel was faster than the outcome", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    const step = new SlowStep(cluster);
    const told: unknown[] = [];
    const compensate = (result: unknown, { outcome }: CompensationInfo): void => void told.push([outcome, result]);
    const one = workflow("one", (ctx) => ledger.write(ctx, "move", { before: step.before, compensate }));
    const process = cluster.process();
    await process.worker({ workflows: [one] });
    const run = await world.until(process.client.start(one, undefined, { id: "r" }));
    await step.endAfter(() => run.cancel("enough"));
    await expect(world.until(run.result())).rejects.toMatchObject({ code: "run_canceled" });
    expect(told).toEqual([["completed", "move is written"]]);
    world.check("move");
  });

  test.each([
    ["before its commit", "failed", []],
    ["after its commit", "completed", ["move"]],
  ] as const)("is told what became of it when a crash cut it off %s", async (when, outcome, entries) => {
    const world = new World();
    const { cluster, ledger } = world;
    const step = new SlowStep(cluster);
    const told: unknown[] = [];
    const compensate = (_: unknown, c: CompensationInfo): void => void told.push(c.outcome);
    const one = workflow("one", (ctx) => ledger.write(ctx, "move", { before: step.before, compensate }));
    const doomed: Process = cluster.process("doomed", async (method, _params, next) => {
      const answer = await next();
      if (method === "transact") doomed.kill();
      return doomed.life.dead ? NEVER : answer;
    });
    await doomed.worker({ workflows: [one] });
    const run = await world.until(doomed.client.start(one, undefined, { id: "r" }));
    if (when === "before its commit") {
      await world.until(step.inside.opened);
      await world.until(run.cancel("enough"));
      doomed.kill();
    } else await step.endAfter(() => run.cancel("enough"));
    await cluster.when(() => doomed.life.dead);
    const heir = cluster.process("heir");
    await heir.worker({ workflows: [one] });
    await expect(world.until(heir.client.get("r").result())).rejects.toMatchObject({ code: "run_canceled" });
    expect(told).toEqual([outcome]);
    world.check(...entries);
  });
});

describe("a worker that leaves", () => {
  test("lets a transaction step end when it drains, and hands the rest of the run on", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    const inside = new Gate();
    const leave = new Gate();
    const two = workflow("two", async (ctx) => {
      const before = (): Promise<void> => {
        inside.open();
        return leave.opened;
      };
      await ledger.write(ctx, "debit", { before });
      return ledger.write(ctx, "credit");
    });
    const first = cluster.process("first");
    const worker = await first.worker({ workflows: [two] });
    await world.until(first.client.start(two, undefined, { id: "r" }));
    await world.until(inside.opened);
    const drained = worker.drain();
    await cluster.clock.settle();
    leave.open();
    await world.until(drained);
    expect(ledger.entries).toEqual(["debit"]);
    const second = cluster.process("second");
    await second.worker({ workflows: [two] });
    expect(await world.until(second.client.get("r").result())).toBe("credit is written");
    expect(cluster.executions.map(({ process, op }) => `${process} ${op}`)).toEqual(["first debit", "second credit"]);
    world.check("debit", "credit");
  });

  test("takes a transaction step back when it is stopped; another one does it", async () => {
    const world = new World();
    const { cluster, ledger } = world;
    const inside = new Gate();
    let stopped = false;
    const one = workflow("one", (ctx) =>
      ledger.write(ctx, "move", {
        before: () => {
          inside.open();
          return stopped ? undefined : NEVER;
        },
      }),
    );
    const first = cluster.process("first");
    const worker = await first.worker({ workflows: [one] });
    await world.until(first.client.start(one, undefined, { id: "r" }));
    await world.until(inside.opened);
    stopped = true;
    await world.until(worker.stop());
    world.check();
    const second = cluster.process("second");
    await second.worker({ workflows: [one] });
    expect(await world.until(second.client.get("r").result())).toBe("move is written");
    world.check("move");
  });
});

describe("a transaction step", () => {
  test("that was written for another store is refused before its work is begun", async () => {
    const { cluster } = new World();
    let begun = 0;
    const transfer = workflow("transfer", (ctx) =>
      askTransaction(ctx, "move", { kind: "sqlite", fn: () => (begun += 1) }, { retry: "none" }),
    );
    const process = cluster.process();
    await process.worker({ workflows: [transfer] });
    const run = await cluster.until(process.client.start(transfer));
    await expect(cluster.until(run.result())).rejects.toThrow(
      'Step "move" is a transaction of @holdfast/sqlite, but this client is connected to memory. In tests, mock the step.',
    );
    expect(begun).toBe(0);
  });
});
