import { LOG_LEVELS, type Logger, type LogLevel, type LogMethod, type RunLogger } from "../../ports/logger.ts";

export interface RunLoggerParams {
  readonly log: Logger;
  /** Fields that every line carries; they override fields of the same names. */
  readonly about: object;
  /** Lines are left out while this is true. */
  readonly quiet?: () => boolean;
}

/** A logger for user code. Like the ports, it never throws. */
export function runLogger({ log, about, quiet }: RunLoggerParams): RunLogger {
  const method =
    (level: LogLevel): LogMethod =>
    (first: unknown, second?: unknown) => {
      if (quiet?.()) return;
      const [message, fields] = typeof first === "string" ? [first, second] : [second, first];
      // First, so that it reads well; and last, so that it cannot be overridden.
      log[level]({ ...about, ...readable(fields), ...about }, message === undefined ? "" : String(message));
    };
  return Object.fromEntries(LOG_LEVELS.map((level) => [level, method(level)])) as unknown as RunLogger;
}

/** An error passed alone, as pino accepts it, would lose its message, which is not enumerable. */
function readable(fields: unknown): object {
  if (fields === undefined || fields === null) return {};
  try {
    if (fields instanceof Error) return { err: fields };
    return typeof fields === "object" ? { ...fields } : { value: fields };
  } catch {
    return { fields: "(cannot be read)" };
  }
}
