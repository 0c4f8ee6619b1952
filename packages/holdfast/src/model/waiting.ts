/**
 * How the row of a suspended run names the ops that it waits for: by their ids, and by what kind they are where the id does not
 * tell. The kind is a number behind the id. No id ends like that: the numbers of repeated ops have no leading zero.
 */
import { ASK_PREFIX, QUEUE_PREFIX, RECEIVE_PREFIX, RESULT_PREFIX, UNTIL_PREFIX, UPDATE_PREFIX } from "./ids.ts";

/** What a suspended run can wait for. `backoff`: the next attempt of a step, or of the whole run. */
export type WaitKind = "backoff" | "task" | "child" | "lock" | "signal" | "condition" | "update" | "timer" | "limit";

/** Behind the id of a step that waits for its next attempt. */
export const RETRYING_SUFFIX = "#00";
const SUFFIXES: Readonly<Record<string, string>> = {
  step: RETRYING_SUFFIX,
  task: "#01",
  child: "#02",
  message: "#03",
  lock: "#04",
};
const SUFFIX_KINDS: Readonly<Record<string, WaitKind>> = {
  [RETRYING_SUFFIX]: "backoff",
  "#01": "task",
  "#02": "child",
  "#03": "child",
  "#04": "lock",
  "#05": "limit",
};
const SUFFIX = /#0\d$/;

/** The op as the row names it; `kind` is what the engine calls it. */
export function waitingEntry(id: string, kind: string): string {
  const suffix = SUFFIXES[kind];
  return suffix === undefined ? id : id + suffix;
}

/** What the row of a run names that has no place in its queue yet: no op, but the queue. */
export function waitingForPlace(queue: string): string {
  return `${QUEUE_PREFIX}${queue}#05`;
}

export function waitsForPlace(entries: readonly string[]): boolean {
  return entries.some((entry) => entry.startsWith(QUEUE_PREFIX) && entry.endsWith("#05"));
}

/** The id of the op that the row names. */
export function waitingOp(entry: string): string {
  return SUFFIX.test(entry) ? entry.slice(0, -RETRYING_SUFFIX.length) : entry;
}

export function waitingOps(entries: readonly string[]): readonly string[] {
  return entries.some((entry) => SUFFIX.test(entry)) ? entries.map(waitingOp) : entries;
}

export function waitKind(entry: string): WaitKind {
  const known = SUFFIX_KINDS[entry.slice(-RETRYING_SUFFIX.length)];
  if (known !== undefined) return known;
  if (entry.startsWith(RECEIVE_PREFIX)) return "signal";
  if (entry.startsWith(UNTIL_PREFIX)) return "condition";
  if (entry.startsWith(UPDATE_PREFIX)) return "update";
  return entry.startsWith(RESULT_PREFIX) || entry.startsWith(ASK_PREFIX) ? "child" : "timer";
}

export function isRetrying(entries: readonly string[]): boolean {
  return entries.some((entry) => entry.endsWith(RETRYING_SUFFIX));
}
