/**
 * The application's logger, wrapped once where it enters: what it throws or rejects with reaches neither a run nor a caller.
 * The first failure of each function is reported, and the rest are dropped.
 */

import { type Logger, type LogLevel, silentLogger } from "../ports/logger.ts";
import { once, textOf, watch } from "./guarded-calls.ts";

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
