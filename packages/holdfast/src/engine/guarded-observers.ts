/**
 * The application's logger and telemetry, wrapped once where they come in: whatever they throw, or reject with, reaches
 * neither a run nor a caller. The first failure of each function is reported; the rest is silence, not a flood.
 */
import { HoldfastError } from "../errors/holdfast-error.ts";
import { LOG_LEVELS, type Logger, type LogLevel, silentLogger } from "../ports/logger.ts";
import type { Telemetry } from "../ports/telemetry.ts";
import { isPromiseLike } from "./transaction.ts";

type Report = (error: unknown) => void;

/** Throws `invalid_option` if it is no logger; `where` is the function that it was given to. */
export function guardLogger(logger: Logger, where: string): Logger {
  if (logger === silentLogger) return logger;
  requireMethods(logger, "logger", LOG_LEVELS, where);
  const guarded = (level: LogLevel): Logger[LogLevel] => {
    // Where else, if not to the logger? It is the last resort of somebody who looks for lines that are not there.
    const report = once((error) => {
      const text = `holdfast: logger.${level} failed (${textOf(error)}); lines may be missing from the log. Said once.\n`;
      process.stderr.write(text);
    });
    return (fields, message) => watch(() => logger[level](fields, message), report);
  };
  return { debug: guarded("debug"), info: guarded("info"), warn: guarded("warn"), error: guarded("error") };
}

/** Throws `invalid_option` if it is no telemetry. */
export function guardTelemetry(telemetry: Telemetry, where: string, log: Logger): Telemetry {
  requireMethods(telemetry, "telemetry", ["count", "duration"], where);
  const reporting = (name: string): Report =>
    once((error) => {
      const advice = "its figures may be wrong, runs are not affected; said once";
      log.error({ error: textOf(error) }, `telemetry.${name} failed; ${advice}`);
    });
  const [count, duration, span] = [reporting("count"), reporting("duration"), reporting("stepSpan")];
  return {
    count: (metric, times, labels) => watch(() => telemetry.count(metric, times, labels), count),
    duration: (metric, ms, labels) => watch(() => telemetry.duration(metric, ms, labels), duration),
    ...(telemetry.stepSpan === undefined ? {} : { stepSpan: guardedSpans(telemetry, span, where) }),
  };
}

function guardedSpans(telemetry: Telemetry, report: Report, where: string): NonNullable<Telemetry["stepSpan"]> {
  if (typeof telemetry.stepSpan !== "function")
    throw refused(`${where}: telemetry.stepSpan is ${shown(telemetry.stepSpan)}; it must be a function or left out.`);
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

function requireMethods(given: unknown, option: string, methods: readonly string[], where: string): void {
  if (typeof given !== "object" || given === null)
    throw refused(`${where}: ${option} is ${shown(given)}; it must be an object with ${methods.join(", ")}.`, option);
  const missing = methods.filter((name) => typeof (given as Record<string, unknown>)[name] !== "function");
  if (missing.length === 0) return;
  throw refused(
    `${where}: ${option} has no ${missing.join(", ")}; it needs the functions ${methods.join(", ")}.`,
    option,
  );
}

function refused(message: string, option = "telemetry"): HoldfastError {
  return new HoldfastError("invalid_option", message, { data: { option } });
}

function shown(value: unknown): string {
  return typeof value === "object" || typeof value === "string" ? JSON.stringify(value) : String(value);
}

function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "a value that cannot be read";
  }
}
