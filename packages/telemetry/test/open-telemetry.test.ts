import { context, SpanKind, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  type Sampler,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import {
  type Client,
  connect,
  RetryableError,
  signal,
  silentLogger,
  type TraceHeaders,
  task,
  workflow,
} from "holdfast";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { openTelemetry } from "../src/index.ts";

beforeAll(() => void context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable()));
afterAll(() => context.disable());

function openTracing(sampler?: Sampler) {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({
    spanProcessors: [new SimpleSpanProcessor(exporter)],
    ...(sampler ? { sampler } : {}),
  });
  const tracer = provider.getTracer("application");
  return {
    telemetry: openTelemetry({ tracerProvider: provider }),
    tracer,
    /** Ended spans in the order of their beginnings. */
    spans: () => exporter.getFinishedSpans(),
    named: (name: string) => exporter.getFinishedSpans().filter((span) => span.name === name),
    /** Every span as `parent > name`. */
    tree: () => {
      const spans = exporter.getFinishedSpans();
      const nameOf = new Map(spans.map((span) => [span.spanContext().spanId, span.name]));
      const parentOf = ({ parentSpanContext: parent }: ReadableSpan) => (parent && nameOf.get(parent.spanId)) ?? "-";
      return spans.map((span) => `${parentOf(span)} > ${span.name}`).sort();
    },
    traces: () => new Set(exporter.getFinishedSpans().map((span) => span.spanContext().traceId)),
  };
}

let stores = 0;

async function open(url: string, options: Parameters<typeof connect>[1]): Promise<Client> {
  const hf = await connect(url, { logger: silentLogger, ...options });
  onTestFinished(() => hf.close());
  return hf;
}

const pack = task("pack", (_: string) => "packed");
const child = workflow("child", (ctx) => ctx.step("inner", () => "done"));
const order = workflow("order", async (ctx, what: string) => {
  await ctx.step(
    "charge",
    (s) => {
      if (s.attempt === 1) throw new RetryableError("postgres://bank:s3cret@host is away");
      return 1;
    },
    { retry: { attempts: 2, fixed: "1ms" } },
  );
  await ctx.child(child);
  return ctx.task(pack, what);
});

test("a request, the start in it, the run, its attempts, its task and its child are one trace", async () => {
  const { telemetry, tracer, tree, traces, named } = openTracing();
  const hf = await open("memory:", { telemetry });
  await hf.worker({ workflows: [order, child], tasks: [pack] }).start();
  const run = await tracer.startActiveSpan("POST /orders", async (request) => {
    const started = await hf.start(order, "tea", { id: "o-1" });
    request.end();
    return started;
  });
  expect(await run.result()).toBe("packed");
  await hf.close();
  expect(traces().size).toBe(1);
  expect([...new Set(tree())]).toEqual([
    "- > POST /orders",
    "POST /orders > start order",
    "run child > step inner",
    "run order > step charge",
    "start order > run child",
    "start order > run order",
    "start order > task pack",
  ]);
  const [start] = named("start order");
  expect(start).toMatchObject({ kind: SpanKind.PRODUCER, attributes: { "holdfast.run_id": run.runId } });
  const [failed, completed] = named("step charge");
  expect(failed?.attributes).toEqual({
    "holdfast.namespace": "default",
    "holdfast.workflow": "order",
    "holdfast.version": "1",
    "holdfast.id": "o-1",
    "holdfast.run_id": run.runId,
    "holdfast.op": "charge",
    "holdfast.attempt": 1,
    "holdfast.outcome": "failed",
    "error.type": "ServiceUnavailable",
  });
  expect(failed?.status.code).toBe(SpanStatusCode.ERROR);
  expect(completed?.attributes).toMatchObject({ "holdfast.attempt": 2, "holdfast.outcome": "completed" });
  expect(completed?.status.code).toBe(SpanStatusCode.UNSET);
  expect(named("task pack")[0]).toMatchObject({
    kind: SpanKind.CONSUMER,
    attributes: { "holdfast.task": "pack", "holdfast.op": "pack", "holdfast.attempt": 1, "holdfast.run_id": run.runId },
  });
  expect(named("run order").at(-1)?.attributes["holdfast.outcome"]).toBe("completed");
});

