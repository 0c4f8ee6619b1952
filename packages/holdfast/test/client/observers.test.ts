/** Loggers and telemetry are the application's own: whatever they do, no run and no caller may feel it. */
import { afterEach, describe, expect, test, vi } from "vitest";
import {
  connect,
  type Logger,
  RetryableError,
  type Span,
  type SpanAbout,
  type Telemetry,
  workflow,
} from "../../src/index.ts";
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
    const telemetry: Telemetry = {
      count: observe,
      duration: observe,
      level: observe,
      trace: observe,
      span: observe,
    };
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
      "level",
      "span",
      "trace",
    ]);
  });

  test("changes nothing in a span either, nor in the test engine", async () => {
    const span: Span = { part: observe, within: observe, end: observe };
    const whole: Span = { part: () => span, end: observe };
    const telemetry: Telemetry = { count: observe, duration: observe, span: () => whole };
    const t = await testEngine({ workflows: [flaky], telemetry, logger: loggerOf(fail) });
    watchStderr();
    expect(await t.run(flaky)).toBe(2);
    await t.close();
  });
});

test.each([undefined, null, 7, {}])("%o instead of a span is as good as none", async (span) => {
  const telemetry = { count() {}, duration() {}, span: () => span } as unknown as Telemetry;
  const t = await testEngine({ workflows: [flaky], telemetry });
  expect(await t.run(flaky)).toBe(2);
  await t.close();
});

describe("the function of a step inside of a span", () => {
  const outcomeWith = async (within: NonNullable<Span["within"]>) => {
    let calls = 0;
    const once = workflow("once", (ctx) =>
      ctx.step("count", () => {
        calls += 1;
        if (calls > 5) throw new Error("called too often");
        return "its own result";
      }),
    );
    const telemetry: Telemetry = { count() {}, duration() {}, span: () => ({ within, end() {} }) };
    const t = await testEngine({ workflows: [once], telemetry });
    const result = await t.run(once);
    await t.close();
    return { calls, result };
  };
  const good = { calls: 1, result: "its own result" };

  test("is called once although the span forgets it, calls it twice, or fails before or after", async () => {
    expect(await outcomeWith(() => undefined as never)).toEqual(good);
    expect(await outcomeWith((call) => [call(), call()][1] as never)).toEqual(good);
    expect(await outcomeWith(fail)).toEqual(good);
    expect(await outcomeWith((call) => [call(), fail()] as never)).toEqual(good);
  });

  test("decides what comes of the step, not the span", async () => {
    expect(await outcomeWith((call) => [call(), "another"] as never)).toEqual(good);
  });

  test("fails the step with its own error", async () => {
    const failing = workflow("failing", (ctx) =>
      ctx.step("no", () => Promise.reject(new Error("its own")), { retry: "none" }),
    );
    const within: Span["within"] = (call) => {
      call();
      throw new Error("of the span");
    };
    const telemetry: Telemetry = { count() {}, duration() {}, span: () => ({ within, end() {} }) };
    const t = await testEngine({ workflows: [failing], telemetry });
    await expect(t.run(failing)).rejects.toThrow("its own");
    await t.close();
  });
});

describe("several", () => {
  function recorder() {
    const seen: string[] = [];
    const span = (about: SpanAbout): Span => ({
      part: (part) => span(part),
      within: (call) => {
        seen.push(`within ${about.kind}`);
        return call();
      },
      end: (outcome) => void seen.push(`${about.kind} ${outcome}`),
    });
    const telemetry: Telemetry = { count: (metric) => void seen.push(metric), duration() {}, span };
    return { seen, telemetry };
  }

  test("hear the same, and one that fails keeps nothing from the others", async () => {
    const [first, second] = [recorder(), recorder()];
    const lines: string[] = [];
    const broken: Telemetry = { count: fail, duration: fail, level: fail, trace: fail, span: fail };
    const t = await testEngine({
      workflows: [flaky],
      telemetry: [first.telemetry, broken, second.telemetry],
      logger: loggerOf((_, message) => void lines.push(message)),
    });
    expect(await t.run(flaky)).toBe(2);
    await t.close();
    expect(first.seen).toEqual(second.seen);
    expect(first.seen).toEqual(expect.arrayContaining(["runs_ended", "within step", "step failed", "run completed"]));
    expect(lines.filter((line) => line.startsWith("telemetry.count failed"))).toHaveLength(1);
  });

  test("none is as good as no telemetry", async () => {
    const t = await testEngine({ workflows: [flaky], telemetry: [] });
    expect(await t.run(flaky)).toBe(2);
    await t.close();
  });
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
    [{ telemetry: { count() {}, duration() {}, span: true } }, "telemetry.span is true"],
    [{ telemetry: [{ count() {}, duration() {} }, {}] }, "telemetry[1] has no count, duration"],
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
