import { type Context, connect, signal, workflow } from "holdfast";
import { crashEverywhere, replay, testEngine } from "holdfast/testing";
import { describe, expect, test } from "vitest";
import { askTransaction } from "../../src/replay/context/run-context.ts";
import { openEngine, openFleet } from "../lab/fleet.ts";
import { refusal } from "../lab/refusal.ts";

const ping = signal<string>("ping");
const job = workflow("job", async () => 1);

type Refusal = [title: string, call: () => unknown, message: string];

describe("an option that there is not", () => {
  const { client } = { client: openClient() };
  const wrong = <T = never>(options: object): T => options as T;
  const refusals: Refusal[] = [
    ["workflow()", () => workflow(wrong({ name: "w", retryif: "any" }), async () => {}), "Did you mean `retryIf`?"],
    ["workflow() instead of its name", () => workflow(wrong({ nmae: "w" }), async () => {}), "Did you mean `name`?"],
    ["connect()", () => connect("memory:", wrong({ shema: "x" })), "Did you mean `schema`?"],
    ["limits", () => connect("memory:", wrong({ limits: { opMax: 1 } })), "Did you mean `opsMax`?"],
    ["worker()", () => client().worker(wrong({ workflow: [job] })), "Did you mean `workflows`?"],
    ["tuning", () => client().worker(wrong({ tuning: { parkafter: 1 } })), "Did you mean `parkAfter`?"],
    ["start()", () => client().start(job, undefined, wrong({ tiemout: "1s" })), "Did you mean `timeout`?"],
    ["run()", () => client().run(job, undefined, wrong({ ids: "1" })), "Did you mean `id`?"],
    [
      "startMany()",
      () => client().startMany([wrong<{ workflow: string }>({ workflow: job, inputs: 1 })]),
      "Did you mean `input`?",
    ],
    ["list()", () => client().list(wrong({ statuses: ["failed"] })), "Did you mean `status`?"],
    ["count()", () => client().count(wrong({ limit: 1 })), "It takes workflow, version, id, status, queue"],
    ["purge()", () => client().purge(wrong({ olderthan: "1h" })), "Did you mean `olderThan`?"],
    [
      "signal()",
      () =>
        client()
          .get("x")
          .signal(ping, "a", wrong({ messageId: "1" })),
      "It takes id.",
    ],
    [
      "result()",
      () =>
        client()
          .get("x")
          .result(wrong({ timeOut: "1s" })),
      "Did you mean `timeout`?",
    ],
    [
      "history()",
      () =>
        client()
          .get("x")
          .history(wrong({ type: ["run_started"] })),
      "Did you mean `types`?",
    ],
    ["testEngine()", () => testEngine(wrong({ workflows: [job], seeds: 1 })), "Did you mean `seed`?"],
    ["crashEverywhere()", () => crashEverywhere(job, undefined, wrong({ effect: {} })), "Did you mean `effects`?"],
    ["replay()", () => replay(job, [], wrong({ runid: "x" })), "Did you mean `runId`?"],
  ];
  test.each(refusals)("is refused by %s, with the one that was probably meant", async (_title, call, message) => {
    const error = await refusal(call);
    expect(error).toMatchObject({ code: "invalid_option", message: expect.stringContaining(message) });
    expect(error.message).toContain("there is no option");
  });
});

