import type { Logger } from "../ports/logger.ts";

/** The default logger: warnings and errors to standard error, one line each; the rest is for loggers that ask for it. */
export const consoleLogger: Logger = {
  debug() {},
  info() {},
  warn: (fields, message) => write("warn", fields, message),
  error: (fields, message) => write("error", fields, message),
};

function write(level: string, fields: object, message: string): void {
  const details = Object.entries(fields).map(
    ([key, value]) => ` ${key}=${typeof value === "string" ? value : JSON.stringify(value)}`,
  );
  process.stderr.write(`holdfast ${level}: ${message}${details.join("")}\n`);
}
