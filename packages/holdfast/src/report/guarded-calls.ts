/** Calls of functions that belong to the application, and must not harm anybody. */

import { isPromiseLike } from "../model/promise-like.ts";

export type Report = (error: unknown) => void;

/** Calls a function of the application; undefined if it throws. A promise that is rejected is reported too. */
export function watch<T>(call: () => T, report: Report): T | undefined {
  try {
    const result = call();
    noteRejection(result, report);
    return result;
  } catch (error) {
    report(error);
    return undefined;
  }
}

/** What is no promise needs no look. */
export function noteRejection(result: unknown, report: Report): void {
  if (result !== undefined && isPromiseLike(result)) result.then(undefined, report);
}

export function once(report: Report): Report {
  let reported = false;
  return (error) => {
    if (reported) return;
    reported = true;
    report(error);
  };
}

export function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return "a value that cannot be read";
  }
}
