import { connect, ERROR_CODES, isHoldfastError, type StartOptions, signal, workflow } from "holdfast";
import { describe, expect, test } from "vitest";
import { openEngine } from "../lab/fleet.ts";
import { refusal } from "../lab/refusal.ts";

const job = workflow("job", async () => 1);

describe("a name that cannot be one", () => {
  const faults: [unknown, string][] = [
    ["", "is empty"],
    ["n".repeat(201), "is 201 characters long; the limit is 200"],
    ["a\u0000b", "contains a control character or half of a surrogate pair"],
    ["\ud800", "contains a control character or half of a surrogate pair"],
    ["charge#2", 'ends in "#" and a number, which is reserved for repeated ops'],
    [undefined, "is undefined, not a string"],
    [42, "is number, not a string"],
  ];

  test.each(faults)("is refused with what is wrong with it: %j", async (name, fault) => {
    const calls: [string, () => unknown][] = [
      ["workflow name", () => workflow(name as string, async () => {})],
      ["signal name", () => signal(name as string)],
      ["queue of workflow", () => workflow({ name: "w", queue: name as string }, async () => {})],
    ];
    for (const [what, call] of calls) {
      if (name === undefined && what.startsWith("queue")) continue;
      const error = await refusal(call);
      expect(error).toMatchObject({ code: "invalid_name", kind: "BadRequest" });
      expect(error.message).toContain(what);
      expect(error.message).toContain(fault);
    }
  });

  test("of an op parks the run as a bug of its code, naming the op", async () => {
    const ops = workflow("ops", async (ctx, name: string) => ctx.step(name, () => 1));
    const t = await openEngine(ops);
    await expect(t.run(ops, "")).rejects.toMatchObject({
      cause: { cause: { code: "invalid_name", message: 'The op name "" is empty.' } },
    });
    await expect(t.run(ops, "charge#2")).rejects.toMatchObject({
      cause: { cause: { code: "invalid_name", message: expect.stringContaining("reserved for repeated ops") } },
    });
    expect(await t.run(ops, "n".repeat(200))).toBe(1);
  });

  test.each(faults)("of a patch parks the run as a bug of its code, in every replay: %j", async (id, fault) => {
    const patches = workflow("patches", async (ctx) => {
      await ctx.step("first", () => 1);
      return ctx.patched(id as string);
    });
    const t = await openEngine(patches);
    const run = await t.client.start(patches);
    const error = await refusal(() => run.result());
    expect(error.cause).toMatchObject({ code: "workflow_bug", cause: { code: "invalid_name" } });
    for (const part of ["The id of ctx.patched", fault]) expect(error.message).toContain(part);
    expect((await run.history()).map((event) => event.type)).not.toContain("patched");
  });

  test.each<[unknown, string]>([
    ["", "is empty"],
    ["n".repeat(401), "is 401 characters long; the limit is 400"],
    ["a\u0000b", "contains a control character or half of a surrogate pair"],
    ["\ud800", "contains a control character or half of a surrogate pair"],
    [null, "is null, not a string"],
    [42, "is number, not a string"],
  ])("of a uuid parks the run as a bug of its code: %j", async (name, fault) => {
    const draws = workflow("draws", async (ctx) => ctx.uuid(name as string));
    const t = await openEngine(draws);
    await expect(t.run(draws)).rejects.toMatchObject({
      cause: { cause: { code: "invalid_name", message: expect.stringContaining(fault) } },
    });
  });

  test("of a uuid may end in a number, as the items of an order do", async () => {
    const draws = workflow("draws", async (ctx) => ctx.uuid("item#2") !== ctx.uuid("item#3"));
    const t = await openEngine(draws);
    expect(await t.run(draws)).toBe(true);
  });

  test("of a namespace or a store address is refused by connect", async () => {
    expect((await refusal(() => connect("memory:", { namespace: "" }))).message).toContain('The namespace "" is empty');
    expect(await refusal(() => connect("mysql://host"))).toMatchObject({
      code: "unknown_url_scheme",
      message: expect.stringContaining('"mysql:" is not a scheme that Holdfast knows'),
    });
    expect((await refusal(() => connect("orders.db"))).message).toContain("the URL has no scheme");
  });
});

