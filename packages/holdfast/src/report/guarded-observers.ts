/**
 * The application's logger and telemetry, wrapped once where they enter: what they throw or reject with reaches neither a
 * run nor a caller. The first failure of each function is reported, and the rest are dropped.
 */

import { isPromiseLike } from "../model/promise-like.ts";
import { type Logger, type LogLevel, silentLogger } from "../ports/logger.ts";
import type { Telemetry } from "../ports/telemetry.ts";

type Report = (error: unknown) => void;

export function guardLogger(logger: Logger): Logger {
  if (logger === silentLogger) return logger;
  const guarded = (level: LogLevel): Logger[LogLevel] => {
    // The logger itself failed, so this goes to stderr, for a person who looks for missing lines.
    const report = once((error) => {
      const text = `holdfast: logger.${level} failed (${textOf(error)}); lines may be missing from the log. Reported once.\n`;
      process.stderr.write(text);
    });
    return (fields, message) => watch(() => logger[level](fields, message), report);
  };
  return { debug: guarded("debug"), info: guarded("info"), warn: guarded("warn"), error: guarded("error") };
}

export function guardTelemetry(telemetry: Telemetry, log: Logger): Telemetry {
  const reporting = (name: string): Report =>
    once((error) => {
      const advice = "its figures may be wrong, runs are not affected; reported once";
      log.error({ error: textOf(error) }, `telemetry.${name} failed; ${advice}`);
    });
  const [count, duration, span] = [reporting("count"), reporting("duration"), reporting("stepSpan")];
  return {
    count: (metric, times, labels) => watch(() => telemetry.count(metric, times, labels), count),
    duration: (metric, ms, labels) => watch(() => telemetry.duration(metric, ms, labels), duration),
    ...(telemetry.stepSpan === undefined ? {} : { stepSpan: guardedSpans(telemetry, span) }),
  };
}

function guardedSpans(telemetry: Telemetry, report: Report): NonNullable<Telemetry["stepSpan"]> {
  return (step) => {
    const end = watch(() => telemetry.stepSpan?.(step), report);
    return (error) => {
      if (typeof end === "function") watch(() => end(error), report);
    };
  };
}

function watch<T>(call: () => T, report: Report): T | undefined {
  try {
    const result = call();
    if (isPromiseLike(result)) result.then(undefined, report);
    return result;
  } catch (error) {
    report(error);
    return undefined;
  }
}

function once(report: Report): Report {
  let reported = false;
  return (error) => {
    if (reported) return;
    reported = true;
    report(error);
  };
}

function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "a value that cannot be read";
  }
}
