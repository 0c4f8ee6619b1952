/** What the log says by itself, and what workflow code and steps may say in it. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { Client } from "../../src/client/client.ts";
import { logLine } from "../../src/client/console-logger.ts";
import { jsonCodec } from "../../src/codec/json-codec.ts";
import { connect, type Logger, task, workflow } from "../../src/index.ts";
import { MemoryNotifier, MemoryStore, SeededSource, testEngine, VirtualClock } from "../../src/testing/index.ts";

interface Line {
  readonly level: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

function recording(): { readonly lines: Line[]; readonly logger: Logger; shown(level: string): string[] } {
  const lines: Line[] = [];
  const at = (level: string) => (fields: object, message: string) =>
    void lines.push({ level, message, fields: fields as Line["fields"] });
  return {
    lines,
    logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") },
    shown: (level) => lines.filter((line) => line.level === level).map(({ message }) => message),
  };
}

afterEach(() => void vi.restoreAllMocks());

test("ctx.log and s.log take a message alone, with fields before or after it, fields alone, or an error", async () => {
  const { lines, logger } = recording();
  const talking = workflow("talking", async (ctx) => {
    ctx.log.info("alone");
    ctx.log.info({ n: 1 }, "fields first");
    ctx.log.info("message first", { n: 2 });
    ctx.log.warn({ n: 3 });
    ctx.log.error(new Error("oh no"), "with an error");
    const unreadable = Object.defineProperty({}, "x", { enumerable: true, get: () => Promise.reject.call(null) });
    ctx.log.info(unreadable, "unreadable");
    await ctx.step("say", (s) => {
      s.log.info("in the step");
      s.log.debug("quietly", { n: 4 });
    });
  });
  const t = await testEngine({ workflows: [talking], logger });
  const run = await t.client.start(talking, undefined, { id: "t" });
  await run.result();
  await t.close();
  const ofRun = lines.filter(({ fields }) => "runId" in fields);
  const about = { namespace: "default", workflow: "talking", id: "t", runId: run.runId };
  expect(ofRun).toEqual([
    { level: "info", message: "alone", fields: about },
    { level: "info", message: "fields first", fields: { ...about, n: 1 } },
    { level: "info", message: "message first", fields: { ...about, n: 2 } },
    { level: "warn", message: "", fields: { ...about, n: 3 } },
    { level: "error", message: "with an error", fields: { ...about, err: new Error("oh no") } },
    { level: "info", message: "unreadable", fields: { ...about, fields: "(cannot be read)" } },
    { level: "info", message: "in the step", fields: { ...about, op: "say", attempt: 1 } },
    { level: "debug", message: "quietly", fields: { ...about, op: "say", attempt: 1, n: 4 } },
  ]);
});

test("fields of a line do not hide which run, op and attempt it comes from", async () => {
  const { lines, logger } = recording();
  const wrong = { namespace: "n", workflow: "w", id: 7, runId: "r", op: "o", attempt: 9, cents: 990 };
  const talking = workflow("talking", async (ctx) => {
    ctx.log.info("of the workflow", wrong);
    await ctx.step("say", (s) => s.log.info(wrong, "of the step"));
  });
  const t = await testEngine({ workflows: [talking], logger });
  const run = await t.client.start(talking, undefined, { id: "t" });
  await run.result();
  await t.close();
  const about = { namespace: "default", workflow: "talking", id: "t", runId: run.runId, cents: 990 };
  expect(lines.filter(({ message }) => message.startsWith("of the "))).toEqual([
    { level: "info", message: "of the workflow", fields: { ...about, op: "o", attempt: 9 } },
    { level: "info", message: "of the step", fields: { ...about, op: "say", attempt: 1 } },
  ]);
});

describe("a worker says", () => {
  test("when it starts, drains and stops, what it offers and on which store", async () => {
    const { lines, logger } = recording();
    const v2 = workflow({ name: "order", version: "2", queue: "orders" }, async () => {});
    const hf = await connect("memory:", { logger });
    const worker = hf.worker({ workflows: [v2], name: "w" });
    await worker.start();
    await worker.drain();
    await hf.close();
    expect(lines).toEqual([
      {
        level: "info",
        message: "worker started",
        fields: { worker: "w", queues: ["orders"], workflows: ["order@2"], store: "memory" },
      },
      { level: "info", message: "worker draining", fields: { worker: "w", runs: 0 } },
      { level: "info", message: "worker stopped", fields: { worker: "w" } },
    ]);
  });

  test("which tasks it executes, and how many are in progress when it drains", async () => {
    const { lines, logger } = recording();
    const mail = task({ name: "mail", queue: "mails" }, () => {});
    const hf = await connect("memory:", { logger });
    const worker = hf.worker({ tasks: [mail], name: "w" });
    await worker.start();
    await worker.drain();
    await hf.close();
    expect(lines.map(({ message, fields }) => ({ message, fields }))).toEqual([
      { message: "worker started", fields: { worker: "w", queues: ["mails"], tasks: ["mail"], store: "memory" } },
      { message: "worker draining", fields: { worker: "w", runs: 0, tasks: 0 } },
      { message: "worker stopped", fields: { worker: "w" } },
    ]);
  });

  test("that an attempt failed and when the next one is, that none is left, and that the run failed", async () => {
    const { lines, logger, shown } = recording();
    const pay = workflow("pay", (ctx) =>
      ctx.step("charge", () => Promise.reject(new TypeError("bank is down")), { retry: { attempts: 2, fixed: "90s" } }),
    );
    const t = await testEngine({ workflows: [pay], logger });
    const run = await t.client.start(pay, undefined, { id: "p-1" });
    await expect(run.result()).rejects.toMatchObject({ code: "run_failed" });
    await t.close();
    expect(shown("warn")).toEqual([
      'step "charge" failed, attempt 1 of 2, next attempt in 1m 30s: TypeError: bank is down',
      'step "charge" failed, attempt 2 of 2, no attempts are left: TypeError: bank is down',
      "run failed: TypeError: bank is down",
    ]);
    expect(lines.find(({ level }) => level === "warn")?.fields).toMatchObject({
      namespace: "default",
      workflow: "pay",
      id: "p-1",
      op: "charge",
      attempt: 1,
    });
  });

  test("that an error is not worth another attempt, and that a run is retried as a whole", async () => {
    const { logger, shown } = recording();
    const pay = workflow({ name: "pay", retry: { attempts: 2, fixed: "1h" } }, (ctx) =>
      ctx.step("charge", () => Promise.reject(new Error("no such card")), { retryIf: "never" }),
    );
    const t = await testEngine({ workflows: [pay], logger });
    await expect(t.run(pay)).rejects.toMatchObject({ code: "run_failed" });
    await t.close();
    expect(shown("warn")).toEqual([
      'step "charge" failed, attempt 1 of 3, it is not retried: no such card',
      "run failed, attempt 1, next attempt in 1h: no such card",
      'step "charge" failed, attempt 1 of 3, it is not retried: no such card',
      "run failed: no such card",
    ]);
  });

  test("that an attempt of a task failed and when the next one is, and that none is left", async () => {
    const { lines, logger, shown } = recording();
    const charge = task({ name: "charge", retry: { attempts: 2, fixed: "90s" } }, () => {
      throw new TypeError("bank is down");
    });
    const pay = workflow("pay", async (ctx) => ctx.task(charge).catch(() => "unpaid"));
    const t = await testEngine({ workflows: [pay], tasks: [charge], logger });
    const run = await t.client.start(pay);
    await run.result();
    await t.close();
    expect(shown("warn")).toEqual([
      'task "charge" failed, attempt 1 of 2, next attempt in 1m 30s: TypeError: bank is down',
      'task "charge" failed, attempt 2 of 2, no attempts are left: TypeError: bank is down',
    ]);
    const about = { namespace: "default", runId: run.runId, op: "charge", task: "charge" };
    expect(lines.find(({ level }) => level === "warn")?.fields).toEqual({ ...about, attempt: 1 });
  });

  test("that a retryIf function threw, and that the default rule has decided instead", async () => {
    const { lines, logger, shown } = recording();
    const retryIf = (error: unknown) => (error as { response: { status: number } }).response.status === 503;
    const pay = workflow("pay", (ctx) =>
      ctx.step("charge", () => Promise.reject(new Error("bank is down")), {
        retry: { attempts: 2, fixed: "1s" },
        retryIf,
      }),
    );
    const t = await testEngine({ workflows: [pay], logger });
    await expect(t.run(pay)).rejects.toMatchObject({ code: "run_failed" });
    await t.close();
    expect(shown("warn")).toEqual([
      "retryIf of step \"charge\" threw, so the default rule decides about attempt 1: TypeError: Cannot read properties of undefined (reading 'status')",
      'step "charge" failed, attempt 1 of 2, next attempt in 1s: bank is down',
      'step "charge" failed, attempt 2 of 2, no attempts are left: bank is down',
      "run failed: bank is down",
    ]);
    const [first] = lines.filter(({ level }) => level === "warn");
    expect(first?.fields).toMatchObject({ workflow: "pay", op: "charge", attempt: 1 });
  });

  test("that a run timed out, and nothing of one that completed or was canceled", async () => {
    const { logger, shown } = recording();
    const wait = workflow("wait", (ctx, ms: number) => ctx.sleep("z", { milliseconds: ms }));
    const t = await testEngine({ workflows: [wait], logger });
    await t.run(wait, 1);
    const canceled = await t.client.start(wait, 10_000);
    await canceled.cancel();
    await expect(canceled.result()).rejects.toMatchObject({ code: "run_canceled" });
    await expect(t.run(wait, 10_000, { timeout: "1s" })).rejects.toMatchObject({ code: "run_timed_out" });
    await t.close();
    expect(shown("warn")).toEqual([expect.stringMatching(/^run timed out: /)]);
  });

  test("the first few of a storm in full, and then how many more there were", async () => {
    const { logger, shown } = recording();
    const pay = workflow("pay", (ctx, n: number) =>
      ctx.step("charge", () => Promise.reject(new Error(`order ${n}: bank is down`)), {
        retry: { attempts: 2, fixed: "1s" },
      }),
    );
    const t = await testEngine({ workflows: [pay], logger });
    const handles = await t.client.startMany(Array.from({ length: 400 }, (_, input) => ({ workflow: pay, input })));
    await Promise.all(handles.map((handle) => handle.result().catch(() => {})));
    await t.close();
    const warnings = shown("warn");
    expect(warnings.length).toBeLessThan(25);
    const leftOut = warnings.flatMap((line) => /^… and (\d+) more like this in the last \d+ s$/.exec(line)?.[1] ?? []);
    expect(leftOut.map(Number)).toEqual([395, 395, 395]);
  });
});

describe("a client whose runs nobody takes", () => {
  function open(logger: Logger) {
    const clock = new VirtualClock();
    const notifier = new MemoryNotifier(clock);
    const store = new MemoryStore({ clock, notifier });
    const random = new SeededSource(1);
    const ports = { clock, random, codec: jsonCodec, log: logger, store, notifier };
    return { clock, store, client: new Client(ports, "default", async () => {}, 2_000, true) };
  }
  const order = workflow("order", async () => {});

  test("is told so some seconds after a start, once a minute for each workflow, and with one look at the workers", async () => {
    const { lines, logger, shown } = recording();
    const { client, clock, store } = open(logger);
    const looks = vi.spyOn(store.workers, "list");
    await client.start(order, undefined, { id: "o-1" });
    for (let n = 0; n < 100; n++) await client.start(order);
    await clock.advance("4s");
    expect(lines).toEqual([]);
    await clock.advance("2s");
    expect(shown("warn")).toEqual([
      'no worker can claim the run that was started: no live worker offers order@1 on queue "default" in namespace "default"; it waits for one',
    ]);
    expect(lines[0]?.fields).toEqual({ workflow: "order", id: "o-1", queue: "default" });
    await client.start(order);
    await clock.advance("1m");
    expect(looks).toHaveBeenCalledTimes(1);
    await client.start(order);
    await clock.advance("6s");
    expect(shown("warn")).toHaveLength(2);
    await client.close();
  });

  test("is told so when the only worker is dead, as soon as its lease has expired", async () => {
    const { logger, shown } = recording();
    const { client, clock, store } = open(logger);
    await store.workers.register({
      namespace: "default",
      workerId: "00000000-0000-4000-8000-000000000001",
      name: "orders",
      queues: ["default"],
      workflows: ["order@1"],
      labels: {},
      leaseMs: 30_000,
    });
    await clock.advance("20s");
    await client.start(order);
    await clock.advance("9s");
    expect(shown("warn")).toEqual([]);
    await clock.advance("9s");
    expect(shown("warn")).toEqual([expect.stringMatching(/^no worker can claim the run that was started/)]);
    await clock.until(client.close());
  });

  test("hears nothing when a worker came meanwhile, when the start is for later, or when the client is closed", async () => {
    const { logger, shown } = recording();
    const { client, clock } = open(logger);
    await client.start("report", undefined, { delay: "1h" });
    await client.start(order);
    await clock.advance("2s");
    await client.worker({ workflows: [order] }).start();
    await clock.advance("10s");
    await client.start("unheard-of");
    await clock.until(client.close());
    await clock.advance("1h");
    expect(shown("warn")).toEqual([]);
  });
});

describe("the default logger", () => {
  const NOW = Date.UTC(2026, 0, 4, 8, 5, 6, 78);
  const plain = { terminal: false, colors: false };

  test("writes time, level, message, then fields; without what nobody has chosen", () => {
    const fields = { namespace: "default", workflow: "order", id: "o-1", runId: "0190", attempt: 2, note: 'a "b"' };
    expect(logLine("info", fields, "charging", NOW, plain)).toBe(
      '2026-01-04T08:05:06.078Z info  charging workflow=order id=o-1 attempt=2 note="a \\"b\\""',
    );
    expect(logLine("warn", { namespace: "eu", runId: "0190", gone: undefined }, "x", NOW, plain)).toBe(
      "2026-01-04T08:05:06.078Z warn  x namespace=eu runId=0190",
    );
  });

  test("shows any value, lists as text, and errors with their stack", () => {
    const circular: Record<string, unknown> = { big: 1n };
    circular["self"] = circular;
    const line = logLine("error", { circular, queues: ["a", "b"], err: new Error("oh no") }, "x", NOW, plain);
    expect(line).toContain("circular=<ref *1> { big: 1n, self: [Circular *1] } queues=a,b err=Error: oh no\n    at ");
  });

  test("has colors and the time of day in a terminal", () => {
    const line = logLine("warn", { n: 1 }, "x", NOW, { terminal: true, colors: true });
    expect(line).toMatch(/^\u001b\[2m\d\d:05:06\.078\u001b\[0m \u001b\[33mwarn \u001b\[0m x \u001b\[2mn=1\u001b\[0m$/);
  });

  test("shows what workflow code says at info, on standard error", async () => {
    const written: string[] = [];
    vi.spyOn(process.stderr, "write").mockImplementation((text) => {
      written.push(String(text));
      return true;
    });
    const hello = workflow("hello", async (ctx) => ctx.log.info("text"));
    const hf = await connect("memory:");
    await hf.worker({ workflows: [hello] }).start();
    await hf.run(hello, undefined, { id: "h" });
    await hf.close();
    expect(written.find((line) => line.includes("info  text"))).toMatch(/Z info {2}text workflow=hello id=h\n$/);
  });
});