describe("a duration that cannot be read", () => {
  test.each<[unknown, string]>([
    ["soon", '"soon"'],
    ["-5s", '"-5s"'],
    ["5", '"5"'],
    ["", '""'],
    ["1h 1h", '"1h 1h"'],
    ["101 years", '"101 years"'],
    [{ minutes: -1 }, "minutes"],
    [{ fortnights: 1 }, "fortnights"],
    [{}, "{}"],
    [1000, '"1000"'],
  ])("is refused with where it stands and how to write one: %j", async (duration, shown) => {
    const nap = workflow("nap", (ctx) => ctx.sleep("nap", duration as string));
    const t = await openEngine(nap, job);
    const how =
      'which is not a duration. Write "30s", "2h 30m", "1 day" or { minutes: 5 }. The units are weeks, days, hours,';
    const inside = await refusal(() => t.run(nap));
    expect(inside.cause).toMatchObject({ code: "workflow_bug", cause: { code: "invalid_duration" } });
    for (const part of ['sleep "nap": the duration is', shown, how]) expect(inside.message).toContain(part);
    const advanced = t.clock.advance(duration as string);
    await expect(advanced).rejects.toMatchObject({ code: "invalid_duration", message: expect.stringContaining(how) });
    for (const option of ["delay", "timeout"]) {
      const outside = await refusal(() => t.client.start(job, undefined, { [option]: duration }));
      expect(outside.code).toBe("invalid_duration");
      for (const part of [`start of workflow "job": ${option} is`, shown, how]) expect(outside.message).toContain(part);
    }
  });
});

describe("a timeout that leaves a run no time", () => {
  test.each<[string | object]>([["0s"], [{ minutes: 0 }]])("is refused by workflow and start: %j", async (timeout) => {
    const t = await openEngine(job);
    for (const [where, call] of [
      ['workflow("w")', () => workflow({ name: "w", timeout: timeout as string }, async () => {})],
      ['start of workflow "job"', () => t.client.start(job, undefined, { timeout: timeout as string })],
    ] as const) {
      const error = await refusal(call);
      expect(error.code).toBe("invalid_option");
      expect(error.message).toMatch(/: timeout is .*0.*, which leaves the run no time at all\. Give it a longer one/);
      expect(error.message).toContain(where);
    }
  });
});

describe("a worker without a queue", () => {
  test("is refused: it could claim nothing", async () => {
    const t = await openEngine(job);
    const error = await refusal(async () => t.client.worker({ workflows: [job], queues: [] }));
    expect(error.code).toBe("invalid_option");
    expect(error.message).toContain("worker: queues is an empty list. Name at least one queue");
  });
});

describe("a duration of more than 100 years", () => {
  test.each<[string | object]>([["36526 days"], ["6000 weeks"], [{ days: 36_526 }]])(
    "is refused as too long: %j",
    async (delay) => {
      const t = await openEngine(job);
      const error = await refusal(() => t.client.start(job, undefined, { delay: delay as string }));
      expect(error.code).toBe("invalid_duration");
      expect(error.message).toContain("which is longer than the limit of 100 years (36525 days).");
    },
  );
});

describe("something that is no workflow", () => {
  test("is refused by start and by a worker, with a hint at the usual reason", async () => {
    const t = await openEngine(job);
    const hint =
      "not a workflow. Make one with workflow(name, fn); undefined may mean that two modules import each other.";
    const start = await refusal(() => t.client.start(undefined as never));
    expect(start.message).toBe(`start: the first argument is undefined, ${hint}`);
    const worker = await refusal(() => t.client.worker({ workflows: [job, (async () => {}) as never] }));
    expect(worker.message).toBe(`worker: workflows[1] is function, ${hint}`);
  });
});

