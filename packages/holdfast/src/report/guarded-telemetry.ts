/**
 * The application's telemetry, wrapped once where it enters: what it throws or rejects with reaches neither a run nor a caller,
 * nor the others if there are several. The first failure of each function is reported, and the rest are dropped.
 */

import { isList } from "../errors/option-checks.ts";
import { isTraceContext } from "../model/trace-context.ts";
import type { Logger } from "../ports/logger.ts";
import type { Span, SpanAbout, Telemetry } from "../ports/telemetry.ts";
import { noteRejection, once, type Report, textOf, watch } from "./guarded-calls.ts";

/** Undefined if there is none. */
export function guardTelemetry(
  given: Telemetry | readonly Telemetry[] | undefined,
  log: Logger,
): Telemetry | undefined {
  if (given === undefined) return undefined;
  const all = (isList(given) ? given : [given]) as readonly Telemetry[];
  const guarded = all.map((telemetry) => guardOne(telemetry, log));
  return guarded.length > 1 ? joined(guarded) : guarded[0];
}

function guardOne(telemetry: Telemetry, log: Logger): Telemetry {
  const reporting = (name: string): Report =>
    once((error) => {
      const advice = "its figures may be wrong, runs are not affected; reported once";
      log.error({ error: textOf(error) }, `telemetry.${name} failed; ${advice}`);
    });
  const [count, duration, level] = [reporting("count"), reporting("duration"), reporting("level")];
  const [trace, span, signal] = [reporting("trace"), reporting("span"), reporting("signal")];
  const begin = (about: SpanAbout): Span | undefined =>
    guardSpan(
      watch(() => telemetry.span?.(about), span),
      begin,
      span,
    );
  return {
    // These are called for every step: without a closure.
    count: (metric, times, labels) => {
      try {
        noteRejection(telemetry.count(metric, times, labels), count);
      } catch (error) {
        count(error);
      }
    },
    duration: (metric, ms, labels) => {
      try {
        noteRejection(telemetry.duration(metric, ms, labels), duration);
      } catch (error) {
        duration(error);
      }
    },
    ...(telemetry.level && {
      level: (metric, value, labels) => void watch(() => telemetry.level?.(metric, value, labels), level),
    }),
    ...(telemetry.trace && { trace: (start) => watch(() => telemetry.trace?.(start), trace) }),
    ...(telemetry.signal && { signal: (about) => watch(() => telemetry.signal?.(about), signal) }),
    ...(telemetry.span && { span: begin }),
  };
}

type Begin = (about: SpanAbout) => Span | undefined;

/** `begin` is for parts of a span that has none of its own. */
function guardSpan(span: Span | undefined, begin: Begin, report: Report): Span | undefined {
  if (typeof span?.end !== "function") return undefined;
  return {
    part: span.part
      ? (about) =>
          guardSpan(
            watch(() => span.part?.(about), report),
            begin,
            report,
          )
      : begin,
    within: (call) => (span.within ? callWithin(span, call, report) : call()),
    context: () => contextOf(span, report),
    received: (signal, trace) => void watch(() => span.received?.(signal, trace), report),
    end: (outcome, error) => void watch(() => span.end(outcome, error), report),
  };
}

function contextOf(span: Span, report: Report): string | undefined {
  const trace: unknown = watch(() => span.context?.(), report);
  return isTraceContext(trace) ? trace : undefined;
}

/** The function is called exactly once, whatever the span does, and what comes of it is what the caller gets. */
function callWithin<T>(span: Span, call: () => T, report: Report): T {
  let made: { readonly value: T } | { readonly error: unknown } | undefined;
  const callOnce = (): T => {
    if (!made) {
      try {
        made = { value: call() };
      } catch (error) {
        made = { error };
      }
    }
    if ("error" in made) throw made.error;
    return made.value;
  };
  try {
    span.within?.(callOnce);
  } catch (error) {
    const own = made && "error" in made && made.error === error;
    if (!own) report(error);
  }
  return callOnce();
}

function joined(all: readonly Telemetry[]): Telemetry {
  const [leveling, spanning] = [all.filter(({ level }) => level), all.filter(({ span }) => span)];
  const [tracing, signaling] = [all.filter(({ trace }) => trace), all.filter(({ signal }) => signal)];
  return {
    count: (metric, times, labels) => {
      for (const telemetry of all) telemetry.count(metric, times, labels);
    },
    duration: (metric, ms, labels) => {
      for (const telemetry of all) telemetry.duration(metric, ms, labels);
    },
    ...(leveling.length > 0 && {
      level: (metric, value, labels) => {
        for (const telemetry of leveling) telemetry.level?.(metric, value, labels);
      },
    }),
    // A run is part of one trace: the first that has one for it decides.
    ...(tracing.length > 0 && { trace: (start) => firstOf(tracing, (one) => one.trace?.(start)) }),
    ...(signaling.length > 0 && { signal: (about) => firstOf(signaling, (one) => one.signal?.(about)) }),
    ...(spanning.length > 0 && { span: (about) => joinedSpan(spanning.map(({ span }) => span?.(about))) }),
  };
}

function firstOf(all: readonly Telemetry[], ask: (telemetry: Telemetry) => string | undefined): string | undefined {
  for (const telemetry of all) {
    const found = ask(telemetry);
    if (found !== undefined) return found;
  }
  return undefined;
}

function joinedSpan(some: readonly (Span | undefined)[]): Span | undefined {
  const spans = some.filter((span) => span !== undefined);
  if (spans.length < 2) return spans[0];
  return {
    part: (about) => joinedSpan(spans.map(({ part }) => part?.(about))),
    within: (call) =>
      spans.reduceRight<typeof call>((inner, span) => () => (span.within ? span.within(inner) : inner()), call)(),
    context: () => {
      for (const span of spans) {
        const found = span.context?.();
        if (found !== undefined) return found;
      }
      return undefined;
    },
    received: (signal, trace) => {
      for (const span of spans) span.received?.(signal, trace);
    },
    end: (outcome, error) => {
      for (const span of spans) span.end(outcome, error);
    },
  };
}
