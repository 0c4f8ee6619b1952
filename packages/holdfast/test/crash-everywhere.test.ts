import { stat } from "node:fs/promises";
import { signal, workflow } from "holdfast";
import { askTransaction } from "holdfast/adapter";
import { crashEverywhere, replay, testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";

const go = signal<{ n: number }>("go");

test("twenty steps survive a crash at every commit, before and after it", async () => {
  const chain = workflow("chain", async (ctx, input: { n: number }) => {
    let sum = 0;
    for (let i = 1; i <= input.n; i++) sum += await ctx.step("add", () => i);
    return sum;
  });
  const report = await crashEverywhere(chain, { n: 20 });
  expect(report).toMatchObject({ output: 210, crashes: 40 });
});

test("sleeps, retries, parallel steps and signals survive a crash anywhere", async () => {
  const mixed = workflow("mixed", async (ctx) => {
    const a = await ctx.step("flaky", (s) => {
      if (s.attempt < 3) throw new Error("not yet");
      return s.attempt;
    });
    await ctx.sleep("nap", "1 day");
    const both = await Promise.all([ctx.step("x", () => "x"), ctx.step("y", async () => "y")]);
    const { n } = await ctx.receive(go);
    return { a, both, n, random: ctx.random(), uuid: ctx.uuid() };
  });
  const report = await crashEverywhere(mixed, undefined, {
    whenWaiting: (client, id) => client.get(id).signal(go, { n: 7 }, { id: "go-1" }),
  });
  expect(report.output).toMatchObject({ a: 3, both: ["x", "y"], n: 7 });
  expect(report.crashes).toBeGreaterThan(8);
});

test("a whenWaiting that rejects or throws makes crashEverywhere reject with that error", async () => {
  const waits = workflow("waits", async (ctx) => ctx.receive(go));
  const unknownRun = crashEverywhere(waits, undefined, {
    whenWaiting: (client, id) => client.get(`typo-${id}`).signal(go, { n: 1 }),
  });
  await expect(unknownRun).rejects.toMatchObject({ code: "run_not_found" });
  const broken = new Error("the fixture is missing");
  const throws = crashEverywhere(waits, undefined, {
    whenWaiting: () => {
      throw broken;
    },
  });
  await expect(throws).rejects.toBe(broken);
});

test("a step that charges twice when it is repeated is found, and the fixed one passes", async () => {
  let ledger: string[] = [];
  const effects = {
    reset: () => {
      ledger = [];
    },
    snapshot: () => ledger,
  };
  const careless = workflow("careless", async (ctx) => {
    await ctx.step("charge", () => void ledger.push("charged"));
    return "ok";
  });
  await expect(crashEverywhere(careless, undefined, { effects })).rejects.toMatchObject({
    code: "crash_unsafe",
    message: expect.stringMatching(/executed a second time: charge/),
  });
  const careful = workflow("careful", async (ctx) => {
    await ctx.step("charge", (s) => {
      if (!ledger.includes(s.idempotencyKey)) ledger.push(s.idempotencyKey);
    });
    return "ok";
  });
  const report = await crashEverywhere(careful, undefined, { effects: { ...effects, snapshot: () => ledger.length } });
  expect(report.crashes).toBeGreaterThan(0);
});

test("a result that differs although the outside world does not points to workflow code that is not deterministic", async () => {
  let calls = 0;
  const counts = workflow("counts", async (ctx) => {
    calls += 1;
    const call = calls;
    await ctx.step("first", (s) => s.idempotencyKey);
    return call;
  });
  await expect(crashEverywhere(counts, undefined)).rejects.toMatchObject({
    code: "crash_unsafe",
    message: expect.stringMatching(
      /the result is .* instead of .* Perhaps the workflow code itself .*Date\.now.*ctx\.now/,
    ),
  });
});

test("crashEverywhere without a workflow says what is missing", async () => {
  await expect((crashEverywhere as () => Promise<unknown>)()).rejects.toMatchObject({
    code: "invalid_option",
    message: expect.stringContaining("crashEverywhere: the first argument is undefined, not a workflow."),
  });
});

describe("the model of the outside world", () => {
  let mails: string[] = [];
  const mailer = workflow("mailer", async (ctx) => {
    await ctx.step("mail", () => void mails.push(`mail ${mails.length + 1}`));
  });
  const reset = () => {
    mails = [];
  };
  const snapshots: [string, () => unknown][] = [
    ["a promise of a list", async () => [...mails]],
    ["a Set", () => new Set(mails)],
    ["a Map", () => new Map(mails.map((mail, n) => [n, mail]))],
    ["a BigInt inside of an object", () => ({ sent: BigInt(mails.length) })],
    ["the very thing that changes", () => mails],
  ];
  test.each(snapshots)("may be shown as %s: a step that is not safe to repeat is found", async (_title, snapshot) => {
    await expect(crashEverywhere(mailer, undefined, { effects: { reset, snapshot } })).rejects.toMatchObject({
      code: "crash_unsafe",
      message: expect.stringMatching(/the outside world ends up as .* instead of .* executed a second time: mail\./),
    });
  });

  test("is the same world in whichever order a Set or the keys of an object were filled", async () => {
    let filled = 0;
    const snapshot = () =>
      filled++ % 2 ? [new Set(["a", "b"]), { a: 1, b: 2 }] : [new Set(["b", "a"]), { b: 2, a: 1 }];
    const report = await crashEverywhere(mailer, undefined, { effects: { reset, snapshot } });
    expect(report.crashes).toBe(2);
  });

  test("is awaited when it is reset: no step runs before", async () => {
    let ready = false;
    const seen = new Set<boolean>();
    const looks = workflow("looks", (ctx) => ctx.step("look", () => void seen.add(ready)));
    const effects = {
      reset: async () => {
        ready = false;
        for (let i = 0; i < 50; i++) await stat(".");
        ready = true;
      },
      snapshot: () => null,
    };
    await crashEverywhere(looks, undefined, { effects });
    expect([...seen]).toEqual([true]);
  });

  test("that cannot be compared is refused with what is wrong with it", async () => {
    const snapshot = () => ({ mailbox: new (class Mailbox {})() });
    await expect(crashEverywhere(mailer, undefined, { effects: { reset, snapshot } })).rejects.toMatchObject({
      code: "unserializable_value",
      message: expect.stringMatching(
        /^The result of effects\.snapshot\(\) cannot be compared \(snapshot\.mailbox is an instance of class Mailbox/,
      ),
    });
  });
});

test("a result that differs only inside of a Map, or as a BigInt, is found", async () => {
  for (const wrap of [(n: number) => new Map([["n", n]]), (n: number) => BigInt(n)]) {
    const careless = workflow("careless", async (ctx) => {
      let total = 0;
      await ctx.step("count", () => {
        total = 3;
      });
      await ctx.sleep("wait", "1 hour");
      return wrap(total);
    });
    await expect(crashEverywhere(careless, undefined)).rejects.toMatchObject({ code: "crash_unsafe" });
  }
});

test("a recorded history replays to its output, also from JSON, and changed code is told apart", async () => {
  const two = workflow("two", async (ctx) => [await ctx.step("a", () => 1), await ctx.step("b", () => ctx.info.id)]);
  const t = await testEngine({ workflows: [two] });
  const run = await t.client.start(two, undefined, { id: "r" });
  await run.result();
  const history = await run.history();
  await t.close();
  expect(await replay(two, history)).toEqual({ output: [1, "r"] });
  expect(await replay(two, JSON.parse(JSON.stringify(history.slice(0, 2))))).toEqual({ pending: ["b"] });
  const renamed = workflow("two", async (ctx) => [await ctx.step("a", () => 1), await ctx.step("c", () => 2)]);
  await expect(replay(renamed, history)).rejects.toMatchObject({
    code: "replay_divergence",
    message: expect.stringMatching(
      /recorded, not asked for: b.*asked for, not recorded: c \(step\) at .*crash-everywhere\.test\.ts:\d+/s,
    ),
  });
});

test("a transaction survives a crash anywhere, also at its own commit, without being made idempotent", async () => {
  let ledger: string[] = [];
  const effects = {
    reset: () => {
      ledger = [];
    },
    snapshot: () => [...ledger].sort(),
  };
  const transfer = workflow("transfer", async (ctx) => {
    const book = (name: string) =>
      askTransaction(ctx, name, {
        kind: "memory",
        fn: (tx: { onCommit(callback: () => void): void }) => tx.onCommit(() => ledger.push(name)),
      });
    await ctx.step("check", () => true);
    await Promise.all([book("debit"), ctx.step("tell", () => "told"), book("credit")]);
    await book("fee");
    return "ok";
  });
  const report = await crashEverywhere(transfer, undefined, { effects });
  expect(report).toMatchObject({ output: "ok", repeatedSteps: expect.any(Number) });
  expect(report.crashes).toBeGreaterThan(12);
  expect([...ledger].sort()).toEqual(["credit", "debit", "fee"]);
});

test("a transaction of another store is answered by a mock, and says what to do where there is none", async () => {
  const transfer = workflow("transfer", (ctx) =>
    askTransaction(ctx, "move", { kind: "postgres", fn: () => "really moved" }, { retry: "none" }),
  );
  const t = await testEngine({ workflows: [transfer] });
  await expect(t.run(transfer)).rejects.toThrow("In tests, mock the step.");
  t.mock("move", ({ attempt }) => `moved at attempt ${attempt}`);
  expect(await t.run(transfer)).toBe("moved at attempt 1");
  await t.close();
});

test("a workflow with a timeout survives, and one that runs into it times out wherever its worker dies", async () => {
  const quick = workflow({ name: "quick", timeout: "1h" }, async (ctx) => {
    const a = await ctx.step("a", () => 1);
    await ctx.sleep("nap", "10m");
    return a + (await ctx.step("b", () => 2));
  });
  expect(await crashEverywhere(quick, undefined)).toMatchObject({ output: 3, crashes: 6 });
  const undone: string[] = [];
  const slow = workflow({ name: "slow", timeout: "1h" }, async (ctx) => {
    await ctx.step("a", () => 1, { compensate: () => void undone.push("a") });
    await ctx.sleep("nap", "2h");
  });
  const report = await crashEverywhere(slow, undefined, { expectFailure: true });
  expect(report).toMatchObject({ status: "timed_out", error: { code: "run_timed_out" } });
  expect(report.crashes).toBeGreaterThan(3);
  expect(undone.length).toBeGreaterThan(report.crashes);
});

describe("a workflow that fails without any crash", () => {
  const broken = workflow("broken", (ctx) =>
    ctx.step("charge", () => Promise.reject(new Error("the fake is broken")), { retry: "none" }),
  );

  test("makes crashEverywhere fail, with the error of the run", async () => {
    await expect(crashEverywhere(broken, undefined)).rejects.toMatchObject({
      code: "run_failed",
      message: expect.stringMatching(
        /^The workflow fails without a crash: .*the fake is broken\. .*expectFailure: true/,
      ),
      data: { status: "failed", workflow: "broken" },
      cause: { message: "the fake is broken", op: "charge" },
    });
  });

  test("passes where that is expected, and the report says how it ends", async () => {
    const report = await crashEverywhere(broken, undefined, { expectFailure: true });
    expect(report).toMatchObject({
      status: "failed",
      output: undefined,
      error: { code: "run_failed", cause: { message: "the fake is broken" } },
    });
    expect(report.crashes).toBeGreaterThan(0);
  });

  test("is told what to do about a transaction of a database", async () => {
    const transfer = workflow("transfer", (ctx) => askTransaction(ctx, "move", { kind: "sqlite", fn: () => 1 }));
    await expect(crashEverywhere(transfer, undefined)).rejects.toMatchObject({
      code: "run_failed",
      message: expect.stringMatching(
        /Step "move" is a transaction of @holdfast\/sqlite.*a plain step of the same name/,
      ),
    });
  });

  test("must fail where that is expected", async () => {
    const fine = workflow("fine", (ctx) => ctx.step("a", () => 1));
    expect(await crashEverywhere(fine, undefined)).toMatchObject({ status: "completed", output: 1 });
    await expect(crashEverywhere(fine, undefined, { expectFailure: true })).rejects.toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining("without a crash the workflow completes, with 1"),
    });
  });
});

