import { readFileSync } from "node:fs";
import {
  type Context,
  connect,
  jsonCodec,
  type Limits,
  type Logger,
  type QueueOptions,
  query,
  signal,
  silentLogger,
  type TaskDefinition,
  task,
  update,
  workflow,
} from "holdfast";

import { testEngine, VirtualClock } from "holdfast/testing";

import { describe, expect, test } from "vitest";
import { nextAfter, readSpec } from "../../src/calendar/index.ts";
import type { PortsBundle } from "../../src/calls/ports-bundle.ts";
import { isTooLarge } from "../../src/client/transfers/run-images.ts";
import { TransferCount } from "../../src/client/transfers/transfer-result.ts";
import { resolvePool } from "../../src/engine/pool/pool-options.ts";
import { TaskPool } from "../../src/engine/pool/task-pool.ts";
import type { ProcessEvents } from "../../src/ports/task-processes.ts";
import { Cluster } from "../lab/harness.ts";

const note = signal<string>("note");
const one = task("one", () => 1);
const ask = update<undefined, string>("ask");
const look = query<string>("look");
const fail = (): never => {
  throw new Error("no");
};

async function withRun(
  body: (ctx: Context, input: unknown) => Promise<unknown>,
  limits?: Partial<Limits>,
  logger?: Logger,
) {
  const limited = workflow("limited", body);
  const t = await testEngine({ workflows: [limited], ...(limits ? { limits } : {}), ...(logger ? { logger } : {}) });
  return { t, limited };
}

async function withTask(limited: TaskDefinition<string>, input: string) {
  const call = workflow("call", (ctx) => ctx.task(limited, input));
  const t = await testEngine({ workflows: [call], tasks: [limited], limits: { payloadMaxBytes: 1024 } });
  return { t, call };
}

function failure(
  promise: Promise<unknown>,
): Promise<Error & { code: string; cause: Error & { recordedCode?: string; code: string } }> {
  return promise.then(
    () => Promise.reject(new Error("it should have been refused")),
    (error) => error,
  );
}

const kib = (n: number) => "x".repeat(n * 1024);

/** Limits of a server, which this package does not have: where their tests are. */
const SESSIONS = "packages/server/test/store/sessions.test.ts";
const ELSEWHERE: Readonly<Record<string, readonly [file: string, title: string]>> = {
  "call through a server": [SESSIONS, "with a payload over 2 MiB are refused before they are sent, naming both sizes"],
  "calls in flight of a client of a server": [
    SESSIONS,
    "a client has at most 60 calls in flight, and heartbeats go ahead of the rest",
  ],
  "time for a call through a server": [
    SESSIONS,
    "of a write that was sent is store_outcome_unknown, whether or not it arrived",
  ],
  "time for a read of the public API": [
    "packages/server/test/slow-store.test.ts",
    "%s is unavailable after 25 seconds",
  ],
  "hints that a client of a server has not taken": [
    "packages/server/test/store/hints.test.ts",
    "that a client does not take are dropped, and it is told once to look",
  ],
};