describe("a value that an option cannot have", () => {
  const { client } = { client: openClient() };
  const refusals: Refusal[] = [
    ["migrate", () => connect("memory:", { migrate: "yes" as never }), 'migrate is "yes"; it may be "auto", "check".'],
    ["durability", () => connect("memory:", { durability: "synch" as never }), 'Did you mean "sync"?'],
    ["schema", () => connect("memory:", { schema: "" }), 'the schema "" is empty'],
    ["codec", () => connect("memory:", { codec: {} as never }), "codec has no encode, decode; it needs"],
    [
      "logger",
      () => connect("memory:", { logger: { info() {} } as never }),
      "logger has no debug, warn, error; it needs",
    ],
    ["a URL", () => connect(undefined as never), "the URL is undefined, not a string"],
    ["a URL's parameters", () => connect("memory:app?shema=x"), "takes no parameters"],
    ["input", () => workflow({ name: "w", input: {} as never }, async () => {}), "input is {}, not a schema."],
    [
      "output",
      () => workflow({ name: "w", output: 7 as never }, (async () => {}) as never),
      "output is 7, not a schema.",
    ],
    ["a signal's schema", () => signal("s", {} as never), 'signal("s"): the schema is {}, not a schema.'],
    ["retryIf", () => workflow({ name: "w", retryIf: "sometimes" as never }, async () => {}), 'retryIf is "sometimes"'],
    [
      "priority",
      () => workflow({ name: "w", priority: 1.5 }, async () => {}),
      "priority is 1.5; it must be a whole number",
    ],
    [
      "onChangedCode",
      () => client().worker({ onChangedCode: "explode" as never }),
      'onChangedCode is "explode"; it may be',
    ],
    ["handleSignals", () => client().worker({ handleSignals: "yes" as never }), "it may be true or false"],
    ["concurrency", () => client().worker({ concurrency: 0 }), "concurrency is 0; it must be a whole number from 1 up"],
    ["labels", () => client().worker({ labels: { a: "\u0000" } }), "labels.a contains a NUL"],
    ["limit", () => client().list({ limit: 1.5 }), "limit is 1.5; it must be a whole number from 1 to 1000"],
    ["status", () => client().list({ status: "complete" as never }), 'Did you mean "completed"?'],
    [
      "statuses",
      () => client().purge({ olderThan: "1h", statuses: "failed" as never }),
      'statuses is "failed", not an array',
    ],
    ["share", () => client().versions.canary("a", "1", "0.5" as never), 'share is "0.5"; it must be between 0 and 1'],
    [
      "effects",
      () => crashEverywhere(job, undefined, { effects: {} as never }),
      "effects has no reset, snapshot; it needs",
    ],
  ];
  test.each(refusals)("is refused with what it may be: %s", async (_title, call, message) => {
    const error = await refusal(call);
    expect(error).toMatchObject({ code: "invalid_option", message: expect.stringContaining(message) });
  });

  test("is refused with invalid_name where it is an id: null", async () => {
    const error = await refusal(() => client().start(job, undefined, { id: null as never }));
    expect(error).toMatchObject({ code: "invalid_name", message: "The run id null is null, not a string." });
  });
});

