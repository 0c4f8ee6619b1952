import {
  type Attributes,
  type Context,
  type Counter,
  context,
  createTraceState,
  type Gauge,
  type Histogram,
  isSpanContextValid,
  type Link,
  type Meter,
  type MeterProvider,
  metrics,
  type ObservableGauge,
  type Span as OtelSpan,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import {
  COUNT_METRICS,
  DURATION_METRICS,
  LEVEL_METRICS,
  type MetricAbout,
  type SignalAbout,
  type Span,
  type SpanAbout,
  type StartAbout,
  type Telemetry,
} from "holdfast";
import { checkOptions, objectWith } from "holdfast/adapter";
import { BoundedLabels } from "./bounded-labels.ts";
import { BUCKETS } from "./buckets.ts";
import { OBSERVED_METRICS, type ObservingTelemetry, observer } from "./observed.ts";

const NAME = "@holdfast/telemetry";

/** Where spans and metrics go. */
export interface OpenTelemetryOptions {
  /**
   * Where spans go.
   * @defaultValue the global provider, which an SDK registers when it starts
   */
  readonly tracerProvider?: TracerProvider;
  /**
   * Where metrics go.
   * @defaultValue the global provider; start the SDK before the first metric
   */
  readonly meterProvider?: MeterProvider;
}

/**
 * Traces and metrics for OpenTelemetry. A start is a span of the active trace, or of a new one; every stretch of the run on a worker,
 * and every attempt of its tasks, is a child of it, on whichever worker; attempts of steps are children of their stretch. The function
 * of a step or task is called inside of its span. Metrics are called `holdfast.<metric>`; durations are in seconds.
 */
export function openTelemetry(options: OpenTelemetryOptions = {}): ObservingTelemetry {
  checkOptions<OpenTelemetryOptions>(
    options,
    { tracerProvider: objectWith("getTracer"), meterProvider: objectWith("getMeter") },
    "openTelemetry",
  );
  const { tracerProvider, meterProvider } = options;
  const tracer = (tracerProvider ?? trace.getTracerProvider()).getTracer(NAME);
  // Made when first needed: the global provider may be registered after this.
  const meter = () => (meterProvider ?? metrics.getMeterProvider()).getMeter(NAME);
  return {
    ...meters(meter),
    trace: (start) => traceOfStart(tracer, start),
    signal: (about) => traceOfSignal(tracer, about),
    span: (about) => beginSpan(tracer, about, contextOf(about.trace) ?? ROOT_CONTEXT),
    observe: (hf, options) => observeWith(meter(), observer(hf, options)),
  };
}

/** The gauges of what only the store knows; read by every collection. */
function observeWith(meter: Meter, observe: ReturnType<typeof observer>): void {
  const gauges = new Map(
    Object.entries<MetricAbout>(OBSERVED_METRICS).map(([name, { about: description }]) => [
      name,
      meter.createObservableGauge(`holdfast.${name}`, { description }),
    ]),
  );
  meter.addBatchObservableCallback(
    async (result) => {
      for (const { metric, value, labels } of await observe())
        result.observe(gauges.get(metric) as ObservableGauge, value, labels);
    },
    [...gauges.values()],
  );
}

function meters(meter: () => Meter): Pick<Telemetry, "count" | "duration" | "level"> {
  const labels = new BoundedLabels();
  const counters = new Map<string, Counter>();
  const histograms = new Map<string, Histogram>();
  const gauges = new Map<string, Gauge>();
  return {
    count: (metric, times, given) => {
      const { about: description } = COUNT_METRICS[metric];
      const counter = found(counters, metric, (name) => meter().createCounter(name, { description }));
      counter.add(times, labels.bound(given));
    },
    duration: (metric, ms, given) => {
      const { about: description } = DURATION_METRICS[metric];
      const advice = { explicitBucketBoundaries: [...BUCKETS[metric]] };
      const make = (name: string) => meter().createHistogram(name, { description, unit: "s", advice });
      found(histograms, metric, make).record(ms / 1_000, labels.bound(given));
    },
    level: (metric, value, given) => {
      const { about: description } = LEVEL_METRICS[metric];
      const gauge = found(gauges, metric, (name) => meter().createGauge(name, { description }));
      gauge.record(value, labels.bound(given));
    },
  };
}

function found<I>(made: Map<string, I>, metric: string, make: (name: string) => I): I {
  let instrument = made.get(metric);
  if (!instrument) {
    instrument = make(`holdfast.${metric}`);
    made.set(metric, instrument);
  }
  return instrument;
}

/**
 * A span of no length: what the spans of the run are children of. A call is part of the trace that it was given, or of the active one;
 * what nobody has called begins a trace, whatever is active on the worker, and is linked to the run that it continues.
 */
function traceOfStart(
  tracer: Tracer,
  { workflow, version, queue, namespace, id, runId, by, trace: given }: StartAbout,
): string | undefined {
  const attributes = attributesOf({ namespace, workflow, version, queue, id, run_id: runId, started_by: by });
  const links = by === "continuation" ? linksTo(given, by) : [];
  const options = { kind: SpanKind.PRODUCER, attributes, links };
  const parent = by === "call" ? (contextOf(given) ?? context.active()) : ROOT_CONTEXT;
  return ended(tracer.startSpan(`start ${workflow}`, options, parent));
}

/** A span of no length in the trace of the run that sends it, or in the active one. Without a trace there is nothing to tell. */
function traceOfSignal(tracer: Tracer, about: SignalAbout): string | undefined {
  const { namespace, signal, to, runId: run_id, trace: given } = about;
  const parent = contextOf(given) ?? (run_id === undefined ? context.active() : ROOT_CONTEXT);
  if (!trace.getSpanContext(parent)) return undefined;
  const attributes = attributesOf({ namespace, signal, to, run_id });
  return ended(tracer.startSpan(`signal ${signal}`, { kind: SpanKind.PRODUCER, attributes }, parent));
}

function ended(span: OtelSpan): string | undefined {
  span.end();
  return textOf(span);
}

function beginSpan(tracer: Tracer, about: SpanAbout, parent: Context): Span {
  const { kind, namespace, workflow, version, queue, id, runId: run_id, op, task, attempt, worker, deaths } = about;
  const of = { namespace, workflow, version, queue, id, run_id, op, task, attempt, worker, deaths };
  const name = kind === "run" ? workflow : kind === "step" ? withoutOccurrence(op ?? "") : task;
  const spanKind = kind === "step" ? SpanKind.INTERNAL : SpanKind.CONSUMER;
  // The spans of a worker that has died were never ended: the start is what the stretches have in common.
  const links = deaths === undefined ? [] : linksTo(about.trace, "takeover");
  const options = { kind: spanKind, attributes: attributesOf(of), links };
  const span = tracer.startSpan(`${kind} ${name}`, options, parent);
  const inside = trace.setSpan(ROOT_CONTEXT, span);
  if (!span.isRecording()) return unrecorded(span, inside);
  return {
    part: (part) => beginSpan(tracer, part, inside),
    within: (call) => context.with(inside, call),
    context: () => textOf(span),
    received: (signal, from) => void span.addLinks(linksTo(from, "signal", { signal })),
    end: (outcome, error) => endSpan(span, outcome, error),
  };
}

/** Not sampled, and so are its parts; what is done inside of it has to know that. Without an SDK there is nothing to know. */
function unrecorded(span: OtelSpan, inside: Context): Span {
  if (!isSpanContextValid(span.spanContext())) return UNKNOWN;
  const within = <T>(call: () => T): T => context.with(inside, call);
  const silent: Span = { part: () => silent, within, context: () => textOf(span), end() {} };
  return silent;
}

const UNKNOWN: Span = { part: () => undefined, end() {} };

function endSpan(span: OtelSpan, outcome: string, error: Parameters<Span["end"]>[1]): void {
  span.setAttribute("holdfast.outcome", outcome);
  // What nobody wants to know any more has not failed.
  if (error && outcome !== "discarded") {
    const { name, message, stack, kind } = error;
    span.setAttribute("error.type", kind);
    span.recordException({ name, message, ...(stack === undefined ? {} : { stack }) });
    span.setStatus({ code: SpanStatusCode.ERROR, message });
  }
  span.end();
}

function attributesOf(values: Readonly<Record<string, string | number | undefined>>): Attributes {
  const attributes: Attributes = {};
  for (const name in values) if (values[name] !== undefined) attributes[`holdfast.${name}`] = values[name];
  return attributes;
}

/** The steps of a loop are one step that is executed many times. */
function withoutOccurrence(op: string): string {
  return op.replace(/#\d+$/, "");
}

/** The trace context of a span, as one text; undefined if it has none. */
function textOf(span: OtelSpan): string | undefined {
  const made = span.spanContext();
  if (!isSpanContextValid(made)) return undefined;
  const { traceId, spanId, traceFlags, traceState } = made;
  const traceparent = `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, "0")}`;
  const state = traceState?.serialize() ?? "";
  return state === "" ? traceparent : `${traceparent} ${state}`;
}

function spanContextOf(given: string | undefined): SpanContext | undefined {
  const [, traceId = "", spanId = "", flags = "", state] =
    /^[\da-f]{2}-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(?: (.+))?$/.exec(given ?? "") ?? [];
  const traceState = state === undefined ? {} : { traceState: createTraceState(state) };
  const remote = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true, ...traceState };
  return isSpanContextValid(remote) ? remote : undefined;
}

function contextOf(given: string | undefined): Context | undefined {
  const remote = spanContextOf(given);
  return remote && trace.setSpanContext(ROOT_CONTEXT, remote);
}

function linksTo(given: string | undefined, link: string, about: Readonly<Record<string, string>> = {}): Link[] {
  const remote = spanContextOf(given);
  return remote ? [{ context: remote, attributes: attributesOf({ link, ...about }) }] : [];
}
