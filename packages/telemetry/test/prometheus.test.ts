import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import {
  COUNT_METRICS,
  connect,
  DURATION_METRICS,
  LEVEL_METRICS,
  RetryableError,
  silentLogger,
  task,
  workflow,
} from "holdfast";
import { Counter, Registry } from "prom-client";
import { expect, test } from "vitest";
import { prometheus } from "../src/index.ts";

const send = task("send", (to: string) => `sent to ${to}`);

const order = workflow("order", async (ctx, id: string) => {
  await ctx.step(
    "charge",
    (s) => {
      if (s.attempt === 1) throw new RetryableError("the bank is closed");
      return id;
    },
    { retry: { attempts: 3, fixed: "1ms" } },
  );
  return ctx.task(send, id);
});

/** Runs an order with that telemetry; returns the id of the run. */
async function runOrder(telemetry: ReturnType<typeof prometheus>): Promise<string> {
  const hf = await connect("memory:", { telemetry, logger: silentLogger });
  await hf.worker({ workflows: [order], tasks: [send], name: "w" }).start();
  const run = await hf.start(order, "ada@example.com", { id: "order-4711" });
  await run.result();
  await hf.close();
  return run.runId;
}

/** The value of a series, as the text has it. */
function seriesIn(text: string, series: string): number | undefined {
  const line = text.split("\n").find((candidate) => candidate.startsWith(`${series} `));
  return line === undefined ? undefined : Number(line.slice(series.length + 1));
}

test("a scraped page tells what runs, steps, tasks, commits and the store have done", async () => {
  const telemetry = prometheus();
  await runOrder(telemetry);
  const server = createServer(async (_request, response) => {
    response.setHeader("Content-Type", telemetry.contentType).end(await telemetry.metrics());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/metrics`);
  const text = await response.text();
  await new Promise((resolve) => server.close(resolve));
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const expected = {
    'holdfast_runs_started_total{workflow="order",version="1",queue="default"}': 1,
    'holdfast_runs_ended_total{workflow="order",version="1",status="completed"}': 1,
    'holdfast_run_seconds_count{workflow="order",status="completed"}': 1,
    'holdfast_step_attempts_total{workflow="order",step="charge",outcome="failed"}': 1,
    'holdfast_step_attempts_total{workflow="order",step="charge",outcome="completed"}': 1,
    'holdfast_step_attempt_seconds_count{workflow="order",step="charge",outcome="completed"}': 1,
    'holdfast_step_retries_total{workflow="order",step="charge"}': 1,
    'holdfast_step_failures_total{workflow="order",step="charge",kind="ServiceUnavailable"}': 1,
    'holdfast_task_attempts_total{task="send",outcome="completed"}': 1,
    'holdfast_store_call_seconds_count{call="runs.start",outcome="ok"}': 1,
    'holdfast_runs_held{worker="w"}': 0,
  };
  expect(Object.fromEntries(Object.keys(expected).map((series) => [series, seriesIn(text, series)]))).toEqual(expected);
  const flushes = seriesIn(text, "holdfast_flushes_total") as number;
  expect(flushes).toBeGreaterThan(0);
  expect(seriesIn(text, "holdfast_flush_seconds_count")).toBe(flushes);
  expect(seriesIn(text, 'holdfast_store_call_seconds_count{call="runs.commit",outcome="ok"}')).toBe(flushes);
  expect(seriesIn(text, 'holdfast_commits_total{outcome="written"}')).toBeGreaterThanOrEqual(flushes);
});

test("no id of a run is anywhere in it", async () => {
  const telemetry = prometheus();
  const runId = await runOrder(telemetry);
  const text = await telemetry.metrics();
  expect(text).toContain('workflow="order"');
  expect(text).not.toContain(runId);
  expect(text).not.toContain("order-4711");
  expect(text).not.toContain("ada@example.com");
});

test("every metric is there from the beginning, with its meaning", async () => {
  const text = await prometheus().metrics();
  const names = [
    ...Object.keys(COUNT_METRICS).map((name) => `holdfast_${name}_total counter`),
    ...Object.keys(DURATION_METRICS).map((name) => `holdfast_${name}_seconds histogram`),
    ...Object.keys(LEVEL_METRICS).map((name) => `holdfast_${name} gauge`),
  ];
  expect(text.match(/^# TYPE .*/gm)?.sort()).toEqual(names.map((name) => `# TYPE ${name}`).sort());
  expect(text).toContain("# HELP holdfast_runs_started_total Starts that were made durable\n");
});

test("metrics join those of the application, under a prefix of one's own", async () => {
  const register = new Registry();
  new Counter({ name: "logins_total", help: "Logins", registers: [register] }).inc(3);
  const telemetry = prometheus({ register, prefix: "shop_" });
  telemetry.count("runs_claimed", 2, {});
  const text = await telemetry.metrics();
  expect(seriesIn(text, "logins_total")).toBe(3);
  expect(seriesIn(text, "shop_runs_claimed_total")).toBe(2);
  expect(text).toBe(await register.metrics());
});

test("two clients may share a registry: their counts add up", async () => {
  const register = new Registry();
  prometheus({ register }).count("runs_claimed", 2, {});
  prometheus({ register }).count("runs_claimed", 3, {});
  expect(seriesIn(await register.metrics(), "holdfast_runs_claimed_total")).toBe(5);
});

test("durations are seconds", async () => {
  const telemetry = prometheus();
  telemetry.duration("flush", 1_500, {});
  const text = await telemetry.metrics();
  expect(seriesIn(text, "holdfast_flush_seconds_sum")).toBe(1.5);
  expect(seriesIn(text, 'holdfast_flush_seconds_bucket{le="1"}')).toBe(0);
  expect(seriesIn(text, 'holdfast_flush_seconds_bucket{le="2.5"}')).toBe(1);
});

test("code that makes up names of steps does not make up a series for each", async () => {
  const telemetry = prometheus();
  for (let i = 0; i < 2_000; i += 1)
    telemetry.count("step_attempts", 1, { workflow: "bulk", step: `customer ${i}`, outcome: "completed" });
  const text = await telemetry.metrics();
  expect(text.match(/^holdfast_step_attempts_total\{.*/gm)).toHaveLength(501);
  const rest = seriesIn(text, 'holdfast_step_attempts_total{workflow="bulk",step="other",outcome="completed"}');
  expect(rest).toBe(1_500);
});

test("a registry that fails changes nothing, and is reported once", async () => {
  const telemetry = prometheus();
  const fail = (): never => {
    throw new Error("no memory for series");
  };
  const lines: string[] = [];
  const write = (fields: object, message: string): void => void lines.push(`${message} ${JSON.stringify(fields)}`);
  const hf = await connect("memory:", {
    telemetry: [{ ...telemetry, count: fail, duration: fail }, telemetry],
    logger: { ...silentLogger, error: write },
  });
  await hf.worker({ workflows: [order], tasks: [send] }).start();
  expect(await hf.run(order, "Ada")).toBe("sent to Ada");
  await hf.close();
  expect(lines.map((line) => line.split(";")[0])).toEqual(
    expect.arrayContaining(["telemetry.count failed", "telemetry.duration failed"]),
  );
  expect(lines).toHaveLength(2);
  expect(await telemetry.metrics()).toContain(
    'holdfast_runs_ended_total{workflow="order",version="1",status="completed"} 1',
  );
});
