/** A real Prometheus reads the page of a live worker, loads our rules and answers the queries of our dashboards. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { type AddressInfo, createServer as createSocketServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import { connect, RetryableError, silentLogger, task, workflow } from "holdfast";
import { expect, onTestFinished, test, vi } from "vitest";
import { findOrUnpackPrometheus } from "../../../scripts/test-servers.mjs";
import { prometheus } from "../src/index.ts";
import { queriesOf, RULES, readAlerts, readDashboards } from "./deploy/files.ts";

const { folder, missing } = findOrUnpackPrometheus();
const PATIENCE = { timeout: 25_000, interval: 100 };

const send = task("send", (to: string) => `sent to ${to}`);
const order = workflow("order", async (ctx, to: string) => {
  const flaky = (attempt: number) => {
    if (attempt === 1) throw new RetryableError("the bank is closed");
  };
  await ctx.step("charge", (s) => flaky(s.attempt), { retry: { attempts: 2, fixed: "1ms" } });
  return ctx.task(send, to);
});

/** A worker with a page for Prometheus, as a program would have it. */
async function openWorker(): Promise<{ readonly target: string; runOrder(to: string): Promise<string> }> {
  const telemetry = prometheus();
  const hf = await connect("memory:", { telemetry, logger: silentLogger });
  onTestFinished(() => hf.close());
  telemetry.observe(hf);
  await hf.worker({ workflows: [order], tasks: [send], name: "w" }).start();
  const server = createServer(async (_request, response) => {
    response.setHeader("Content-Type", telemetry.contentType).end(await telemetry.metrics());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return {
    target: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    runOrder: (to) => hf.run(order, to),
  };
}

async function freePort(): Promise<number> {
  const probe = createSocketServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

/** Prometheus with a folder of its own, which ends with the test. */
async function openPrometheus(target: string) {
  const home = mkdtempSync(path.join(tmpdir(), "holdfast-prometheus-"));
  const config = {
    global: { scrape_interval: "200ms", scrape_timeout: "200ms", evaluation_interval: "200ms" },
    rule_files: [RULES],
    scrape_configs: [{ job_name: "holdfast", static_configs: [{ targets: [target] }] }],
  };
  const file = path.join(home, "prometheus.yml");
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(config));
  const address = `127.0.0.1:${await freePort()}`;
  const args = [`--config.file=${file}`, `--storage.tsdb.path=${home}/data`, `--web.listen-address=${address}`];
  const server = spawn(path.join(folder ?? "", "prometheus"), args, { cwd: home, stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  server.stderr.on("data", (chunk) => {
    said += chunk;
  });
  onTestFinished(async () => {
    const gone = once(server, "exit");
    if (server.exitCode === null) {
      server.kill("SIGKILL");
      await gone;
    }
    rmSync(home, { recursive: true, force: true });
  });
  const ask = async <T>(what: string): Promise<T> => {
    if (server.exitCode !== null) throw new Error(said);
    const response = await fetch(`http://${address}/api/v1/${what}`);
    const { status, data, error } = (await response.json()) as { status: string; data: T; error?: string };
    if (status !== "success") throw new Error(error);
    return data;
  };
  const query = (expression: string) =>
    ask<{ readonly result: readonly { readonly value: readonly [number, string] }[] }>(
      `query?query=${encodeURIComponent(expression)}`,
    );
  const value = async (expression: string): Promise<number | undefined> => {
    const [first] = (await query(expression)).result;
    return first && Number(first.value[1]);
  };
  await vi.waitFor(async () => {
    const { status } = await fetch(`http://${address}/-/ready`);
    expect([status, said]).toEqual([200, said]);
  }, PATIENCE);
  return { ask, query, value };
}

interface LoadedRules {
  readonly groups: readonly {
    readonly rules: readonly { readonly name: string; readonly health: string; readonly lastError?: string }[];
  }[];
}

test("Prometheus scrapes a live worker, evaluates every alert, and answers every panel", { timeout: 60_000 }, async ({
  skip,
}) => {
  skip(missing !== undefined, missing);
  const { target, runOrder } = await openWorker();
  const { ask, query, value } = await openPrometheus(target);
  await Promise.all(["Ada", "Ben", "Cleo"].map(runOrder));
  const namespace = 'namespace="default"';
  const expected = {
    up: 1,
    'holdfast_runs_started_total{workflow="order"}': 3,
    'holdfast_runs_ended_total{workflow="order",status="completed"}': 3,
    'holdfast_step_retries_total{workflow="order",step="charge"}': 3,
    'holdfast_task_attempts_total{task="send",outcome="completed"}': 3,
    'holdfast_run_seconds_count{workflow="order"}': 3,
    [`holdfast_store_up{${namespace}}`]: 1,
    [`holdfast_workers{${namespace},health="healthy"}`]: 1,
    [`holdfast_leader{${namespace}}`]: 1,
    [`holdfast_parked_runs{${namespace}}`]: 0,
  };
  await vi.waitFor(async () => {
    const found = await Promise.all(Object.keys(expected).map(async (one) => [one, await value(one)]));
    expect(Object.fromEntries(found)).toEqual(expected);
  }, PATIENCE);
  const p99 = "histogram_quantile(0.99, sum by (le) (holdfast_store_call_seconds_bucket))";
  expect(await value(p99)).toBeGreaterThan(0);

  await vi.waitFor(async () => {
    const { groups } = await ask<LoadedRules>("rules");
    const rules = groups.flatMap((group) => group.rules);
    const found = rules.map(({ name, health, lastError = "" }) => `${name} ${health} ${lastError}`.trim());
    expect(found.sort()).toEqual(
      readAlerts()
        .map(({ name }) => `${name} ok`)
        .sort(),
    );
  }, PATIENCE);
  for (const expression of readDashboards().flatMap(queriesOf)) await expect(query(expression)).resolves.toBeDefined();
});
