/**
 * One way to check option objects: every key must be known, and every value valid. An unknown key or an invalid value
 * is refused, with the probable intended one; `undefined` counts as absent. Valid options allocate nothing, because
 * this runs once per start and per step.
 */
import { RESERVED_PREFIX } from "../model/batch.ts";
import { type Duration, durationToMs, isTooLong } from "../model/duration.ts";
import { idFault, nameFault, REASON_LENGTH_MAX, valueFault } from "../model/names.ts";
import { nearestName } from "../model/nearest-name.ts";
import { HoldfastError, isHoldfastError } from "./holdfast-error.ts";
import { shownValue } from "./shown-value.ts";

/** Throws unless the option may have this value. `where` names the call, `option` the key. */
export type OptionCheck = (value: unknown, where: string, option: string) => void;

/** One check per option. */
export type OptionChecks<T> = { readonly [K in keyof Required<T>]: OptionCheck };

/** `undefined` means no options. */
export function checkOptions<T>(options: unknown, checks: OptionChecks<T>, where: string, prefix = ""): void {
  if (options === undefined) return;
  if (typeof options !== "object" || options === null || isList(options)) throw noOptions(options, where, prefix);
  let key = "";
  try {
    for (key in options) {
      if (!Object.hasOwn(checks, key)) throw unknownOption(key, Object.keys(checks), where, prefix);
      const value = (options as Record<string, unknown>)[key];
      if (value !== undefined) checks[key as keyof T](value, where, prefix === "" ? key : prefix + key);
    }
    if (key === "" && !isPlainObject(options)) throw noOptions(options, where, prefix);
  } catch (error) {
    if (isHoldfastError(error)) throw error;
    // The caller's getter or proxy threw.
    throw new HoldfastError("invalid_option", `${where}: ${prefix}${key} cannot be read: it throws ${thrown(error)}.`, {
      data: { where, option: prefix + key },
      cause: error,
    });
  }
}

function noOptions(options: unknown, where: string, prefix: string): HoldfastError {
  const what = prefix === "" ? "the options are" : `${prefix.slice(0, -1)} is`;
  return new HoldfastError("invalid_option", `${where}: ${what} ${shownValue(options)}, not an object with options.`, {
    data: { where },
  });
}

