import { type AnyWorkflow, type Context, NonRetryableError, RecordedError, type RunHandle, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, onTestFinished, test } from "vitest";
import type { EndErrorRecord } from "../../src/model/error-record.ts";
import { openWorld } from "../lab/world.ts";

/** Steps that fail until they are repaired, and a log of what was executed. */
class Plant {
  readonly executed: string[] = [];
  /** How often each of them fails before it works. */
  readonly failures: number;
  down = true;

  constructor(failures = 1) {
    this.failures = failures;
  }

  /** A step that is down the first time. */
  once(ctx: Context, name: string): Promise<string> {
    return ctx.step(name, () => this.#run(name, this.#count(name) < this.failures), { retry: "none" });
  }

  /** A step that is down until somebody repairs all of them. */
  untilRepaired(ctx: Context, name: string): Promise<string> {
    return ctx.step(name, () => this.#run(name, this.down), { retry: "none" });
  }

  /** Whatever was executed since somebody last asked. */
  takeExecuted(): string {
    return this.executed.splice(0).join(" ");
  }

  #run(name: string, fails: boolean): string {
    this.executed.push(name);
    if (fails) throw new Error(`${name} is down`);
    return name;
  }

  #count(name: string): number {
    return this.executed.filter((other) => other === name).length;
  }
}

async function open(...workflows: AnyWorkflow[]) {
  const t = await testEngine({ workflows });
  onTestFinished(() => t.close());
  return t;
}

async function forgotten(run: RunHandle): Promise<unknown[]> {
  return (await run.history()).filter(({ type }) => type === "run_retried").map(({ forgets }) => forgets);
}

const NAMES = ["a", "b", "c"];

type Step = (ctx: Context, name: string) => Promise<string>;

async function settled(ctx: Context, step: Step): Promise<unknown[]> {
  const results = await Promise.allSettled(NAMES.map((name) => step(ctx, name)));
  return results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
}

async function inBranches(ctx: Context, step: Step): Promise<unknown[]> {
  const branches = NAMES.map((name) => (branch: Context) => step(branch, name));
  const results = await ctx.parallel(branches, { onError: "collect-all" });
  return results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
}

async function oneAfterAnother(ctx: Context, step: Step): Promise<unknown[]> {
  const reasons: unknown[] = [];
  for (const name of NAMES) await step(ctx, name).catch((reason) => reasons.push(reason));
  return reasons;
}

/** What code does with several failures. Each ends the run because of them. */
const WAYS: Record<string, (ctx: Context, step: Step) => Promise<unknown>> = {
  "Promise.all": (ctx, step) => Promise.all(NAMES.map((name) => step(ctx, name))),
  "ctx.parallel": (ctx, step) => ctx.parallel(NAMES.map((name) => (branch) => step(branch, name))),
  "throwing the first reason": async (ctx, step) => {
    const [reason] = await settled(ctx, step);
    if (reason) throw reason;
  },
  "throwing the last reason": async (ctx, step) => {
    const reason = (await settled(ctx, step)).at(-1);
    if (reason) throw reason;
  },
  "an error whose cause is one of them": async (ctx, step) => {
    const [, cause] = await inBranches(ctx, step);
    if (cause) throw new Error("some have failed", { cause });
  },
  "an error that has all of them": async (ctx, step) => {
    const reasons = await settled(ctx, step);
    if (reasons.length > 0) throw new AggregateError(reasons.reverse(), "some have failed");
  },
  "throwing the first reason after trying them one after another": async (ctx, step) => {
    const [reason] = await oneAfterAnother(ctx, step);
    if (reason) throw reason;
  },
};

/** The same, with an error that says nothing of them: for a person, because the run is not tried again by itself for such an error. */
const SILENT_WAYS: typeof WAYS = {
  "an error that says nothing of them": async (ctx, step) => {
    if ((await settled(ctx, step)).length > 0) throw new Error("some have failed");
  },
  "an error that says nothing of them, after trying them one after another": async (ctx, step) => {
    if ((await oneAfterAnother(ctx, step)).length > 0) throw new Error("some have failed");
  },
  "a report of the failure, and an error that says nothing of it": async (ctx, step) => {
    try {
      await step(ctx, "a");
    } catch {
      await ctx.step("report", () => "reported");
      throw new Error("it has failed");
    }
  },
};