describe("docs/limits.md", () => {
  test("size of a payload (input, output, step result, signal), reported", async () => {
    const warnings: object[] = [];
    const logger = { debug() {}, info() {}, error() {}, warn: (fields: object) => void warnings.push(fields) };
    const { t, limited } = await withRun((ctx) => ctx.step("big", () => kib(2)), { payloadWarnBytes: 1024 }, logger);
    await t.run(limited);
    await t.run(limited);
    const where = warnings.map((fields) => (fields as { where: string }).where);
    expect(where).toEqual(['result of step "big"', 'output of workflow "limited"']);
    await t.close();
  });

  test("size of an input or signal, refused", async () => {
    const { t, limited } = await withRun((ctx) => ctx.receive(note), { payloadMaxBytes: 1024 });
    await expect(t.client.start(limited, kib(2), { id: "a" })).rejects.toMatchObject({
      code: "payload_too_large",
      message: expect.stringMatching(/input of workflow "limited" has 2050 bytes; the limit is 1024/),
    });
    await expect(t.client.get("a").describe()).rejects.toMatchObject({ code: "run_not_found" });
    const run = await t.client.start(limited, undefined, { id: "b" });
    await expect(run.signal(note, kib(2))).rejects.toMatchObject({ code: "payload_too_large" });
    await run.signal(note, "small");
    expect(await run.result()).toBe("small");
    await t.close();
  });

  test("size of a step's result, refused", async () => {
    let calls = 0;
    const { t, limited } = await withRun((ctx) => ctx.step("big", () => kib(++calls && 2)), { payloadMaxBytes: 1024 });
    const error = await failure(t.run(limited));
    expect(error.cause).toMatchObject({ recordedCode: "payload_too_large", attempts: 1 });
    expect(calls).toBe(1);
    await t.close();
  });

  test("size of a task's input, refused", async () => {
    const read = task("read", (_text: string) => 1);
    const { t, call } = await withTask(read, kib(2));
    const error = await failure(t.run(call));
    expect(error.cause).toMatchObject({ code: "payload_too_large" });
    expect(t.store.state.tasks.size).toBe(0);
    await t.close();
  });

  test("size of a task's result, refused", async () => {
    let calls = 0;
    const big = task("big", (_text: string) => kib(++calls && 2));
    const { t, call } = await withTask(big, "");
    const error = await failure(t.run(call));
    expect(error.cause).toMatchObject({ recordedCode: "payload_too_large", attempts: 1 });
    expect(calls).toBe(1);
    await t.close();
  });

  test("size of a heartbeat's details", async () => {
    const seen: unknown[] = [];
    const beat = task({ name: "beat", retry: { attempts: 3, fixed: "1s" } }, async (_text: string, info) => {
      seen.push(info.lastDetails);
      await info.heartbeat(info.attempt === 1 ? "small" : kib(2));
      if (info.attempt < 3) throw new Error("again");
    });
    const { t, call } = await withTask(beat, "");
    await t.run(call);
    expect(seen).toEqual([undefined, "small", "small"]);
    await t.close();
  });

  test("failures that a task keeps", async () => {
    const shaky = task({ name: "shaky", retry: { attempts: 12, fixed: "1s" } }, (_text: string, { attempt }) => {
      throw new Error(`attempt ${attempt}`);
    });
    const { t, call } = await withTask(shaky, "");
    const error = await failure(t.run(call));
    expect(error.cause).toMatchObject({ attempts: 12 });
    const [dead] = (await t.client.tasks.list({ status: "dead" })).tasks;
    expect(dead?.failures.map(({ attempt }) => attempt)).toEqual([3, 4, 5, 6, 7, 8, 9, 10, 11, 12]);
    await t.close();
  });

  test("tasks in one page of `tasks.list`", async () => {
    const { t } = await withRun(async () => 1);
    for (const limit of [0, 1_001, 1.5])
      await expect(t.client.tasks.list({ limit })).rejects.toMatchObject({ code: "invalid_option" });
    await t.client.tasks.list({ limit: 1_000 });
    await t.close();
  });

  test("size of an output, refused", async () => {
    const { t, limited } = await withRun(async () => kib(2), { payloadMaxBytes: 1024 });
    expect((await failure(t.run(limited))).cause).toMatchObject({ code: "payload_too_large" });
    await t.close();
  });

  test("size of the answer to an update or a query, refused", async () => {
    const { t, limited } = await withRun(
      async (ctx) => {
        ctx.on(ask, () => kib(2));
        ctx.on(look, () => kib(2));
        return ctx.receive(note);
      },
      { payloadMaxBytes: 1024 },
    );
    const run = await t.client.start(limited);
    expect(await failure(run.update(ask))).toMatchObject({
      code: "update_failed",
      cause: { code: "payload_too_large" },
    });
    expect(await failure(run.query(look))).toMatchObject({
      code: "query_failed",
      cause: { code: "payload_too_large" },
    });
    await run.signal(note, "on");
    expect(await run.result()).toBe("on");
    await t.close();
  });

  test("rejected updates in the history of a run", async () => {
    const { t, limited } = await withRun(async (ctx) => {
      ctx.on(ask, { validate: fail, handle: () => "" });
      return ctx.receive(note);
    });
    const run = await t.client.start(limited);
    const codes = await Promise.all(Array.from({ length: 1_001 }, async () => (await failure(run.update(ask))).code));
    expect(new Set(codes)).toEqual(new Set(["update_rejected"]));
    expect(await run.history()).toHaveLength(1_001);
    await t.close();
  });

  test("time for a query that another process has to answer", async () => {
    const cluster = new Cluster();
    const serving = cluster.process("serving");
    await serving.worker({ workflows: [workflow("w", (ctx) => ctx.sleep("long", "1 day"))] });
    await cluster.until(serving.client.start("w", undefined, { id: "r" }));
    await cluster.clock.settle();
    serving.kill();
    const run = cluster.process("asking").client.get("r");
    const before = cluster.clock.now();
    expect(await failure(cluster.until(run.query(look)))).toMatchObject({ code: "query_timeout" });
    expect(cluster.clock.now() - before).toBe(10_000);
  });

  test("time for a query to a run that no worker has begun", async () => {
    const { t } = await withRun(async () => 1);
    const run = await t.client.start("elsewhere");
    const before = t.clock.now();
    expect(await failure(run.query(look))).toMatchObject({ code: "run_not_begun" });
    expect(t.clock.now() - before).toBe(10_000);
    await t.close();
  });

  test("ops that one run asks for", async () => {
    const { t, limited } = await withRun(
      async (ctx) => {
        for (let i = 0; i < 11; i++) await ctx.step("s", () => i);
      },
      { opsMax: 10 },
    );
    expect((await failure(t.run(limited))).cause).toMatchObject({
      code: "too_many_ops",
      message: expect.stringMatching(/more than 10 ops.*continueAsNew/),
    });
    await t.close();
  });

  test("levels of children", async () => {
    const dig = workflow("dig", async (ctx, level: number): Promise<number> => ctx.child(dig, level + 1));
    const t = await testEngine({ workflows: [dig] });
    const thrown = await failure(t.run(dig, 0));
    expect(thrown).toMatchObject({ code: "run_failed" });
    const deepest = (await t.client.list({ workflow: "dig", limit: 1_000 })).runs;
    expect(Math.max(...deepest.map(({ depth }) => depth))).toBe(100);
    const last = deepest.find(({ depth }) => depth === 100);
    expect((await t.client.get(last?.id as string).describe()).error?.code).toBe("child_depth_exceeded");
    await t.close();
  });

  test("runs that an event of a step names, of those that it started", async () => {
    const leaf = workflow("leaf", async () => {});
    const main = workflow("main", (ctx) =>
      ctx.step("start", async (s) => {
        for (let n = 0; n < 21; n++) await s.start(leaf);
      }),
    );
    const t = await testEngine({ workflows: [main, leaf] });
    const run = await t.client.start(main);
    await run.result();
    expect((await run.steps())[0]?.runs).toHaveLength(20);
    expect(await t.client.count({ parent: run.runId })).toBe(21);
    await t.close();
  });

  test("messages that wait for a run", async () => {
    const later = workflow("later", (ctx) => ctx.receive(note));
    const t = await testEngine({ workflows: [], limits: { inboxMax: 2 } });
    const run = await t.client.start(later, undefined, { id: "r" });
    await run.signal(note, "1");
    await run.signal(note, "2");
    await expect(run.signal(note, "3")).rejects.toMatchObject({ code: "too_many_signals" });
    await run.cancel();
    await t.close();
  });

  test("length of a name (workflow, op, signal, patch, queue, version, namespace, attribute)", async () => {
    const long = "n".repeat(201);
    const refused = { code: "invalid_name", message: expect.stringMatching(/201 characters long; the limit is 200/) };
    for (const define of [
      () => workflow(long, async () => 1),
      () => workflow({ name: "w", queue: long }, async () => 1),
      () => workflow({ name: "w", version: long }, async () => 1),
      () => signal(long),
    ]) {
      expect(define).toThrow(expect.objectContaining(refused));
    }
    await expect(connect("memory:", { namespace: long })).rejects.toMatchObject(refused);
    const { t, limited } = await withRun(async (ctx, op) => (op ? ctx.step(long, () => 1) : ctx.patched(long)));
    for (const op of [true, false]) expect((await failure(t.run(limited, op))).cause).toMatchObject({ cause: refused });
    await expect(t.client.start(limited, undefined, { attributes: { [long]: 1 } })).rejects.toMatchObject(refused);
    await t.close();
  });

  test("length of an id of a run or message, and of a name for `ctx.uuid`", async () => {
    const { t, limited } = await withRun((ctx, name) => {
      if (name !== undefined) ctx.uuid(name as string);
      return ctx.receive(note);
    });
    const refused = { code: "invalid_name", message: expect.stringMatching(/the limit is 400/) };
    expect((await failure(t.run(limited, "u".repeat(401)))).cause).toMatchObject({ cause: refused });
    await expect(t.client.start(limited, undefined, { id: "i".repeat(401) })).rejects.toMatchObject(refused);
    const run = await t.client.start(limited, undefined, { id: "i".repeat(400) });
    await expect(run.signal(note, "x", { id: "m".repeat(401) })).rejects.toMatchObject(refused);
    await t.close();
  });

  test("characters of names and ids", async () => {
    for (const bad of ["", "a\u0000b", "a\nb", "half \ud800", "step#2"]) {
      expect(() => workflow(bad, async () => 1)).toThrow(expect.objectContaining({ code: "invalid_name" }));
    }
    expect(workflow("Größe 📦 #2b", async () => 1).name).toBe("Größe 📦 #2b");
    const { t, limited } = await withRun(async () => 1);
    await expect(t.client.start(limited, undefined, { id: "a\u0000" })).rejects.toMatchObject({ code: "invalid_name" });
    await t.close();
  });

  test("`reason` and `by` of a pause, resume, cancel, terminate, retry, fork or batch", async () => {
    const { t, limited } = await withRun((ctx) => ctx.receive(note));
    const run = await t.client.start(limited, null);
    for (const reason of ["x".repeat(4_001), "a\u0000b", "\ud800"]) {
      for (const call of ["pause", "resume", "cancel", "terminate", "retry"] as const)
        for (const why of [reason, { reason }, { by: reason }])
          expect((await failure(run[call](why))).code).toBe("invalid_option");
      for (const why of [{ reason }, { by: reason }])
        expect((await failure(run.fork({ before: 1, ...why }))).code).toBe("invalid_option");
    }
    await run.terminate({ by: "y".repeat(4_000), reason: "x".repeat(4_000) });
    await t.close();
  });

  test("options and their values", async () => {
    const { t, limited } = await withRun(async () => {});
    const unknown = await failure(t.client.start(limited, null, { tiemout: "1s" } as never));
    expect(unknown).toMatchObject({
      code: "invalid_option",
      message: expect.stringContaining("Did you mean `timeout`?"),
    });
    expect((await failure(t.client.list({ status: "complete" as never }))).message).toContain(
      'Did you mean "completed"?',
    );
    await t.client.start(limited, null, { timeout: undefined } as never);
    await t.close();
  });

  test("a value that cannot be stored (function, symbol, cycle, promise, instance of a class without `toJSON`)", async () => {
    const { t, limited } = await withRun(async () => 1);
    const cycle: Record<string, unknown> = {};
    cycle["self"] = cycle;
    for (const [value, path] of [
      [{ a: [1, { f: () => 1 }] }, /a\[1\]\.f/],
      [{ s: Symbol("x") }, /\bs\b/],
      [cycle, /self/],
      [{ p: Promise.resolve() }, /\bp\b/],
    ] as const) {
      await expect(t.client.start(limited, value)).rejects.toMatchObject({
        code: "unserializable_value",
        message: expect.stringMatching(path),
      });
    }
    await t.close();
  });

  test("depth of a value", async () => {
    const { t, limited } = await withRun(async () => 1);
    let deep: unknown = 1;
    for (let i = 0; i < 600; i++) deep = [deep];
    await expect(t.client.start(limited, deep)).rejects.toMatchObject({ code: "unserializable_value" });
    await t.close();
  });

  test("a duration", async () => {
    const { t, limited } = await withRun((ctx, input) => ctx.sleep("nap", input as string));
    for (const bad of ["101 years", "6000 weeks", "-1s", "5", ""]) {
      const parked = { code: "workflow_bug", cause: { code: "invalid_duration" } };
      expect((await failure(t.run(limited, bad))).cause).toMatchObject(parked);
    }
    await t.close();
  });

  test("cron expressions, intervals and times of one schedule", () => {
    const many = { cron: "@daily", every: "1h", at: new Date(0) };
    for (const [field, max] of Object.entries({ cron: 100, every: 100, at: 1_000 })) {
      const list = (length: number) => ({ [field]: Array(length).fill(many[field as keyof typeof many]) });
      expect(readSpec(list(max))).toHaveProperty(field);
      expect(() => readSpec(list(max + 1))).toThrow(expect.objectContaining({ code: "invalid_schedule" }));
    }
  });

  test("length of a cron expression", () => {
    expect(readSpec({ cron: "@daily".padEnd(500) }).cron[0]).toHaveLength(500);
    const tooLong = { cron: "@daily".padEnd(501) };
    expect(() => readSpec(tooLong)).toThrow(expect.objectContaining({ code: "invalid_schedule" }));
  });

  test("shortest interval of a schedule", () => {
    expect(readSpec({ every: "1s" }).every).toEqual([{ everyMs: 1_000, offsetMs: 0 }]);
    expect(() => readSpec({ every: "999ms" })).toThrow(expect.objectContaining({ code: "invalid_schedule" }));
  });

  test("times of a schedule", () => {
    const [first, last] = [Date.UTC(1900, 0, 1), Date.UTC(10_000, 0, 1) - 1];
    for (const field of ["at", "from", "until"]) {
      const times = (ms: number) => ({ every: "1h", [field]: new Date(ms) });
      expect([readSpec(times(first)), readSpec(times(last))]).toHaveLength(2);
      for (const ms of [first - 1, last + 1])
        expect(() => readSpec(times(ms))).toThrow(expect.objectContaining({ code: "invalid_schedule" }));
    }
    expect(nextAfter(readSpec({ every: "1h" }), last)).toBeNull();
  });

  test("how far ahead the next time of a cron expression is looked for", () => {
    expect(nextAfter(readSpec({ cron: "0 0 29 2 +MON" }), Date.UTC(2072, 2, 1))).toBe(Date.UTC(2112, 1, 29));
    expect(nextAfter(readSpec({ cron: "0 0 30 2 *" }), 0)).toBeNull();
  });

  test("timeout of a run", async () => {
    const { t, limited } = await withRun(async () => 1);
    await expect(t.client.start(limited, undefined, { timeout: "0s" })).rejects.toMatchObject({
      code: "invalid_option",
    });
    expect(await t.run(limited, undefined, { timeout: "1ms" })).toBe(1);
    await t.close();
  });

  test("priority", async () => {
    const { t, limited } = await withRun(async () => 1);
    for (const priority of [10, -10, 0.5]) {
      await expect(t.client.start(limited, undefined, { priority })).rejects.toMatchObject({ code: "invalid_option" });
    }
    await t.close();
  });

  test("runs in one page of `list`", async () => {
    const { t } = await withRun(async () => 1);
    for (const limit of [0, 1001, 1.5])
      await expect(t.client.list({ limit })).rejects.toMatchObject({ code: "invalid_option" });
    await t.close();
  });

  test("ops that a suspended run is known to wait for, by `list`, `describe` and the filter `waitingFor`", async () => {
    const { t, limited } = await withRun((ctx) =>
      Promise.all(Array.from({ length: 25 }, (_, i) => ctx.sleep(`nap ${i}`, "1 day"))),
    );
    await t.client.start(limited, null, { id: "r" });
    await t.clock.settle();
    expect((await t.client.get("r").describe()).waitingFor).toHaveLength(20);
    expect((await t.client.list({ waitingFor: "nap 19" })).runs).toHaveLength(1);
    expect((await t.client.list({ waitingFor: "nap 20" })).runs).toHaveLength(0);
    await t.close();
  });

  test("events in one window of `history`", async () => {
    const { t, limited } = await withRun(async (ctx) => {
      for (let i = 0; i < 1_500; i++) ctx.sideEffect("note", () => i);
    });
    const run = await t.client.start(limited, null);
    await run.result();
    for (const limit of [0, 5_001, 1.5])
      await expect(run.history({ limit })).rejects.toMatchObject({ code: "invalid_option" });
    expect(await run.history({})).toHaveLength(1_000);
    expect(await run.history({ limit: 5_000 })).toHaveLength(1_502);
    await t.close();
  });

  test("events that one call of `history` with filters looks at", async () => {
    const { t, limited } = await withRun(async (ctx) => {
      for (let i = 0; i < 10_500; i++) ctx.sideEffect("note", () => i);
    });
    const run = await t.client.start(limited, null);
    await run.result();
    const window = await run.history({ types: ["run_completed"] });
    expect(window).toEqual([]);
    expect(window.next).toBe(10_001);
    await t.close();
  });

  test("search attributes of one run, from its start and from `ctx.set`", async () => {
    const many = (n: number, from = 0) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`a${from + i}`, i]));
    const { t, limited } = await withRun(async (ctx, sets) => {
      for (const [i, set] of (sets as Record<string, string>[]).entries()) {
        ctx.set(set);
        await ctx.sleep(`nap ${i}`, "1h");
      }
    });
    const tooMany = {
      code: "invalid_option",
      message: expect.stringMatching(/: the run would have 101 search attributes; the limit is 100\. Set only what/),
    };
    const tooLarge = {
      code: "invalid_option",
      message: expect.stringMatching(/: the run would have 16385 bytes of search attributes .*; the limit is 16384\./),
    };
    const large = { text: `${kib(16).slice(6)}ö` };
    for (const [attributes, refused] of [
      [many(101), tooMany],
      [{ ...large, t: "" }, tooLarge],
    ] as const) {
      await expect(t.client.start(limited, [], { id: "no", attributes })).rejects.toMatchObject(refused);
      const batch = t.client.startMany([{ workflow: limited, input: [], options: { id: "no", attributes } }]);
      await expect(batch).rejects.toMatchObject(refused);
    }
    await expect(t.client.get("no").describe()).rejects.toMatchObject({ code: "run_not_found" });
    // Attributes that replace others of the same name count once.
    await t.run(limited, [many(50, 50), many(50, 50), many(10)], { attributes: many(50) });
    await t.run(limited, [{ text: "" }, large], { attributes: large });
    for (const [sets, attributes, refused] of [
      [[many(50, 50), many(1, 100)], many(50), tooMany],
      [[{ t: "" }], large, tooLarge],
    ] as const)
      expect((await failure(t.run(limited, sets, { attributes }))).cause).toMatchObject({ cause: refused });
    await t.close();
  });

  test("attributes in the filter of `list` and `count`", async () => {
    const { t } = await withRun(async () => 1);
    const many = (n: number) => Object.fromEntries(Array.from({ length: n }, (_, i) => [`a${i}`, i]));
    expect(await t.client.count({ attributes: many(100) })).toBe(0);
    for (const refused of [t.client.list({ attributes: many(101) }), t.client.count({ attributes: many(2_000) })])
      await expect(refused).rejects.toMatchObject({
        code: "invalid_option",
        message: expect.stringMatching(/^(list|count): the filter has \d+ attributes; the limit is 100\./),
      });
    await t.close();
  });

  test("lease of a worker", async () => {
    const { t } = await withRun(async () => 1);
    expect(() => t.client.worker({ lease: "500ms" })).toThrow(expect.objectContaining({ code: "invalid_option" }));
    await t.close();
  });

  test("time in which a process of a task pool loads its module", async () => {
    const clock = new VirtualClock();
    const start = (_: unknown, { ended }: ProcessEvents) => ({
      pid: 1,
      send() {},
      leave() {},
      kill: () => ended("was ended by SIGKILL"),
    });
    const pool = new TaskPool({
      ports: { clock, log: silentLogger, codec: jsonCodec } as unknown as PortsBundle,
      processes: { start },
      workerName: "w",
      options: resolvePool({ module: "/tasks.js", processes: 1 }),
      tasks: ["mail"],
      onFree() {},
    });
    const refused = expect(pool.start()).rejects.toMatchObject({ code: "task_pool_failed" });
    await clock.advance("30s");
    await refused;
  });

  test("memory of a process of a task pool", async () => {
    const { t } = await withRun(async () => 1);
    const pool = { module: "/tasks.js", memory: "63 MiB" } as const;
    expect(() => t.client.worker({ tasks: [one], pool })).toThrow("the minimum is 64 MiB");
    await t.close();
  });

  test("tasks that a worker with a pool executes at once", async () => {
    const { t } = await withRun(async () => 1);
    const pool = { module: "/tasks.js", processes: 2 };
    t.client.worker({ tasks: [one], pool, taskConcurrency: 2 });
    expect(() => t.client.worker({ tasks: [one], pool, taskConcurrency: 3 })).toThrow("the pool executes 2 at once");
    await t.close();
  });

  test("message, stack and data of a stored error", async () => {
    const { t, limited } = await withRun((ctx) =>
      ctx.step("no", () => Promise.reject(new Error(kib(20))), { retry: "none" }),
    );
    const { cause } = await failure(t.run(limited));
    expect(cause.message.length).toBeLessThanOrEqual(8 * 1024);
    expect(cause.message).toMatch(/\[cut\]$/);
    expect(cause.stack?.length).toBeLessThanOrEqual(4 * 1024);
    await t.close();
  });

  test("runs that a batch names as skipped", async () => {
    const { t, limited } = await withRun(async () => 1);
    for (let i = 0; i < 3; i++)
      await t.client.startMany(Array.from({ length: 340 }, () => ({ workflow: limited, input: undefined })));
    const stopped = await t.client.batch({}).terminate();
    expect(stopped.matched).toBe(1_020);
    const { skipped, skippedCount } = await t.client.batch({}).terminate();
    expect([skipped.length, skippedCount]).toEqual([1_000, 1_020]);
    await t.close();
  });

  test("runs that a move, an export or an import names as skipped", () => {
    const count = new TransferCount();
    for (let i = 0; i < 1_001; i++) count.skip({ runId: `${i}`, id: `${i}` }, "run_exists");
    expect([count.result.skipped.length, count.result.skippedCount]).toEqual([1_000, 1_001]);
    expect(count.result.skippedCodes).toEqual({ run_exists: 1_001 });
  });

  test("size of a run that is exported or moved", () => {
    const read = (events: number, bytes: number) => {
      const run = { input: new Uint8Array(bytes), output: null };
      const list = Array.from({ length: events }, () => ({}));
      return isTooLarge({ run, events: list, messages: [] } as never);
    };
    const most = 64 * 1024 * 1024;
    expect([read(0, most), read(0, most + 1), read(1, most - 200), read(1, most - 199)]).toEqual([
      ...[false, true, false, true],
    ]);
  });

  test("names of workflows and namespaces", async () => {
    const reserved = { code: "invalid_name", message: expect.stringContaining("reserved") };
    await expect(connect("memory:", { namespace: "holdfast.mine" })).rejects.toMatchObject(reserved);
    expect(await failure((async () => workflow("holdfast.mine", async () => 1))())).toMatchObject(reserved);
  });

  const hourly = { id: "s", workflow: "job", every: "1h" } as const;

  test("times of a schedule that wait for the end of its open run", async () => {
    const t = await testEngine({ workflows: [workflow("job", (ctx) => ctx.receive(note))] });
    const s = await t.client.schedules.create({ ...hourly, every: "1s", overlap: "buffer-all" });
    await t.clock.advance("1003s");
    expect((await s.describe()).buffered).toBe(1_000);
    const reason = expect.stringContaining("1000 times are buffered already");
    expect((await s.describe()).decisions.at(-1)).toMatchObject({ what: "skipped", reason });
    await t.close();
  });

  test("missed times that a schedule makes up for", async () => {
    const t = await testEngine({ workflows: [] });
    for (const max of [0, 1_001])
      await expect(t.client.schedules.create({ ...hourly, catchUp: { max } })).rejects.toMatchObject({
        code: "invalid_option",
      });
    await t.close();
  });

  test("catch-up window of a schedule", async () => {
    const t = await testEngine({ workflows: [] });
    const short = t.client.schedules.create({ ...hourly, catchUp: { window: "59s" } });
    await expect(short).rejects.toMatchObject({ code: "invalid_option" });
    await t.client.schedules.create({ ...hourly, catchUp: { window: "1m" } });
    await t.close();
  });

  test("how long `retention` keeps runs that have ended", async () => {
    const t = await testEngine({ workflows: [] });
    await expect(t.client.retention.set({ failed: "59s" })).rejects.toMatchObject({ code: "invalid_option" });
    await t.client.retention.set({ failed: "1m" });
    expect(await t.client.retention.get()).toEqual({ failed: "1m" });
    await t.close();
  });

  test("decisions that a schedule remembers", async () => {
    const t = await testEngine({ workflows: [] });
    const s = await t.client.schedules.create(hourly);
    await t.clock.advance("150h");
    expect((await s.describe()).decisions).toHaveLength(100);
    await t.close();
  });

  test("length of the id of a schedule", async () => {
    const t = await testEngine({ workflows: [] });
    const long = t.client.schedules.create({ ...hourly, id: "s".repeat(361) });
    await expect(long).rejects.toMatchObject({ code: "invalid_name" });
    await t.client.schedules.create({ ...hourly, id: "s".repeat(360) });
    await t.close();
  });

  test("note of a schedule, and who pauses or resumes it", async () => {
    const t = await testEngine({ workflows: [] });
    const long = "x".repeat(4_001);
    const refused = { code: "invalid_option" };
    await expect(t.client.schedules.create({ ...hourly, note: long })).rejects.toMatchObject(refused);
    const s = await t.client.schedules.create({ ...hourly, note: long.slice(1) });
    await expect(s.pause({ by: long })).rejects.toMatchObject(refused);
    await expect(s.resume({ note: "a\0b" })).rejects.toMatchObject(refused);
    await t.close();
  });

  test("times that `schedules.preview` and `upcoming` show", async () => {
    const t = await testEngine({ workflows: [] });
    const s = await t.client.schedules.create(hourly);
    for (const n of [0, 10_001, 1.5]) {
      await expect(s.upcoming(n)).rejects.toMatchObject({ code: "invalid_option" });
      await expect(t.client.schedules.preview({ every: "1h" }, n)).rejects.toMatchObject({ code: "invalid_option" });
    }
    expect(await t.client.schedules.preview({ every: "1h" }, 10_000)).toHaveLength(10_000);
    expect(await s.upcoming()).toHaveLength(10);
    await t.close();
  });

  test("schedules in one page of `schedules.list`, and runs in one of `schedules.runs`", async () => {
    const t = await testEngine({ workflows: [] });
    for (const limit of [0, 1_001, 1.5]) {
      await expect(t.client.schedules.list({ limit })).rejects.toMatchObject({ code: "invalid_option" });
      await expect(t.client.schedules.runs("s", { limit })).rejects.toMatchObject({ code: "invalid_option" });
    }
    await t.client.schedules.list({ limit: 1_000 });
    await t.client.schedules.runs("s", { limit: 1_000 });
    await t.close();
  });

  test("schedules that `health` shows as failing", async () => {
    const t = await testEngine({ workflows: [workflow("job", fail)] });
    const ids = Array.from({ length: 101 }, (_, i) => `s${String(i).padStart(3, "0")}`);
    for (const id of ids) await t.client.schedules.create({ ...hourly, id });
    await t.clock.advance("1h");
    expect((await t.client.health()).schedules.map(({ id }) => id)).toEqual(ids.slice(0, 100));
    await t.close();
  });

  const codeOf = async (ask: () => Promise<unknown>): Promise<unknown> => {
    try {
      return await ask();
    } catch (error) {
      return (error as { code: string }).code;
    }
  };

  test("name of a lock", async () => {
    const { t, limited } = await withRun((ctx, name) => codeOf(() => ctx.withLock(name as string, () => "held")));
    expect(await t.run(limited, "x".repeat(200))).toBe("held");
    expect(await t.run(limited, "x".repeat(201))).toBe("invalid_name");
    await t.close();
  });

  test("holders of a lock at once", async () => {
    const { t, limited } = await withRun((ctx, limit) =>
      codeOf(() => ctx.withLock("l", { limit: limit as number }, () => "held")),
    );
    for (const limit of [1, 10_000]) expect(await t.run(limited, limit)).toBe("held");
    for (const limit of [0, 10_001, 1.5]) expect(await t.run(limited, limit)).toBe("invalid_option");
    await t.close();
  });

  test("locks that a run holds or waits for", async () => {
    const held = (ctx: Context, left: number): Promise<unknown> =>
      left === 0 ? Promise.resolve("all") : ctx.withLock(`l${left}`, () => held(ctx, left - 1));
    const { t, limited } = await withRun((ctx, n) => held(ctx, n as number), { opsMax: 10 });
    expect(await t.run(limited, 10)).toBe("all");
    expect((await failure(t.run(limited, 11))).cause).toMatchObject({ code: "too_many_ops" });
    await t.close();
  });

  test("places, tokens and backlog of a queue", async () => {
    const { t, limited } = await withRun(async () => 1);
    const set = (options: QueueOptions) => t.client.queues.set("default", options);
    const rate = (limit: number, burst = 1) => ({ rate: { limit, per: "1s", burst } }) as const;
    for (const options of [{ concurrency: 1_000_000 }, rate(1_000_000, 1_000_000), { perKey: { concurrency: 1 } }])
      await set(options);
    const wrong = [
      { concurrency: -1 },
      { concurrency: 1_000_001 },
      rate(0),
      rate(1, 0),
      rate(1.5),
      { backlog: 1_000_001 },
      { perKey: rate(0) },
    ];
    for (const options of wrong) await expect(set(options)).rejects.toMatchObject({ code: "invalid_option" });
    await set({ concurrency: 0, backlog: 0 });
    await expect(t.client.start(limited)).rejects.toMatchObject({ code: "queue_full" });
    await t.close();
  });

  test("weight of a key", async () => {
    const { t } = await withRun(async () => 1);
    const set = (a: number) => t.client.queues.set("default", { weights: { a } });
    for (const weight of [0.001, 1_000]) await set(weight);
    for (const weight of [0, 0.0001, 1_001, Number.NaN])
      await expect(set(weight)).rejects.toMatchObject({ code: "invalid_option" });
    await t.close();
  });

  test("key of a run or a task", async () => {
    const { t, limited } = await withRun((ctx, key) => ctx.task(one, undefined, { key: key as string }));
    const start = (key: string) => t.client.start(limited, "k", { key });
    await start("k".repeat(200));
    for (const key of ["", "k".repeat(201), "\n"])
      await expect(start(key)).rejects.toMatchObject({ code: "invalid_name" });
    const keyed = workflow({ name: "keyed", key: (key: string) => key }, async (_ctx, key: string) => key);
    await expect(t.client.start(keyed, "")).rejects.toMatchObject({ code: "invalid_name" });
    await t.close();
  });

  test("names of attributes", async () => {
    const { t, limited } = await withRun(async (ctx) => ctx.set({ "holdfast.mine": 1 }));
    const start = t.client.start(limited, undefined, { attributes: { "holdfast.mine": 1 } });
    await expect(start).rejects.toMatchObject({ code: "invalid_name" });
    await expect(t.run(limited)).rejects.toMatchObject({ code: "run_parked" });
    expect(await t.client.count({ attributes: { "holdfast.mine": 1 } })).toBe(0);
    await t.close();
  });

  test("limits themselves are checked", async () => {
    await expect(connect("memory:", { limits: { opsMax: 0 } })).rejects.toMatchObject({ code: "invalid_option" });
  });

  test("every row of the table has a test of its name, or a row here that names its test", () => {
    const here = readFileSync(new URL(import.meta.url), "utf8");
    for (const [file, title] of Object.values(ELSEWHERE)) {
      const text = readFileSync(new URL(`../../../../${file}`, import.meta.url), "utf8");
      expect(text.includes(`test("${title}"`) || text.includes(`])("${title}"`), title).toBe(true);
    }
    const table = readFileSync(new URL("../../../../docs/limits.md", import.meta.url), "utf8");
    const rows = table.split("\n").filter((line) => line.startsWith("| ") && !line.startsWith("| limit"));
    const missing = rows
      .map((row) => row.split(" | ")[0]?.slice(2) ?? "")
      .filter((name) => !here.includes(`test("${name}"`) && !Object.hasOwn(ELSEWHERE, name));
    expect(rows.length).toBeGreaterThan(10);
    expect(missing).toEqual([]);
  });
});