/** False for a Map, a Date or any object whose content is not in its fields. */
export function isPlainObject(value: unknown): boolean {
  if (typeof value !== "object" || value === null || isList(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || Object.getPrototypeOf(prototype) === null;
}

/** The same for options that are required. */
export function requireOptions<T>(options: unknown, checks: OptionChecks<T>, where: string): void {
  if (options !== undefined) return checkOptions(options, checks, where);
  throw new HoldfastError("invalid_option", `${where}: the options are missing.`, { data: { where } });
}

/** The given options, with defaults for those that are absent or `undefined`. */
export function withDefaults<T extends object>(defaults: T, given: Partial<T> | undefined): T {
  const merged = { ...defaults };
  for (const key in given) if (given[key] !== undefined) Object.assign(merged, { [key]: given[key] });
  return merged;
}

export function invalidOption(where: string, option: string, fault: string): HoldfastError {
  return new HoldfastError("invalid_option", `${where}: ${option} ${fault}.`, { data: { where, option } });
}

function unknownOption(key: string, known: readonly string[], where: string, prefix: string): HoldfastError {
  const nearest = nearestName(key, known);
  const hint = nearest === undefined ? `It takes ${known.join(", ")}.` : `Did you mean \`${nearest}\`?`;
  return new HoldfastError("invalid_option", `${where}: there is no option ${shownValue(prefix + key)}. ${hint}`, {
    data: { where, option: prefix + key, ...(nearest === undefined ? {} : { nearest }) },
  });
}

// Checks ------------------------------------------------------------------------------------------------------------

/** For an option that is checked where it is read. */
export const checkedLater: OptionCheck = () => {};

export function oneOf(...known: readonly string[]): OptionCheck {
  return (value, where, option) => {
    if (known.includes(value as string)) return;
    const nearest = typeof value === "string" ? nearestName(value, known) : undefined;
    const choices = known.map((one) => JSON.stringify(one)).join(", ");
    const hint = nearest === undefined ? "" : ` Did you mean ${JSON.stringify(nearest)}?`;
    throw new HoldfastError(
      "invalid_option",
      `${where}: ${option} is ${shownValue(value)}; it may be ${choices}.${hint}`,
      { data: { where, option, ...(nearest === undefined ? {} : { nearest }) } },
    );
  };
}

export const isBoolean: OptionCheck = (value, where, option) => {
  if (typeof value !== "boolean")
    throw invalidOption(where, option, `is ${shownValue(value)}; it may be true or false`);
};

export const isText: OptionCheck = (value, where, option) => {
  if (typeof value !== "string") throw invalidOption(where, option, `is ${shownValue(value)}, not a text`);
};

export const isFunction: OptionCheck = (value, where, option) => {
  if (typeof value !== "function") throw invalidOption(where, option, `is ${shownValue(value)}, not a function`);
};

export const isDate: OptionCheck = (value, where, option) => {
  if (!(value instanceof Date) || Number.isNaN(value.getTime()))
    throw invalidOption(where, option, "is not a valid Date");
};

export const isDuration: OptionCheck = (value, where, option) => void requireDuration(value as Duration, where, option);

export function wholeNumber(least: number, most = Number.POSITIVE_INFINITY, meaning = ""): OptionCheck {
  const range = most === Number.POSITIVE_INFINITY ? `from ${least} up` : `from ${least} to ${most}`;
  return (value, where, option) => {
    if (Number.isInteger(value) && (value as number) >= least && (value as number) <= most) return;
    throw invalidOption(where, option, `is ${shownValue(value)}; it must be a whole number ${range}${meaning}`);
  };
}

/** `methods` must be functions of the object. */
export function objectWith(...methods: readonly string[]): OptionCheck {
  return (value, where, option) => {
    const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
    if (!isObject) throw invalidOption(where, option, `is ${shownValue(value)}, not an object`);
    const missing = methods.filter((method) => typeof (value as Record<string, unknown>)[method] !== "function");
    if (missing.length === 0) return;
    throw invalidOption(where, option, `has no ${missing.join(", ")}; it needs the functions ${methods.join(", ")}`);
  };
}

/** Checks each member of a list, named `option[3]`. */
export function listOf(check: OptionCheck): OptionCheck {
  return (value, where, option) => {
    if (!Array.isArray(value)) throw invalidOption(where, option, `is ${shownValue(value)}, not an array`);
    for (let i = 0; i < value.length; i++) check(value[i], where, `${option}[${i}]`);
  };
}

/** Checks options inside an option, named `option.key`. */
export function optionsOf<T>(checks: OptionChecks<T>): OptionCheck {
  return (value, where, option) => checkOptions(value, checks, where, `${option}.`);
}

/** A schema from any library that follows Standard Schema. */
export const isSchema: OptionCheck = (value, where, option) => {
  const isObject = (typeof value === "object" && value !== null) || typeof value === "function";
  const standard = isObject ? (value as { "~standard"?: { validate?: unknown } })["~standard"] : undefined;
  if (typeof standard?.validate === "function") return;
  throw invalidOption(
    where,
    option,
    `is ${shownValue(value)}, not a schema. Use one from zod, valibot, arktype or another library that follows Standard Schema`,
  );
};

/** `what` says which name it is. */
export function isName(what: string): OptionCheck {
  return (value) => requireName(value, what);
}

export function isId(what: string): OptionCheck {
  return (value) => requireId(value, what);
}

// Texts -------------------------------------------------------------------------------------------------------------

/** Throws `invalid_name` unless every store can keep the name. */
export function requireName(name: unknown, what: string): void {
  const fault = nameFault(name);
  if (fault === undefined) return;
  throw new HoldfastError("invalid_name", `The ${what} ${shownValue(name)} ${fault}.`, { data: { name: kept(name) } });
}

/** The same for a name that no part of Holdfast itself may have. */
export function requireOwnName(name: unknown, what: string): void {
  requireName(name, what);
  if (!(name as string).startsWith(RESERVED_PREFIX)) return;
  const message = `The ${what} ${shownValue(name)} begins with "${RESERVED_PREFIX}", which is reserved. Choose another one.`;
  throw new HoldfastError("invalid_name", message, { data: { name } });
}

/** The same for an id that a caller chose for a run or a message. */
export function requireId(id: unknown, what: string): void {
  const fault = idFault(id);
  if (fault === undefined) return;
  throw new HoldfastError("invalid_name", `The ${what} ${shownValue(id)} ${fault}.`, { data: { id: kept(id) } });
}

/** Why something is done to a run, or who does it: free text that every store can keep. */
export function requireReason(reason: unknown, call: string, what = "the reason"): void {
  if (reason === undefined) return;
  if (typeof reason !== "string") throw invalidOption(call, what, `is ${shownValue(reason)}, not a string`);
  const tooLong = reason.length > REASON_LENGTH_MAX;
  const fault = tooLong ? `is ${reason.length} characters long; the limit is ${REASON_LENGTH_MAX}` : valueFault(reason);
  if (fault !== undefined) throw invalidOption(call, what, fault);
}

export function requireDuration(duration: Duration, where: string, option: string): number {
  const ms = unlessItThrows(() => durationToMs(duration));
  if (ms !== undefined) return ms;
  const shown = typeof duration === "string" ? duration : shownValue(duration);
  const message = `${where}: ${option} is ${shownValue(shown)}, which is ${durationFault(duration)}.`;
  throw new HoldfastError("invalid_duration", message, { data: { where, option } });
}

/** Why it is not a valid duration, and what to do. */
export function durationFault(duration: unknown): string {
  return unlessItThrows(() => isTooLong(duration as Duration))
    ? "longer than the limit of 100 years (36525 days)"
    : 'not a duration. Write "30s", "2h 30m", "1 day" or { minutes: 5 }. The units are weeks, days, hours, minutes, seconds and milliseconds';
}

/** The same for the longest that a run may take. */
export function requireTimeout(timeout: Duration, where: string, option = "timeout"): number {
  const ms = requireDuration(timeout, where, option);
  if (ms > 0) return ms;
  throw invalidOption(
    where,
    option,
    `is ${shownValue(timeout)}, which leaves the run no time at all. Give it a longer one, or leave it out for no limit`,
  );
}

function unlessItThrows<T>(read: () => T): T | undefined {
  try {
    return read();
  } catch {
    return undefined; // a getter or a proxy that throws
  }
}

/** Even Array.isArray throws for a revoked proxy. */
export function isList(value: unknown): boolean {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}

/** The part of a refused text that an error carries. */
export function kept(text: unknown): unknown {
  return typeof text === "string" && text.length <= 1_000 ? text : shownValue(text);
}

export function thrown(error: unknown): string {
  try {
    return error instanceof Error ? `${error.name}: ${error.message}` : shownValue(error);
  } catch {
    return "a value that cannot be read";
  }
}