describe("options of a start", () => {
  const refused: [string, StartOptions, string][] = [
    ["an empty id", { id: "" }, 'The run id "" is empty.'],
    ["an id that is too long", { id: "x".repeat(401) }, "is 401 characters long; the limit is 400"],
    ["an id with a NUL", { id: "a\u0000" }, "contains a control character"],
    ["a date that is none", { startAt: new Date("tomorrow") }, "startAt is not a valid Date."],
    ["a text in place of a date", { startAt: "2030-01-01" as never }, "startAt is not a valid Date."],
    [
      "ifRunning that means nothing",
      { ifRunning: "start" as never },
      'ifRunning is "start"; it may be "return", "fail", "replace".',
    ],
    [
      "ifClosed that means nothing",
      { ifClosed: "replace" as never },
      'ifClosed is "replace"; it may be "return", "start", "fail".',
    ],
    ["an empty version", { version: "" }, 'The version "" is empty.'],
    ["an empty queue", { queue: "" }, 'The queue name "" is empty.'],
  ];
  test.each(refused)("%s is refused before anything is written", async (_title, options, message) => {
    const t = await openEngine(job);
    const error = await refusal(() => t.client.start(job, undefined, options));
    expect(error.message).toContain(message);
    expect(["invalid_name", "invalid_option"]).toContain(error.code);
    expect(t.store.calls["runs.start"]).toBeUndefined();
  });
});

describe("options of a step", () => {
  test.each<[string, object, string]>([
    [
      "attempts of none",
      { retry: { attempts: 0 } },
      'step "s": retry.attempts is 0; it must be a whole number from 1 up.',
    ],
    ["a factor below one", { retry: { factor: 0.5 } }, 'step "s": retry.factor is not a number from 1 up.'],
    ["jitter above one", { retry: { jitter: 2 } }, 'step "s": retry.jitter is not a share between 0 and 1.'],
    ["a timeout that is no duration", { timeout: "x" }, 'step "s": timeout is "x", which is not a duration.'],
    ["onCrash that means nothing", { onCrash: "ignore" }, 'step "s": onCrash is "ignore"; it may be "retry", "fail".'],
  ])("%s is refused, naming the step and the option", async (_title, options, message) => {
    const wrong = workflow("wrong", (ctx) => ctx.step("s", () => 1, options));
    const t = await openEngine(wrong);
    const error = await refusal(() => t.run(wrong));
    expect(error.message).toContain(message);
  });

  test("something that is no function in place of the step's function is refused", async () => {
    const wrong = workflow("wrong", (ctx) => ctx.step("s", Promise.resolve(1) as never));
    const t = await openEngine(wrong);
    expect((await refusal(() => t.run(wrong))).message).toContain(
      'ctx.step("s"): the second argument is not a function.',
    );
    expect(() => workflow("w", undefined as never)).toThrowError(
      'workflow("w"): the second argument is not a function.',
    );
  });
});

describe("every error", () => {
  test("is a HoldfastError with a code that is registered, a kind and a message, and can be told by its code", async () => {
    const t = await openEngine(job);
    const errors = await Promise.all([
      refusal(() => t.client.start(job, undefined, { id: "" })),
      refusal(() => t.client.get("nobody").describe()),
      refusal(() => t.client.list({ limit: 0 })),
      refusal(() => connect("nowhere:")),
    ]);
    for (const error of errors) {
      expect(Object.keys(ERROR_CODES)).toContain(error.code);
      expect(isHoldfastError(error, error.code)).toBe(true);
      expect(error.kind).toBe(ERROR_CODES[error.code].kind);
      expect(error.message.length).toBeGreaterThan(20);
      expect(JSON.parse(JSON.stringify(error))).toMatchObject({ name: "HoldfastError", code: error.code });
    }
  });
});
