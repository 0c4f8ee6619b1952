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
import { describe, expect, test, vi } from "vitest";
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

describe("what only the store knows", () => {
  const stuck = workflow("stuck", async (ctx) => {
    await ctx.step("never", () => new Promise(() => {}));
  });
  const bad = task({ name: "bad", retry: "none" }, () => Promise.reject(new Error("no")));
  const failing = workflow("failing", (ctx) => ctx.task(bad).catch(() => "caught"));

  test("is asked for when the page is read: the store, workers, the leader, queues and what waits for a person", async () => {
    const telemetry = prometheus();
    const hf = await connect("memory:", { telemetry, logger: silentLogger });
    telemetry.observe(hf);
    telemetry.observe(hf);
    await hf.queues.set("narrow", { concurrency: 1, backlog: 10 });
    await hf.worker({ workflows: [stuck], queues: ["narrow"], name: "w" }).start();
    await hf.worker({ workflows: [failing], tasks: [bad], name: "v" }).start();
    for (const id of ["a", "b", "c"]) await hf.start(stuck, undefined, { id, queue: "narrow" });
    await hf.run(failing);
    const paused = await hf.start(stuck, undefined, { id: "p", delay: "1h" });
    await paused.pause();
    await vi.waitFor(async () =>
      expect((await hf.queues.list()).find(({ name }) => name === "narrow")?.runs.running).toBe(1),
    );
    const text = await telemetry.metrics();
    const namespace = 'namespace="default"';
    const expected = {
      [`holdfast_store_up{${namespace}}`]: 1,
      [`holdfast_health{${namespace},status="healthy"}`]: 1,
      [`holdfast_health{${namespace},status="unhealthy"}`]: 0,
      [`holdfast_workers{${namespace},health="healthy"}`]: 2,
      [`holdfast_leader{${namespace}}`]: 1,
      [`holdfast_queue_limit{${namespace},queue="narrow"}`]: 1,
      [`holdfast_queue_backlog_limit{${namespace},queue="narrow"}`]: 10,
      [`holdfast_queue_running{${namespace},queue="narrow",what="run"}`]: 1,
      [`holdfast_queue_waiting{${namespace},queue="narrow",what="run"}`]: 2,
      [`holdfast_parked_runs{${namespace}}`]: 1,
      [`holdfast_dead_tasks{${namespace}}`]: 1,
    };
    expect(Object.fromEntries(Object.keys(expected).map((series) => [series, seriesIn(text, series)]))).toEqual(
      expected,
    );
    const oldest = seriesIn(text, `holdfast_queue_oldest_timestamp_seconds{${namespace},queue="narrow",what="run"}`);
    const startedAt = (await hf.get("b").describe()).createdAt.getTime() / 1_000;
    expect(oldest).toBeCloseTo(startedAt, 0);
    await hf.close();
    expect(seriesIn(text, `holdfast_store_latency_seconds{${namespace},quantile="0.99"}`)).toBeGreaterThan(0);
  });

  test("costs one look, however many read at once, and nothing if nobody observes", async () => {
    const telemetry = prometheus();
    const hf = await connect("memory:", { logger: silentLogger });
    const [live, health] = [vi.spyOn(hf, "live"), vi.spyOn(hf, "health")];
    await telemetry.metrics();
    expect(live).not.toHaveBeenCalled();
    telemetry.observe(hf);
    await Promise.all([telemetry.metrics(), telemetry.metrics(), telemetry.metrics()]);
    expect([live.mock.calls.length, health.mock.calls.length]).toEqual([1, 1]);
    await hf.close();
  });

  test("is left out once the client is closed, and store_up says if the store does not answer", async () => {
    const telemetry = prometheus();
    const hf = await connect("memory:", { logger: silentLogger });
    telemetry.observe(hf);
    vi.spyOn(hf, "live").mockResolvedValueOnce(false);
    const down = await telemetry.metrics();
    expect(seriesIn(down, 'holdfast_store_up{namespace="default"}')).toBe(0);
    expect(down).not.toContain("holdfast_workers{");
    await hf.close();
    expect(await telemetry.metrics()).not.toContain("holdfast_store_up{");
  });

  test("has a label for the store where several have a namespace of the same name", async () => {
    const telemetry = prometheus();
    const here = await connect("memory:", { logger: silentLogger });
    const archive = await connect("memory:", { logger: silentLogger });
    telemetry.observe(here);
    telemetry.observe(archive, { store: "archive" });
    await archive.start("nobody", undefined);
    await here.worker({ workflows: [stuck] }).start();
    const text = await telemetry.metrics();
    await Promise.all([here.close(), archive.close()]);
    expect(seriesIn(text, 'holdfast_leader{namespace="default"}')).toBe(1);
    expect(seriesIn(text, 'holdfast_leader{namespace="default",store="archive"}')).toBe(0);
    expect(() => telemetry.observe(here, { store: 7 } as never)).toThrow(
      expect.objectContaining({ code: "invalid_option" }),
    );
  });

  test("has timers if health knows of them", async () => {
    const telemetry = prometheus();
    const hf = await connect("memory:", { logger: silentLogger });
    telemetry.observe(hf);
    const health = await hf.health();
    vi.spyOn(hf, "health").mockResolvedValue({ ...health, timers: { late: 3, worstMs: 4_500 } } as typeof health);
    const text = await telemetry.metrics();
    await hf.close();
    expect(seriesIn(text, 'holdfast_timers_late{namespace="default"}')).toBe(3);
    expect(seriesIn(text, 'holdfast_timers_worst_seconds{namespace="default"}')).toBe(4.5);
  });

  test.each([undefined, 7, {}])("cannot be asked of %o", (hf) => {
    expect(() => prometheus().observe(hf as never)).toThrow(expect.objectContaining({ code: "invalid_option" }));
  });
});

describe("options that make no sense are refused", () => {
  const taken = new Registry();
  new Counter({ name: "holdfast_runs_held", help: "of the application", registers: [taken] });

  test.each([
    [{ register: 7 }, "register is 7, not an object"],
    [{ register: { metrics() {} } }, "register has no registerMetric, getSingleMetric"],
    [{ register: taken }, 'register has another metric "holdfast_runs_held", which is not Holdfast\'s'],
    [{ prefix: 7 }, "prefix is 7; names of metrics have letters"],
    [{ prefix: "9_" }, 'prefix is "9_"; names'],
    [{ prefix: "my-app." }, 'prefix is "my-app."; names'],
    [{ registry: new Registry() }, "Did you mean `register`?"],
    [null, "the options are null"],
  ])("%o", (options, fault) => {
    expect(() => prometheus(options as object)).toThrow(fault);
    expect(() => prometheus(options as object)).toThrow(expect.objectContaining({ code: "invalid_option" }));
  });
});