describe("in a workflow", () => {
  type Asked = (ctx: Context) => unknown;
  const step =
    (options: object): Asked =>
    (ctx) =>
      ctx.step("s", () => 1, options);
  test.each<[string, Asked, string]>([
    ["an unknown option of a step", step({ retires: 1 }), 'step "s": there is no option "retires".'],
    [
      "retryIf",
      step({ retryIf: "sometimes" }),
      'retryIf is "sometimes"; it may be "default", "retryable", "any", "never".',
    ],
    ["retryIf of kinds", step({ retryIf: ["Timeouts"] }), 'retryIf[0] is "Timeouts"; it may be'],
    ["compensate", step({ compensate: "undo" }), 'compensate is "undo", not a function'],
    ["retry", step({ retry: "some" }), 'retry is "some"; it may be "none" or an object'],
    ["an unknown option of retry", step({ retry: { attempt: 1 } }), "Did you mean `attempts`?"],
    [
      "retry of both kinds",
      step({ retry: { fixed: "1s", factor: 2 } }),
      "retry.factor cannot be given beside retry.fixed",
    ],
    ["options that are none", step("x" as never), 'the options are "x", not an object with options'],
    [
      "onError",
      (ctx) => ctx.parallel([], { onError: "ignore" as never }),
      'onError is "ignore"; it may be "fail-fast"',
    ],
    ["limit", (ctx) => ctx.parallel([], { limit: 1.5 }), "limit is 1.5; it must be a whole number from 1 up"],
    ["branches", (ctx) => ctx.parallel(null as never), "the branches are null"],
    ["step options", (ctx) => ctx.step("s", () => 1, null as never), 'step "s": the options are null, not an object'],
    ["a signal", (ctx) => ctx.receive("ping" as never), 'ctx.receive: the first argument is "ping", not a signal.'],
    [
      "receive",
      (ctx) => ctx.receive(ping, { tiemout: "1s" } as never),
      'receive "ping": there is no option "tiemout".',
    ],
    ["uncancelable", (ctx) => ctx.uncancelable(1 as never), "ctx.uncancelable: the argument is 1, not a function"],
    ["attributes", (ctx) => ctx.set(null as never), "ctx.set: the attributes are null, not an object"],
    [
      "a transaction",
      (ctx) => askTransaction(ctx, "t", { kind: "memory", fn: () => 1 }, { isolation: "x" } as never),
      'there is no option "isolation".',
    ],
  ])("%s is refused likewise, and the run is parked for its bug", async (_title, ask, message) => {
    const wrong = workflow("wrong", async (ctx) => void (await ask(ctx)));
    const t = await openEngine(wrong);
    const error = await refusal(() => t.run(wrong));
    expect(error.message).toContain(message);
    expect(error).toMatchObject({
      code: "run_parked",
      cause: { code: "workflow_bug", cause: { code: "invalid_option" } },
    });
  });

  test("a test engine without workflows, and a mock without a name, are refused", async () => {
    const missing = await refusal(() => testEngine({} as never));
    expect(missing).toMatchObject({ code: "invalid_option", message: expect.stringContaining("workflows is missing") });
    const t = await openEngine(job);
    const unnamed = await refusal(async () => t.mock("", () => 1));
    expect(unnamed).toMatchObject({ code: "invalid_name", message: 'mock(""): the name of the step is empty.' });
    expect(() => t.mock("charge#2", () => 1)).not.toThrow();
  });

  test("a history with a gap, or with a time that is none, is not replayed", async () => {
    const nap = workflow("nap", async (ctx) => {
      await ctx.step("work", () => 1);
      await ctx.sleep("nap", "1h");
    });
    const t = await openEngine(nap);
    const run = await t.client.start(nap);
    await run.result();
    const history = JSON.parse(JSON.stringify(await run.history()));
    expect(await replay(nap, history)).toEqual({ output: undefined });
    const edited = (index: number, fields: object) =>
      history.map((event: object, i: number) => (i === index ? { ...event, ...fields } : event));
    const faults: [history: never, message: string][] = [
      [history.toSpliced(1, 1) as never, "event 1 is missing; in its place stands 2"],
      [edited(1, { at: "yesterday" }) as never, 'at of event 1 is "yesterday", not a time'],
      [edited(2, { fireAt: "soon" }) as never, 'fireAt of event 2 is "soon", not a time'],
    ];
    for (const [wrong, message] of faults)
      expect(await refusal(() => replay(nap, wrong))).toMatchObject({
        code: "invalid_option",
        message: expect.stringContaining(message),
      });
  });

  test("undefined counts as absent, everywhere", async () => {
    const careful = workflow(
      { name: "careful", version: undefined, input: undefined, retry: undefined, priority: undefined } as never,
      async (ctx) => {
        const [one] = await ctx.parallel(
          [() => ctx.step("s", () => 1, { retry: undefined, onCrash: undefined } as never)],
          {
            limit: undefined,
          } as never,
        );
        return one;
      },
    );
    const t = await testEngine({ workflows: [careful], seed: undefined, limits: { opsMax: undefined } } as never);
    const options = { id: undefined, ifRunning: undefined, attributes: undefined, timeout: undefined } as never;
    expect(await t.run(careful, undefined as never, options)).toBe(1);
    await t.close();
  });
});

test("a handle of get(workflow, id) asks once whose run it is, and not at all where the run is read anyway", async () => {
  const fleet = openFleet();
  const client = fleet.client();
  const waiting = workflow("waiting", (ctx) => ctx.receive(ping));
  await fleet.clock.until(client.start(waiting, undefined, { id: "w" }));
  const reads = (): number => fleet.store.calls["runs.read"] ?? 0;
  await fleet.clock.until(client.get("w").signal(ping, "a"));
  expect(reads()).toBe(0);
  const typed = client.get(waiting, "w");
  await fleet.clock.until(typed.status());
  expect(reads()).toBe(1);
  await fleet.clock.until(typed.signal(ping, "b"));
  await fleet.clock.until(typed.cancel());
  expect(reads()).toBe(1);
  await fleet.clock.until(client.get(waiting, "w").signal(ping, "c"));
  expect(reads()).toBe(2);
});

/** One client for many refusals: nothing is ever written. */
function openClient(): () => ReturnType<ReturnType<typeof openFleet>["client"]> {
  let fleet: ReturnType<typeof openFleet> | undefined;
  return () => {
    fleet ??= openFleet();
    return fleet.client();
  };
}
