import { LOG_LEVELS, type Logger, type LogLevel, type LogMethod, type RunLogger } from "../../ports/logger.ts";

export interface RunLoggerParams {
  readonly log: Logger;
  /** What every line says about where it comes from, whatever fields of the same names it is given. */
  readonly about: object;
  /** Lines are left out while this is true. */
  readonly quiet?: () => boolean;
}

/** A logger for user code. Like the ports it never throws, whatever it is given. */
export function runLogger({ log, about, quiet }: RunLoggerParams): RunLogger {
  const method =
    (level: LogLevel): LogMethod =>
    (first: unknown, second?: unknown) => {
      if (quiet?.()) return;
      const [message, fields] = typeof first === "string" ? [first, second] : [second, first];
      // First, so that it reads well; and last, so that it stays.
      log[level]({ ...about, ...readable(fields), ...about }, message === undefined ? "" : String(message));
    };
  return Object.fromEntries(LOG_LEVELS.map((level) => [level, method(level)])) as unknown as RunLogger;
}

/** An error alone, as pino takes it, would lose its message: that is no enumerable field. */
function readable(fields: unknown): object {
  if (fields === undefined || fields === null) return {};
  try {
    if (fields instanceof Error) return { err: fields };
    return typeof fields === "object" ? { ...fields } : { value: fields };
  } catch {
    return { fields: "(cannot be read)" };
  }
}