describe("the steps that ran again", () => {
  test("are counted for each run: those of a continuation are no repeats", async () => {
    const parts = workflow("parts", async (ctx, n: number): Promise<number> => {
      await ctx.step("a", () => n);
      return n < 3 ? ctx.continueAsNew(n + 1) : n;
    });
    // The end of each part is one commit together with the step before it: one repeat for each that is not recorded.
    const report = await crashEverywhere(parts, 1);
    expect(report.repeatedSteps).toBe(report.crashes / 2);
  });

  test("are not those that a retry of the run asks for", async () => {
    const twice = workflow({ name: "twice", retry: { attempts: 2, fixed: "1h" } }, (ctx) =>
      ctx.step("a", () => Promise.reject(new Error("no")), { retry: "none" }),
    );
    const report = await crashEverywhere(twice, undefined, { expectFailure: true });
    expect(report.repeatedSteps).toBe(report.crashes / 2);
  });

  test("are named, also where the attempt that ran again fails", async () => {
    const calls: number[] = [];
    const effects = { reset: () => calls.splice(0), snapshot: () => calls };
    const flaky = workflow("flaky", async (ctx) => {
      await ctx.step("mail", (s) => {
        calls.push(s.attempt);
        if (s.attempt < 2) throw new Error("not yet");
      });
    });
    await expect(crashEverywhere(flaky, undefined, { effects })).rejects.toMatchObject({
      code: "crash_unsafe",
      message: expect.stringMatching(/ends up as \[1,1,2\] instead of \[1,2\]\. Steps executed a second time: mail\./),
    });
  });
});
