/** The shape of pino's logger, as far as Holdfast uses it. */
export interface Logger {
  debug(fields: object, message: string): void;
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
  error(fields: object, message: string): void;
}

export const LOG_LEVELS = ["debug", "info", "warn", "error"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The logger of workflow code and steps: fields and a message, in either order, or one of them alone. */
export interface RunLogger {
  readonly debug: LogMethod;
  readonly info: LogMethod;
  readonly warn: LogMethod;
  readonly error: LogMethod;
}

/** Writes one line: `log.info("text", { fields })` or `log.info({ fields }, "text")`; either part may be left out. */
export interface LogMethod {
  (message: string, fields?: object): void;
  (fields: object, message?: string): void;
}

export const silentLogger: RunLogger = { debug() {}, info() {}, warn() {}, error() {} };