test("no span has the credentials of an error", async () => {
  const { telemetry, spans } = openTracing();
  const leaky = task({ name: "leaky", retry: "none" }, () =>
    Promise.reject(new Error("token=abc of postgres://a:s3cret@b")),
  );
  const both = workflow("both", async (ctx) => {
    await ctx
      .step("try", () => Promise.reject(new Error("postgres://a:s3cret@b for Ada")), { retry: "none" })
      .catch(() => {});
    await ctx.task(leaky, undefined);
  });
  const hf = await open("memory:", { telemetry, redact: (text) => text.replaceAll("Ada", "…") });
  await hf.worker({ workflows: [both], tasks: [leaky] }).start();
  await expect(hf.run(both)).rejects.toThrow();
  await hf.close();
  const exceptions = spans().flatMap(({ events, status }) => [...events.map((event) => event.attributes), status]);
  expect(JSON.stringify(exceptions)).toContain("postgres://");
  expect(JSON.stringify(exceptions)).not.toMatch(/s3cret|Ada/);
});

test("what the function of a step or task does is part of its span, and nothing else is", async () => {
  const { telemetry, tracer, tree } = openTracing();
  const seen: (string | undefined)[] = [];
  const active = () => seen.push((trace.getActiveSpan() as unknown as { readonly name?: string } | undefined)?.name);
  const query = async (name: string) => {
    await Promise.resolve();
    await tracer.startActiveSpan(name, async (span) => span.end());
  };
  const fetchPage = task("fetch", () => query("GET /page"));
  const two = workflow("two", async (ctx) => {
    await ctx.step("a", () => query("select a"));
    active();
    await ctx.step("b", () => query("select b"));
    active();
    await ctx.task(fetchPage, undefined);
    active();
  });
  const hf = await open("memory:", { telemetry });
  await hf.worker({ workflows: [two], tasks: [fetchPage] }).start();
  await hf.run(two);
  await hf.close();
  expect(tree()).toEqual(expect.arrayContaining(["step a > select a", "step b > select b", "task fetch > GET /page"]));
  expect(seen).toEqual([undefined, undefined, undefined]);
});

test("a run that moves to another worker stays in its trace, and what was done before has no second span", async () => {
  const [first, second] = [openTracing(), openTracing()];
  const go = signal("go");
  let begun: () => void = () => {};
  const hasBegun = new Promise<void>((resolve) => {
    begun = resolve;
  });
  const moving = workflow("moving", async (ctx) => {
    await ctx.step("before", () => begun());
    await ctx.receive(go);
    await ctx.step("after", () => 2);
  });
  const url = `memory:telemetry-${stores++}`;
  const one = await open(url, { telemetry: first.telemetry });
  const worker = one.worker({ workflows: [moving] });
  await worker.start();
  const run = await one.start(moving, undefined, { id: "m" });
  await hasBegun;
  await worker.drain();
  const two = await open(url, { telemetry: second.telemetry });
  await two.worker({ workflows: [moving] }).start();
  await run.signal(go, undefined);
  await two.get("m").result();
  await two.close();
  expect(first.tree()).toEqual(["- > start moving", "run moving > step before", "start moving > run moving"]);
  expect(second.tree()).toEqual(["- > run moving", "run moving > step after"]);
  expect(second.traces()).toEqual(first.traces());
  const [start] = first.named("start moving");
  expect(second.named("run moving")[0]?.parentSpanContext?.spanId).toBe(start?.spanContext().spanId);
});

test("what was not to be sampled when it was started is sampled nowhere", async () => {
  const [caller, worker] = [openTracing(new AlwaysOffSampler()), openTracing()];
  const url = `memory:telemetry-${stores++}`;
  await (await open(url, { telemetry: worker.telemetry })).worker({ workflows: [child] }).start();
  await (await open(url, { telemetry: caller.telemetry })).run(child);
  expect([...caller.spans(), ...worker.spans()]).toEqual([]);
});

