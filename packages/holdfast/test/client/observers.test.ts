/** Loggers and telemetry are the application's own: whatever they do, no run and no caller may feel it. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { connect, type Logger, RetryableError, type Telemetry, workflow } from "../../src/index.ts";
import { testEngine } from "../../src/testing/index.ts";

const LEVELS = ["debug", "info", "warn", "error"] as const;

const fail = (): never => {
  throw new Error("disk full");
};
const reject = (): never => Promise.reject(new Error("disk full")) as never;

function loggerOf(log: (fields: object, message: string) => void): Logger {
  return Object.fromEntries(LEVELS.map((level) => [level, log])) as unknown as Logger;
}

const flaky = workflow("flaky", async (ctx) => {
  ctx.log.info({}, "begun");
  return ctx.step(
    "try",
    (s) => {
      s.log.warn({}, "trying");
      if (s.attempt === 1) throw new RetryableError("once more");
      return s.attempt;
    },
    { retry: { attempts: 2, fixed: "1ms" } },
  );
});

function watchStderr(): string[] {
  const lines: string[] = [];
  vi.spyOn(process.stderr, "write").mockImplementation((text) => {
    lines.push(String(text));
    return true;
  });
  return lines;
}

afterEach(() => void vi.restoreAllMocks());

describe.each([
  ["throws", fail],
  ["rejects", reject],
])("a logger that %s", (_, log) => {
  test("touches neither a run nor the worker, and is reported once per level", async () => {
    const stderr = watchStderr();
    const hf = await connect("memory:", { logger: loggerOf(log) });
    await hf.worker({ workflows: [flaky] }).start();
    expect(await hf.run(flaky)).toBe(2);
    expect(await hf.run(flaky)).toBe(2);
    await hf.close();
    const reported = stderr.filter((line) => line.includes("logger") && line.includes("disk full"));
    expect(reported.map((line) => /logger\.(\w+)/.exec(line)?.[1]).sort()).toEqual(["info", "warn"]);
  });
});

describe.each([
  ["throws", fail],
  ["rejects", reject],
])("telemetry that %s", (_, observe) => {
  test("changes nothing: starts and runs succeed, and each function is reported once in the log", async () => {
    const lines: string[] = [];
    const logger = loggerOf((fields, message) => void lines.push(`${message} ${JSON.stringify(fields)}`));
    const telemetry: Telemetry = { count: observe, duration: observe, stepSpan: observe };
    const hf = await connect("memory:", { telemetry, logger });
    await hf.worker({ workflows: [flaky] }).start();
    const run = await hf.start(flaky, undefined, { id: "f" });
    expect(await run.result()).toBe(2);
    expect(await hf.run(flaky)).toBe(2);
    await hf.close();
    const reported = lines.filter((line) => line.includes("disk full"));
    expect(reported.map((line) => /telemetry\.(\w+)/.exec(line)?.[1]).sort()).toEqual([
      "count",
      "duration",
      "stepSpan",
    ]);
  });

  test("changes nothing at the end of a span either, nor in the test engine", async () => {
    const telemetry: Telemetry = { count: observe, duration: observe, stepSpan: () => observe };
    const t = await testEngine({ workflows: [flaky], telemetry, logger: loggerOf(fail) });
    watchStderr();
    expect(await t.run(flaky)).toBe(2);
    await t.close();
  });
});

test("a span that is no function is as good as none", async () => {
  const telemetry = { count() {}, duration() {}, stepSpan: () => undefined } as unknown as Telemetry;
  const t = await testEngine({ workflows: [flaky], telemetry });
  expect(await t.run(flaky)).toBe(2);
  await t.close();
});

test("they keep their `this`", async () => {
  class Recorder implements Telemetry, Logger {
    readonly #seen: string[] = [];
    count(metric: string): void {
      this.#seen.push(metric);
    }
    duration(metric: string): void {
      this.#seen.push(metric);
    }
    debug(_fields: object, message: string): void {
      this.#seen.push(message);
    }
    info = this.debug;
    warn = this.debug;
    error = this.debug;
    get seen(): ReadonlySet<string> {
      return new Set(this.#seen);
    }
  }
  const recorder = new Recorder();
  const t = await testEngine({ workflows: [flaky], telemetry: recorder, logger: recorder });
  await t.run(flaky);
  await t.close();
  expect(recorder.seen).toContain("begun");
  expect(recorder.seen).toContain("step_attempt");
});

describe("refused at once, with what is missing", () => {
  test.each([
    [{ logger: {} }, "logger has no debug, info, warn, error"],
    [{ logger: { ...console, warn: "loud" } }, "logger has no warn"],
    [{ logger: "pino" }, 'logger is "pino"'],
    [{ logger: null }, "logger is null"],
    [{ telemetry: { count() {} } }, "telemetry has no duration"],
    [{ telemetry: { count() {}, duration() {}, stepSpan: true } }, "telemetry.stepSpan is true"],
    [{ telemetry: 7 }, "telemetry is 7"],
  ])("%o", async (options, message) => {
    for (const opening of [
      () => connect("memory:", options as never),
      () => testEngine({ workflows: [], ...(options as object) }),
    ]) {
      await expect(opening()).rejects.toMatchObject({
        code: "invalid_option",
        message: expect.stringContaining(message),
      });
    }
  });
});
