import { isFunction, isList, listOf, type OptionCheck, objectWith } from "../errors/option-checks.ts";
import { LOG_LEVELS } from "../ports/logger.ts";
import type { Telemetry } from "../ports/telemetry.ts";

/** For every way to make a client, the test engine included. */
export const isLogger: OptionCheck = objectWith(...LOG_LEVELS);

const hasRequired = objectWith("count", "duration");
const OPTIONAL = ["level", "trace", "signal", "span"] as const satisfies readonly (keyof Telemetry)[];

const isOneTelemetry: OptionCheck = (value, where, option) => {
  hasRequired(value, where, option);
  for (const name of OPTIONAL) {
    const found = (value as Partial<Telemetry>)[name];
    if (found !== undefined) isFunction(found, where, `${option}.${name}`);
  }
};

const areTelemetries = listOf(isOneTelemetry);

/** One, or a list. */
export const isTelemetry: OptionCheck = (value, where, option) =>
  (isList(value) ? areTelemetries : isOneTelemetry)(value, where, option);