test("a run that was started without tracing has a trace for each stretch, with its run id", async () => {
  const { telemetry, tree, named } = openTracing();
  const url = `memory:telemetry-${stores++}`;
  const plain = await open(url, {});
  const hf = await open(url, { telemetry });
  await hf.worker({ workflows: [child] }).start();
  const run = await plain.start(child, undefined, { id: "c" });
  await run.result();
  await hf.close();
  expect(tree()).toEqual(["- > run child", "run child > step inner"]);
  expect(named("run child")[0]?.attributes["holdfast.run_id"]).toBe(run.runId);
});

test("without an SDK nothing is traced, and nothing is kept with the run", async () => {
  const hf = await open("memory:", { telemetry: openTelemetry() });
  await hf.worker({ workflows: [child] }).start();
  const run = await hf.start(child, undefined, { id: "c" });
  expect(await run.result()).toBe("done");
  expect(JSON.stringify((await run.history())[0])).not.toMatch(/00-[\da-f]{32}-/);
});

test("metrics reach the meter provider, in seconds", async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const provider = new MeterProvider({ readers: [reader] });
  const hf = await open("memory:", { telemetry: openTelemetry({ meterProvider: provider }) });
  await hf.worker({ workflows: [child], name: "w" }).start();
  await hf.run(child);
  await hf.close();
  await provider.forceFlush();
  const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  await provider.shutdown();
  const found = (name: string) => metrics.find(({ descriptor }) => descriptor.name === name);
  expect(found("holdfast.runs_ended")?.dataPoints).toMatchObject([
    { value: 1, attributes: { workflow: "child", version: "1", status: "completed" } },
  ]);
  expect(found("holdfast.step_attempt")).toMatchObject({
    descriptor: { unit: "s" },
    dataPoints: [{ value: { count: 1, buckets: { boundaries: expect.arrayContaining([0.001, 3_600]) } } }],
  });
  expect(found("holdfast.runs_held")?.dataPoints).toMatchObject([{ value: 0, attributes: { worker: "w" } }]);
});

/** The links of a span, as what they are and where they lead. */
function linksOf(span: ReadableSpan | undefined) {
  return span?.links.map(({ context: { traceId, spanId }, attributes }) => ({ traceId, spanId, ...attributes }));
}

test("a signal links the stretch that receives it to whoever has sent it", async () => {
  const { telemetry, tracer, tree, named } = openTracing();
  const go = signal("go");
  const waiting = workflow("waiting", async (ctx) => void (await ctx.receive(go)));
  const hf = await open("memory:", { telemetry });
  await hf.worker({ workflows: [waiting] }).start();
  const run = await hf.start(waiting, undefined, { id: "w" });
  await tracer.startActiveSpan("POST /go", async (request) => {
    await run.signal(go, undefined);
    request.end();
  });
  await run.result();
  await hf.close();
  const [sent] = named("signal go");
  const { traceId, spanId } = sent?.spanContext() ?? {};
  expect(tree()).toContain("POST /go > signal go");
  expect(sent?.attributes).toMatchObject({ "holdfast.signal": "go", "holdfast.to": "w" });
  expect(linksOf(named("run waiting").at(-1))).toEqual([
    { traceId, spanId, "holdfast.link": "signal", "holdfast.signal": "go" },
  ]);
});

test("a signal that is sent in no trace has no span", async () => {
  const { telemetry, spans } = openTracing();
  const go = signal("go");
  const waiting = workflow("waiting", async (ctx) => void (await ctx.receive(go)));
  const hf = await open("memory:", { telemetry });
  await hf.worker({ workflows: [waiting] }).start();
  const run = await hf.start(waiting, undefined, { id: "w" });
  await run.signal(go, undefined);
  await run.result();
  await hf.close();
  expect(new Set(spans().map(({ name }) => name))).toEqual(new Set(["start waiting", "run waiting"]));
  expect(spans().flatMap(({ links }) => links)).toEqual([]);
});

