import { type Context, connect, silentLogger, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import { describe, expect, onTestFinished, test } from "vitest";

function revoked(): unknown {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

function throwing(...keys: PropertyKey[]): unknown {
  const error = new Error("hidden");
  for (const key of keys)
    Object.defineProperty(error, key, {
      get() {
        throw new Error(`${String(key)} cannot be read`);
      },
    });
  return error;
}

/** Everything that one can do to such a value fails. */
function untouchable(): unknown {
  const fail = (): never => {
    throw new Error("do not touch");
  };
  const traps = ["get", "has", "ownKeys", "getPrototypeOf", "getOwnPropertyDescriptor", "set", "defineProperty"];
  return new Proxy(new Error("hidden"), Object.fromEntries(traps.map((trap) => [trap, fail])));
}

const ERRORS: readonly { readonly name: string; readonly make: () => unknown }[] = [
  { name: "a revoked proxy", make: revoked },
  { name: "a proxy that refuses everything", make: untouchable },
  { name: "an error whose cause cannot be read", make: () => throwing("cause") },
  { name: "an error whose message, stack and name cannot be read", make: () => throwing("message", "stack", "name") },
  { name: "an error whose toString cannot be read", make: () => throwing("toString", Symbol.toPrimitive) },
  {
    name: "an error whose members cannot be read",
    make: () => throwing("errors", "op", "recordedCode", "code", "kind"),
  },
  { name: "an error with a revoked proxy as its cause", make: () => new Error("outer", { cause: revoked() }) },
  { name: "an aggregate of such errors", make: () => new AggregateError([revoked(), throwing("cause")], "several") },
  {
    name: "an aggregate whose list is a revoked proxy",
    make: () => Object.assign(new Error("x"), { errors: revoked() }),
  },
  { name: "an object without a prototype", make: () => Object.create(null) },
  { name: "a symbol", make: () => Symbol("odd") },
  { name: "a function", make: () => () => {} },
];

/** Rejections that nobody handles while the test runs. */
function watchRejections(): unknown[] {
  const seen: unknown[] = [];
  const listener = (reason: unknown): void => void seen.push(reason);
  process.on("unhandledRejection", listener);
  onTestFinished(() => void process.off("unhandledRejection", listener));
  return seen;
}

async function endOf(code: (ctx: Context) => unknown, retry = false): Promise<unknown> {
  const options = { name: "job", ...(retry ? { retry: { attempts: 2, fixed: "1s" as const } } : {}) };
  const job = workflow(options, async (ctx) => code(ctx));
  const t = await testEngine({ workflows: [job] });
  onTestFinished(() => t.close());
  const run = await t.client.start(job);
  await run.result().catch(() => {});
  const { status, error } = await run.describe();
  await run.history();
  await run.steps();
  return { status, message: typeof error?.message };
}

test("what can be read of an error is kept, whatever else cannot", async () => {
  const record = async (error: unknown): Promise<unknown> => {
    const job = workflow("job", async () => {
      throw error;
    });
    const t = await testEngine({ workflows: [job] });
    onTestFinished(() => t.close());
    const run = await t.client.start(job);
    await run.result().catch(() => {});
    return (await run.describe()).error;
  };
  expect(await record(revoked())).toMatchObject({ message: "a value that cannot be read" });
  expect(await record(throwing("cause"))).toMatchObject({ name: "Error", message: "hidden" });
  expect(await record(new Error("outer", { cause: revoked() }))).toMatchObject({
    message: "outer",
    cause: { message: "a value that cannot be read" },
  });
  expect(await record(new AggregateError([revoked(), new Error("inner")], "several"))).toMatchObject({
    message: "several",
    data: { errors: ["a value that cannot be read", { message: "inner" }] },
  });
  expect(await record(Object.assign(new Error("with data"), { order: 7, odd: revoked() }))).toMatchObject({
    message: "with data",
    data: { order: 7, odd: "a value that cannot be read" },
  });
});

describe.each(ERRORS)("$name, when it is thrown", ({ make }) => {
  const FAILED = { status: "failed", message: "string" };

  test("by workflow code, fails the run", async () => {
    const rejections = watchRejections();
    const fail = (): never => {
      throw make();
    };
    expect(await endOf(fail)).toEqual(FAILED);
    expect(await endOf(fail, true)).toEqual(FAILED);
    expect(rejections).toEqual([]);
  });

  test("by a step, fails its attempts, and then the run", async () => {
    const rejections = watchRejections();
    const fail = (): never => {
      throw make();
    };
    const retry = { attempts: 2, fixed: "1s" } as const;
    expect(await endOf((ctx) => ctx.step("bad", fail, { retry }))).toEqual(FAILED);
    expect(await endOf((ctx) => ctx.step("bad", async () => fail(), { retry, retryIf: "any" }))).toEqual(FAILED);
    expect(await endOf((ctx) => ctx.step("bad", async () => fail(), { retry, retryIf: "retryable" }))).toEqual(FAILED);
    expect(rejections).toEqual([]);
  });

  test("in branches, in a compensation, in a side effect, or after a cancel, fails the run", async () => {
    const rejections = watchRejections();
    const fail = (): never => {
      throw make();
    };
    const branch = async (): Promise<never> => fail();
    expect(await endOf((ctx) => ctx.race([branch, branch]))).toEqual(FAILED);
    expect(await endOf((ctx) => ctx.parallel([branch, () => ctx.sleep("nap", "1h")]))).toEqual(FAILED);
    expect(await endOf((ctx) => ctx.sideEffect("flag", fail))).toEqual(FAILED);
    const undone = async (ctx: Context): Promise<void> => {
      await ctx.step("charge", () => 1, { compensate: fail });
      throw new Error("stop");
    };
    expect(await endOf(undone)).toEqual(FAILED);
    expect(rejections).toEqual([]);
  });

  test("is told to callers, logs and replays as what could be read of it", async () => {
    const rejections = watchRejections();
    const hf = await connect("memory:", { logger: silentLogger });
    onTestFinished(() => hf.close());
    const canceled = workflow("canceled", async (ctx) => {
      try {
        await ctx.sleep("nap", "1h");
      } catch {
        throw make();
      }
    });
    await hf.worker({ workflows: [canceled] }).start();
    const run = await hf.start(canceled);
    await run.cancel();
    const error = await run.result().catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: "run_failed" });
    expect(typeof String(error)).toBe("string");
    expect(typeof JSON.stringify(error)).toBe("string");
    expect(rejections).toEqual([]);
  });
});
