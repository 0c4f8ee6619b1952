import { isFunction, type OptionCheck, objectWith } from "../errors/option-checks.ts";
import { LOG_LEVELS } from "../ports/logger.ts";

/** For every way to make a client, the test engine included. */
export const isLogger: OptionCheck = objectWith(...LOG_LEVELS);

const hasRequired = objectWith("count", "duration");

export const isTelemetry: OptionCheck = (value, where, option) => {
  hasRequired(value, where, option);
  const { stepSpan } = value as { readonly stepSpan?: unknown };
  if (stepSpan !== undefined) isFunction(stepSpan, where, `${option}.stepSpan`);
};