test("a run that continues another begins a trace, linked to the first, whatever is active on the worker", async () => {
  const { telemetry, tracer, named, traces } = openTracing();
  const twice = workflow(
    "twice",
    async (ctx, left: number): Promise<string> => (left === 0 ? "done" : ctx.continueAsNew(left - 1)),
  );
  const hf = await open("memory:", { telemetry });
  await tracer.startActiveSpan("boot", async (boot) => {
    await hf.worker({ workflows: [twice] }).start();
    boot.end();
  });
  expect(await hf.run(twice, 1)).toBe("done");
  await hf.close();
  const [first, second] = named("start twice");
  const { traceId, spanId } = first?.spanContext() ?? {};
  expect(second?.parentSpanContext).toBeUndefined();
  expect(linksOf(second)).toEqual([{ traceId, spanId, "holdfast.link": "continuation" }]);
  const [, run] = named("run twice");
  expect(run?.spanContext().traceId).toBe(second?.spanContext().traceId);
  expect(traces().size).toBe(3);
});

test("headers of a request that nothing here has instrumented go in and out, with their tracestate", async () => {
  const { telemetry, named } = openTracing();
  const seen: TraceHeaders[] = [];
  const look = task("look", (_: undefined, t) => void seen.push(t.traceHeaders));
  const passing = workflow("passing", async (ctx) => {
    await ctx.step("look", (s) => void seen.push(s.traceHeaders));
    await ctx.task(look);
  });
  const hf = await open("memory:", { telemetry });
  await hf.worker({ workflows: [passing], tasks: [look] }).start();
  const traceId = "0af7651916cd43dd8448eb211c80319c";
  const trace = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, tracestate: "shop=t61rcWkgMzE" };
  await hf.run(passing, undefined, { trace });
  await hf.close();
  expect(named("start passing")[0]?.parentSpanContext).toMatchObject({ traceId, spanId: "b7ad6b7169203331" });
  const inside = ["step look", "task look"].map((name) => named(name)[0]?.spanContext().spanId);
  expect(seen).toEqual(
    inside.map((spanId) => ({ traceparent: `00-${traceId}-${spanId}-01`, tracestate: "shop=t61rcWkgMzE" })),
  );
});

test("without an SDK the headers of a request are passed on as they are", async () => {
  const hf = await open("memory:", { telemetry: openTelemetry() });
  const passing = workflow("passing", (ctx) => ctx.step("look", (s): TraceHeaders => ({ ...s.traceHeaders })));
  await hf.worker({ workflows: [passing] }).start();
  const trace = { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", tracestate: "a=1" };
  expect(await hf.run(passing, undefined, { trace })).toEqual(trace);
});

test("what only the store knows is asked for with every collection", async () => {
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meterProvider = new MeterProvider({ readers: [reader] });
  const telemetry = openTelemetry({ meterProvider });
  const hf = await open("memory:", { telemetry });
  telemetry.observe(hf);
  await hf.worker({ workflows: [child] }).start();
  await meterProvider.forceFlush();
  const metrics = exporter.getMetrics().flatMap(({ scopeMetrics }) => scopeMetrics.flatMap((scope) => scope.metrics));
  await meterProvider.shutdown();
  const found = (name: string) => metrics.find(({ descriptor }) => descriptor.name === name)?.dataPoints;
  expect(found("holdfast.store_up")).toMatchObject([{ value: 1, attributes: { namespace: "default" } }]);
  expect(found("holdfast.workers")).toContainEqual(
    expect.objectContaining({ value: 1, attributes: { namespace: "default", health: "healthy" } }),
  );
});

test.each([
  [{ tracerProvider: 7 }, "tracerProvider is 7, not an object"],
  [{ tracerProvider: {} }, "tracerProvider has no getTracer"],
  [{ meterProvider: { getTracer() {} } }, "meterProvider has no getMeter"],
  [{ tracerprovider: trace }, "Did you mean `tracerProvider`?"],
  ["spans", "the options are"],
])("the options %o are refused", (options, fault) => {
  expect(() => openTelemetry(options as object)).toThrow(fault);
  expect(() => openTelemetry(options as object)).toThrow(expect.objectContaining({ code: "invalid_option" }));
});
