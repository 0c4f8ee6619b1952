import type { NewRun } from "holdfast/adapter";
import * as binary from "../database/binary-array.ts";
import type { Values } from "../database/server-call.ts";

export interface NewRuns {
  readonly runs: readonly NewRun[];
}

/** The values of a new run, shared by both callers; each adds its own prefix to the names. */
export const NEW_RUN: Values<NewRuns> = {
  workflow: ({ runs }) => binary.textArray(runs, (run) => run.workflow),
  version: ({ runs }) => binary.textArray(runs, (run) => run.version),
  queue: ({ runs }) => binary.textArray(runs, (run) => run.queue),
  priority: ({ runs }) => binary.int4Array(runs, (run) => run.priority),
  seed: ({ runs }) => binary.textArray(runs, (run) => run.seed),
  input: ({ runs }) => binary.byteaArray(runs, (run) => run.input),
  attributes: ({ runs }) =>
    binary.sparse(
      binary.textArray,
      runs.map((run) => (isEmpty(run.attributes) ? null : JSON.stringify(run.attributes))),
    ),
  start_at: ({ runs }) => binary.sparse(binary.timeArray, runs, (run) => run.startAt ?? null),
  delay: ({ runs }) => binary.sparse(binary.timeArray, runs, (run) => run.startDelayMs ?? null),
  timeout: ({ runs }) => binary.sparse(binary.timeArray, runs, (run) => run.timeoutMs ?? null),
  key: ({ runs }) => binary.sparse(binary.textArray, runs, (run) => run.key ?? null),
};

/** The same values, with a letter in front of each name. */
export function namedFor<T>(letter: string, values: Values<T>): Values<T> {
  return Object.fromEntries(Object.entries(values).map(([name, make]) => [`${letter}_${name}`, make]));
}

function isEmpty(object: object): boolean {
  for (const _key in object) return false;
  return true;
}