describe("a run with several failed steps that is tried again by itself", () => {
  test.each(Object.entries(WAYS))("executes all of them in its second try: %s", async (_, way) => {
    const plant = new Plant();
    const wide = workflow({ name: "wide", retry: { attempts: 2, fixed: "1s" } }, async (ctx) => {
      await way(ctx, (c, name) => plant.once(c, name));
      return "done";
    });
    const t = await open(wide);
    expect(await t.run(wide)).toBe("done");
    expect(plant.executed.filter((name) => name === "a")).toHaveLength(2);
  });

  test("takes back failures that were recorded while other steps were still running", async () => {
    const world = openWorld();
    const calls = { quick: 0, slow: 0, fine: 0 };
    const undone: string[] = [];
    const wide = workflow({ name: "wide", retry: { attempts: 2, fixed: "1s" } }, (ctx) => {
      const failOnce = async (name: "quick" | "slow", ms: number): Promise<string> => {
        await world.later(ms);
        calls[name] += 1;
        if (calls[name] === 1) throw new Error(`${name} is down`);
        return name;
      };
      const fine = async (): Promise<string> => {
        await world.later(500);
        calls.fine += 1;
        return "fine";
      };
      const compensate = (): void => void undone.push("undone");
      return Promise.all([
        ctx.step("quick", () => failOnce("quick", 10), { retry: "none", compensate }),
        ctx.step("slow", () => failOnce("slow", 700), { retry: "none", compensate }),
        ctx.step("fine", fine, { compensate }),
      ]);
    });
    const client = world.client();
    await world.worker(client, { workflows: [wide] });
    const run = await client.start(wide);
    expect(await world.result(run)).toEqual(["quick", "slow", "fine"]);
    expect(calls).toEqual({ quick: 2, slow: 2, fine: 1 });
    expect(undone).toEqual([]);
    const retries = world.events(run).filter(({ type }) => type === "run_retried");
    expect(retries.map(({ meta }) => meta?.forgets)).toEqual([["quick", "slow"]]);
  });

  test("takes them back in the order in which they happened, whoever names them", async () => {
    const plant = new Plant();
    const wide = workflow({ name: "wide", retry: { attempts: 2, fixed: "1s" } }, async (ctx) => {
      await WAYS["an error that has all of them"]?.(ctx, (c, name) => plant.once(c, name));
    });
    const t = await open(wide);
    const run = await t.client.start(wide);
    await run.result();
    expect(await forgotten(run)).toEqual([["a", "b", "c"]]);
  });

  test("keeps a failure that the code has dealt with, and what was done because of it", async () => {
    const plant = new Plant();
    const pay = workflow({ name: "pay", retry: { attempts: 2, fixed: "1s" } }, async (ctx) => {
      const how = await plant.once(ctx, "card").catch(() =>
        ctx.step("transfer", () => {
          plant.executed.push("transfer");
          return "transfer";
        }),
      );
      await Promise.all([plant.once(ctx, "mail"), plant.once(ctx, "ship")]);
      return how;
    });
    const t = await open(pay);
    const run = await t.client.start(pay);
    expect(await run.result()).toBe("transfer");
    expect(plant.executed).toEqual(["card", "transfer", "mail", "ship", "mail", "ship"]);
    expect(await forgotten(run)).toEqual([["mail", "ship"]]);
  });

  test("does not repeat a step whose own failure is not worth a retry", async () => {
    const executed: string[] = [];
    const wide = workflow({ name: "wide", retry: { attempts: 5, fixed: "1s" } }, async (ctx) => {
      const fail = (name: string, error: Error) =>
        ctx.step(
          name,
          () => {
            executed.push(name);
            throw error;
          },
          { retry: "none" },
        );
      await Promise.all([fail("busy", new Error("busy")), fail("wrong", new NonRetryableError("wrong"))]);
    });
    const t = await open(wide);
    await expect(t.run(wide)).rejects.toMatchObject({ cause: { message: "wrong" } });
    expect(executed).toEqual(["busy", "wrong"]);
  });

  test("uses one of its tries for each time that they were executed", async () => {
    const plant = new Plant(3);
    const wide = workflow({ name: "wide", retry: { attempts: 3, fixed: "1s" } }, async (ctx) => {
      await Promise.all(NAMES.map((name) => plant.once(ctx, name)));
    });
    const t = await open(wide);
    await expect(t.run(wide)).rejects.toMatchObject({ code: "run_failed" });
    expect(plant.takeExecuted()).toBe("a b c a b c a b c");
  });
});

