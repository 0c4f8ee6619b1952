/** What a line of an export may contain. Each check returns the value, or throws a `Fault` that names the place. */
import { assertAttributes } from "../../errors/attribute-checks.ts";
import { isUuid } from "../../model/ids.ts";
import { idFault, nameFault, valueFault } from "../../model/names.ts";
import { CLOSED_STATUSES } from "../../model/run-status.ts";

/** What is wrong with a line, as the end of a sentence. */
export class Fault extends Error {}

type Check<T> = (value: unknown, what: string) => T;

/** What every store can count to. */
const COUNT_MAX = 2 ** 31 - 1;
const TIME_MAX = 8.64e15;

export const counter: Check<number> = (value, what) => whole(value, what, 0, COUNT_MAX);
export const time: Check<number> = (value, what) => whole(value, what, 0, TIME_MAX);
export const flag: Check<boolean> = (value, what) => {
  if (typeof value === "boolean") return value;
  throw new Fault(`has ${what} that is neither true nor false`);
};

function whole(value: unknown, what: string, min: number, max: number): number {
  if (Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max) return value as number;
  throw new Fault(`has ${what} that is not a whole number from ${min} to ${max}`);
}

export const text: Check<string> = (value, what) => {
  if (typeof value === "string" && valueFault(value) === undefined) return value;
  throw new Fault(`has ${what} that is not a text that every store can keep`);
};

export const id: Check<string> = (value, what) => faultless(value, idFault(value), what);
export const name: Check<string> = (value, what) => faultless(value, nameFault(value), what);

function faultless(value: unknown, fault: string | undefined, what: string): string {
  if (fault !== undefined) throw new Fault(`has ${what} that ${fault}`);
  return value as string;
}

export const uuid: Check<string> = (value, what) => {
  if (isUuid(value)) return value;
  throw new Fault(`has ${what} that is not a run id`);
};

const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

export const base64: Check<string> = (value, what) => {
  if (typeof value === "string" && BASE64.test(value)) return value;
  throw new Fault(`has ${what} that is not base64`);
};

export const statusOfEnd: Check<string> = (value, what) => choice(...CLOSED_STATUSES)(value, what);

export function choice(...allowed: readonly string[]): Check<string> {
  return (value, what) => {
    if (typeof value === "string" && allowed.includes(value)) return value;
    throw new Fault(`has ${what} that this version does not know`);
  };
}

export const record: Check<Readonly<Record<string, unknown>>> = (value, what) => {
  if (typeof value === "object" && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new Fault(`has ${what} that is not an object`);
};

export const errorRecord: Check<object> = (value, what) => {
  const error = record(value, what);
  for (const field of ["name", "message", "kind"])
    if (typeof error[field] !== "string") throw new Fault(`has ${what}.${field} that is not a text`);
  return error;
};

export const attributes: Check<object> = (value, what) => {
  const given = record(value, what);
  try {
    assertAttributes(given as never, what);
  } catch {
    throw new Fault(`has ${what} that no run can have`);
  }
  return given;
};

export function object(fields: Readonly<Record<string, Check<unknown>>>): Check<object> {
  return (value, what) => {
    const given = record(value, what);
    for (const [field, check] of Object.entries(fields)) check(given[field], `${what}.${field}`);
    return given;
  };
}

export function maybe<T>(check: Check<T>): Check<T | null> {
  return (value, what) => (value === null ? null : check(value, what));
}

export function array<T>(check: Check<T>): Check<readonly T[]> {
  return (value, what) => {
    if (!Array.isArray(value)) throw new Fault(`has ${what} that is not a list`);
    return value.map((item, i) => check(item, `${what}[${i}]`));
  };
}

export function tuple(...checks: readonly Check<unknown>[]): Check<readonly unknown[]> {
  return (value, what) => {
    if (!Array.isArray(value) || value.length !== checks.length)
      throw new Fault(`has ${what} that is not a list of ${checks.length}`);
    for (const [i, check] of checks.entries()) check(value[i], `${what}[${i}]`);
    return value;
  };
}
