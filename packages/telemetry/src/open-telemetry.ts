import {
  type Attributes,
  type Context,
  type Counter,
  context,
  type Gauge,
  type Histogram,
  isSpanContextValid,
  type MeterProvider,
  metrics,
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
  type Span,
  type SpanAbout,
  type StartAbout,
  type Telemetry,
} from "holdfast";
import { BoundedLabels } from "./bounded-labels.ts";
import { BUCKETS } from "./buckets.ts";

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
export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  const { tracerProvider, meterProvider } = options;
  const tracer = (tracerProvider ?? trace.getTracerProvider()).getTracer(NAME);
  return {
    ...meters(meterProvider),
    trace: (start) => traceOfStart(tracer, start),
    span: (about) => beginSpan(tracer, about, contextOf(about.trace)),
  };
}

function meters(provider: MeterProvider | undefined): Pick<Telemetry, "count" | "duration" | "level"> {
  const labels = new BoundedLabels();
  // Made when first needed: the global provider may be registered after this.
  const meter = () => (provider ?? metrics.getMeterProvider()).getMeter(NAME);
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

/** A span of no length in the active trace: what the spans of the run are children of. */
function traceOfStart(
  tracer: Tracer,
  { workflow, version, queue, namespace, id, runId }: StartAbout,
): string | undefined {
  const attributes = attributesOf({ namespace, workflow, version, queue, id, run_id: runId });
  const span = tracer.startSpan(`start ${workflow}`, { kind: SpanKind.PRODUCER, attributes });
  span.end();
  const made = span.spanContext();
  return isSpanContextValid(made) ? traceparent(made) : undefined;
}

function beginSpan(tracer: Tracer, about: SpanAbout, parent: Context): Span {
  const { kind, namespace, workflow, version, queue, id, runId: run_id, op, task, attempt } = about;
  const attributes = attributesOf({ namespace, workflow, version, queue, id, run_id, op, task, attempt });
  const name = kind === "run" ? workflow : kind === "step" ? withoutOccurrence(op ?? "") : task;
  const spanKind = kind === "step" ? SpanKind.INTERNAL : SpanKind.CONSUMER;
  const span = tracer.startSpan(`${kind} ${name}`, { kind: spanKind, attributes }, parent);
  const inside = trace.setSpan(ROOT_CONTEXT, span);
  if (!span.isRecording()) return unrecorded(span, inside);
  return {
    part: (part) => beginSpan(tracer, part, inside),
    within: (call) => context.with(inside, call),
    end: (outcome, error) => endSpan(span, outcome, error),
  };
}

/** Not sampled, and so are its parts; what is done inside of it has to know that. Without an SDK there is nothing to know. */
function unrecorded(span: OtelSpan, inside: Context): Span {
  if (!isSpanContextValid(span.spanContext())) return UNKNOWN;
  const silent: Span = { part: () => silent, within: (call) => context.with(inside, call), end() {} };
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

function traceparent({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${(traceFlags & 0xff).toString(16).padStart(2, "0")}`;
}

/** Without a trace of the start, the span begins one of its own. */
function contextOf(given: string | undefined): Context {
  const [, traceId = "", spanId = "", flags = ""] = given?.split("-") ?? [];
  const remote: SpanContext = { traceId, spanId, traceFlags: Number.parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(remote) ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT;
}
