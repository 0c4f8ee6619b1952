import { RetryableError, type Telemetry, workflow } from "holdfast";
import { testEngine } from "holdfast/testing";
import pino from "pino";
import { expect, test } from "vitest";

function recorder() {
  const seen: string[] = [];
  const label = (labels: Readonly<Record<string, string>>) => Object.values(labels).join(" ");
  const telemetry: Telemetry = {
    count: (metric, times, labels) => void seen.push(`${metric} ${times} ${label(labels)}`.trim()),
    duration: (metric, _ms, labels) => void seen.push(`${metric} ${label(labels)}`.trim()),
    span: ({ kind, workflow, op = workflow, attempt = "" }) => {
      seen.push(`begin ${kind} ${op} ${attempt}`.trim());
      const ends = (outcome: string) => `end ${kind} ${op} ${attempt} ${outcome}`.replace("  ", " ");
      return { end: (outcome, error) => void seen.push(ends(outcome) + (error ? ` ${error.message}` : "")) };
    },
  };
  return { seen, telemetry };
}

const flaky = workflow("flaky", async (ctx) => {
  ctx.log.info({ at: "top" }, "begun");
  const value = await ctx.step("try", (s) => {
    s.log.info({}, "trying");
    if (s.attempt === 1) throw new RetryableError("once more");
    return s.attempt;
  });
  await ctx.sleep("nap", "1 day");
  ctx.log.info({ value }, "slept");
  return value;
});

test("telemetry hears of runs, attempts, flushes and claims, each once", async () => {
  const { seen, telemetry } = recorder();
  const t = await testEngine({ workflows: [flaky], telemetry });
  await t.run(flaky);
  await t.close();
  expect(seen.filter((line) => /^(runs_started|runs_ended|step_attempts|begin|end)/.test(line))).toEqual([
    "begin run flaky",
    "runs_started 1 flaky 1 default",
    "begin step try 1",
    "end step try 1 failed once more",
    "step_attempts 1 flaky try failed",
    "end run flaky suspended",
    "begin run flaky",
    "begin step try 2",
    "end step try 2 completed",
    "step_attempts 1 flaky try completed",
    "end run flaky suspended",
    "begin run flaky",
    "end run flaky completed",
    "runs_ended 1 flaky 1 completed",
  ]);
  expect(seen.filter((line) => line === "flush").length).toBe(seen.filter((line) => line.startsWith("flushes")).length);
});

test("log lines of a workflow carry run and op, and are not repeated by replay; pino fits", async () => {
  const lines: Record<string, unknown>[] = [];
  const logger = pino({ level: "info" }, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const t = await testEngine({ workflows: [flaky], logger });
  const evicting = t.client.worker({ workflows: [flaky], cacheSize: 0 });
  await t.worker.stop();
  await evicting.start();
  const run = await t.client.start(flaky, undefined, { id: "f" });
  await run.result();
  await t.close();
  const ofRun = lines.filter((line) => line["runId"] !== undefined);
  expect(ofRun.map((line) => [line["msg"], line["op"], line["attempt"]])).toEqual([
    ["begun", undefined, undefined],
    ["trying", "try", 1],
    [
      expect.stringMatching(/^step "try" failed, attempt 1 of 3, next attempt in .*: RetryableError: once more$/),
      "try",
      1,
    ],
    ["trying", "try", 2],
    ["slept", undefined, undefined],
  ]);
  expect(new Set(ofRun.map((line) => line["runId"]))).toEqual(new Set([run.runId]));
});

test("stored errors hold no credentials, and a hook may take out more", async () => {
  const leaky = workflow("leaky", (ctx) =>
    ctx.step("no", () => Promise.reject(new Error("cannot reach postgres://app:s3cret@db/x for customer 4711")), {
      retry: "none",
    }),
  );
  const t = await testEngine({ workflows: [leaky], redact: (text) => text.replace(/customer \d+/g, "customer …") });
  const run = await t.client.start(leaky, undefined, { id: "l" });
  await expect(run.result()).rejects.toMatchObject({ code: "run_failed" });
  const stored = JSON.stringify([await run.history(), await run.describe()]);
  expect(stored).not.toMatch(/s3cret|4711/);
  expect(stored).toMatch(/customer …/);
  await t.close();
});
