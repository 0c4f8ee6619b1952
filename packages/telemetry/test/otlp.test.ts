/** Real exporters send to a receiver over HTTP, from several processes, one of which is killed. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { context } from "@opentelemetry/api";
import { connect, silentLogger } from "holdfast";
import { expect, onTestFinished, test } from "vitest";
import { openTelemetry } from "../src/index.ts";
import { openCollector } from "./fleet/collector.ts";
import { go, order } from "./fleet/order.ts";
import { traceTo } from "./fleet/tracing.ts";

const SCRIPT = path.join(import.meta.dirname, "fleet", "worker-process.ts");

function openFleet(store: string, collector: string) {
  const all = new Set<ChildProcess>();
  onTestFinished(() => {
    for (const child of all) child.kill("SIGKILL");
  });
  const { NODE_OPTIONS: _, ...env } = process.env;
  const begin = (role: string): ChildProcess => {
    const execArgv = ["--conditions=holdfast-source", "--import", "tsx"];
    const child = fork(SCRIPT, [role, store, collector], { env, execArgv });
    all.add(child);
    return child;
  };
  const said = async (child: ChildProcess, word: string): Promise<void> => {
    for (;;) if ((await once(child, "message"))[0] === word) return;
  };
  const stop = async (child: ChildProcess): Promise<void> => {
    const gone = once(child, "exit");
    child.send("stop");
    await gone;
  };
  return { begin, said, stop };
}

test("a run that survives kill -9, its task elsewhere, its child and its signals are one trace, and no span comes twice", async () => {
  const collector = await openCollector();
  const folder = mkdtempSync(path.join(tmpdir(), "holdfast-otlp-"));
  onTestFinished(async () => {
    await collector.close();
    rmSync(folder, { recursive: true, force: true });
    context.disable();
  });
  const store = `file:${path.join(folder, "app.db")}`;
  const { begin, said, stop } = openFleet(store, collector.url);
  const tracerProvider = traceTo(collector.url);
  const tracer = tracerProvider.getTracer("shop");
  const hf = await connect(store, { telemetry: openTelemetry({ tracerProvider }), logger: silentLogger });
  onTestFinished(() => hf.close());

  const [doomed, tasks] = [begin("doomed"), begin("tasks")];
  const crossing = said(doomed, "crossing");
  await Promise.all([said(doomed, "ready"), said(tasks, "ready")]);
  const run = await tracer.startActiveSpan("POST /orders", async (request) => {
    const started = await hf.start(order, undefined, { id: "o-1" });
    request.end();
    return started;
  });
  await crossing;
  await collector.received("step before");
  const died = once(doomed, "exit");
  doomed.kill("SIGKILL");
  await died;
  // Of the same name, so that it need not wait for the lease of the dead one.
  const heir = begin("heir");
  await said(heir, "ready");
  await tracer.startActiveSpan("POST /go", async (request) => {
    await run.signal(go, "on");
    request.end();
  });
  expect(await run.result()).toEqual(["in a box", "on"]);
  await Promise.all([stop(heir), stop(tasks)]);
  await tracerProvider.forceFlush();

  const { spans, named } = collector;
  expect(new Set(spans.map(({ spanId }) => spanId)).size).toBe(spans.length);
  const [start] = named("start order");
  const [request, other] = [named("POST /orders")[0], named("POST /go")[0]];
  const outside = spans.filter(({ traceId }) => traceId !== request?.traceId);
  expect(outside.map(({ name }) => name).sort()).toEqual(["POST /go", "signal go"]);
  const nameOf = new Map(spans.map(({ spanId, name }) => [spanId, name]));
  const tree = spans.map(({ parent, name }) => `${parent === undefined ? "" : (nameOf.get(parent) ?? "?")} > ${name}`);
  expect([...new Set(tree)].sort()).toEqual([
    " > POST /go",
    " > POST /orders",
    // The stretch on the worker that was killed has never ended.
    "? > step before",
    "POST /go > signal go",
    "POST /orders > start order",
    "run order > step cross",
    "run pack > step fold",
    "start order > run order",
    "start order > run pack",
    "start order > signal packed",
    "start order > task send",
  ]);
  // What was recorded before the kill is not there again; what was cut off is, once.
  for (const once of ["step before", "step cross", "step fold", "task send", "signal packed", "signal go"])
    expect([once, named(once).length]).toEqual([once, 1]);
  expect(named("task send")[0]?.about).toMatchObject({ pid: tasks.pid, run_id: run.runId, attempt: 1 });

  const stretches = named("run order");
  const [takeover, ...others] = stretches.filter(({ about }) => about["deaths"] !== undefined);
  expect(others).toEqual([]);
  expect(takeover?.about).toMatchObject({ deaths: 1, worker: "w", run_id: run.runId });
  expect(takeover?.links).toEqual([
    { traceId: start?.traceId, spanId: start?.spanId, about: { link: "takeover" } },
    ...(takeover?.links.slice(1) ?? []),
  ]);
  const received = stretches.flatMap(({ links }) => links).filter(({ about }) => about["link"] === "signal");
  const senders = [named("signal go")[0], named("signal packed")[0]];
  expect(received.map(({ about, spanId, traceId }) => [about["signal"], spanId, traceId]).sort()).toEqual([
    ["go", senders[0]?.spanId, other?.traceId],
    ["packed", senders[1]?.spanId, request?.traceId],
  ]);
});