describe("retry() of a run with failed steps", () => {
  test.each(Object.entries({ ...WAYS, ...SILENT_WAYS }))("lets it go on after one repair: %s", async (_, way) => {
    const plant = new Plant();
    const wide = workflow("wide", async (ctx) => {
      await way(ctx, (c, name) => plant.untilRepaired(c, name));
      return "done";
    });
    const t = await open(wide);
    const run = await t.client.start(wide);
    await expect(run.result()).rejects.toMatchObject({ code: "run_failed" });
    plant.down = false;
    plant.takeExecuted();
    await run.retry();
    expect(await run.result()).toBe("done");
    expect(plant.takeExecuted()).toContain("a");
  });

  test("does the same for a run whose end does not say which failures that takes", async () => {
    const plant = new Plant();
    const wide = workflow("wide", async (ctx) => {
      const [cause] = await settled(ctx, (c, name) => plant.untilRepaired(c, name));
      if (cause) throw new Error("some have failed", { cause });
      return "done";
    });
    const world = openWorld();
    const client = world.client();
    await world.worker(client, { workflows: [wide] });
    const run = await client.start(wide);
    await expect(world.result(run)).rejects.toMatchObject({ code: "run_failed" });
    const row = world.row(run);
    const { retryFrom, retryKeeps: _, ...error } = (row.error ?? {}) as EndErrorRecord;
    expect(retryFrom).toBe(1);
    row.error = error;
    plant.down = false;
    await run.retry();
    expect(await world.result(run)).toBe("done");
  });

  test("takes up the step that the error came from, and not one that failed and was dealt with", async () => {
    const plant = new Plant();
    const pay = workflow("pay", async (ctx) => {
      const ship = plant.untilRepaired(ctx, "ship").catch((error) => error);
      await ctx.sleep("think", "1s");
      const how = await plant.untilRepaired(ctx, "card").catch(() =>
        ctx.step("transfer", () => {
          plant.executed.push("transfer");
          return "transfer";
        }),
      );
      await ctx.sleep("breathe", "1s");
      await plant.untilRepaired(ctx, "mail");
      return [how, await ship];
    });
    const t = await open(pay);
    const run = await t.client.start(pay);
    await expect(run.result()).rejects.toMatchObject({ cause: { op: "mail" } });
    plant.down = false;
    plant.takeExecuted();
    await run.retry();
    expect(await run.result()).toMatchObject(["transfer", { op: "ship" }]);
    expect(plant.takeExecuted()).toBe("mail");
  });

  test("is not confused by an error from another run that names a step of the same name", async () => {
    const executed: string[] = [];
    let down = true;
    const outer = workflow({ name: "outer", retry: { attempts: 2, fixed: "1s" } }, async (ctx) => {
      const fail = (): Promise<never> => Promise.reject(new Error("never mind"));
      await ctx.step("a", fail, { retry: "none" }).catch(() => {});
      await ctx.step("mark", () => executed.push("mark"));
      const call = (): void => {
        executed.push("call");
        const cause = new RecordedError({ name: "Error", message: "a is down", kind: "Unknown", op: "a" });
        if (down) throw new Error("the other run has failed", { cause });
      };
      await ctx.step("call", call, { retry: "none" });
    });
    const t = await open(outer);
    const run = await t.client.start(outer);
    await expect(run.result()).rejects.toMatchObject({ code: "run_failed" });
    down = false;
    await run.retry();
    await run.result();
    expect(executed).toEqual(["mark", "call", "call", "call"]);
  });

  test("does not show what it goes by", async () => {
    const plant = new Plant();
    const wide = workflow("wide", (ctx) => plant.untilRepaired(ctx, "a"));
    const t = await open(wide);
    const run = await t.client.start(wide);
    await expect(run.result()).rejects.toMatchObject({ code: "run_failed" });
    await run.retry();
    await expect(run.result()).rejects.toMatchObject({ code: "run_failed" });
    const seen = JSON.stringify([await run.describe(), await run.history(), await t.client.why(run.id)]);
    expect(seen).not.toMatch(/retryFrom|retryKeeps/);
  });
});
