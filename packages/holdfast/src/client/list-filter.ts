import { assertAttributes } from "../errors/attribute-checks.ts";
import {
  invalidOption,
  isBoolean,
  isDate,
  isId,
  isName,
  listOf,
  type OptionCheck,
  type OptionChecks,
  oneOf,
  wholeNumber,
} from "../errors/option-checks.ts";
import { shownValue } from "../errors/shown-value.ts";
import { BATCH_WORKFLOW, batchNamespace } from "../model/batch.ts";
import { isUuid } from "../model/ids.ts";
import { valueFault } from "../model/names.ts";
import { RUN_STATUSES, type RunRow } from "../model/run.ts";
import type { ListRunsParams, RunFilter } from "../ports/store.ts";
import type { CountOptions, ListFilter, ListOptions } from "./client-options.ts";

export const LIST_LIMIT_DEFAULT = 100;
const LIST_LIMIT_MAX = 1_000;
/** Each attribute is a separate condition in SQL, and databases limit their number. */
const FILTER_ATTRIBUTES_MAX = 100;

type Place = NonNullable<ListRunsParams["before"]>;

/** An op id or a code: text that every store can compare. */
const isText: OptionCheck = (value, where, option) => {
  const fault = typeof value === "string" ? (value === "" ? "is empty" : valueFault(value)) : "is not a string";
  if (fault !== undefined) throw invalidOption(where, option, fault);
};

const isRunId: OptionCheck = (value, where, option) => {
  if (!isUuid(value)) throw invalidOption(where, option, `is ${shownValue(value)}, not a run id`);
};

const isStatus = oneOf(...RUN_STATUSES);
const areStatuses = listOf(isStatus);

const areAttributes: OptionCheck = (value, where) => {
  assertAttributes(value as never, where);
  const count = Object.keys(value as object).length;
  if (count > FILTER_ATTRIBUTES_MAX)
    throw invalidOption(where, "the filter", `has ${count} attributes; the limit is ${FILTER_ATTRIBUTES_MAX}`);
};

/** Filters are checked like the values they match: a value that no run can have is a mistake, not an empty list. */
export const LIST_FILTER: OptionChecks<ListFilter> = {
  workflow: isName("workflow name"),
  version: isName("version"),
  id: isId("run id"),
  status: (value, where, option) => (Array.isArray(value) ? areStatuses : isStatus)(value, where, option),
  queue: isName("queue name"),
  attributes: areAttributes,
  createdAfter: isDate,
  createdBefore: isDate,
  endedAfter: isDate,
  endedBefore: isDate,
  waitingFor: isText,
  retrying: isBoolean,
  waitingSince: isDate,
  error: isText,
  parent: isRunId,
  forkedFrom: isRunId,
};

export const COUNT_OPTIONS: OptionChecks<CountOptions> = { ...LIST_FILTER, atMost: wholeNumber(1) };

export const LIST_OPTIONS: OptionChecks<ListOptions> = {
  ...LIST_FILTER,
  limit: wholeNumber(1, LIST_LIMIT_MAX),
  cursor: (value, where) => void readCursor(value, where),
};

/** Batches are found by the name of their workflow alone. */
export function runFilter(given: string, filter: ListFilter): RunFilter {
  const namespace = filter.workflow === BATCH_WORKFLOW ? batchNamespace(given) : given;
  const { workflow, version, id, queue, attributes, status, createdAfter, createdBefore, parent } = filter;
  const { endedAfter, endedBefore, waitingFor, retrying, waitingSince, error, forkedFrom } = filter;
  return {
    namespace,
    ...(workflow === undefined ? {} : { workflow }),
    ...(version === undefined ? {} : { version }),
    ...(id === undefined ? {} : { id }),
    ...(queue === undefined ? {} : { queue }),
    ...(attributes === undefined ? {} : { attributes }),
    ...(status === undefined ? {} : { statuses: typeof status === "string" ? [status] : [...new Set(status)] }),
    ...(createdAfter === undefined ? {} : { createdAfter: createdAfter.getTime() }),
    ...(createdBefore === undefined ? {} : { createdBefore: createdBefore.getTime() }),
    ...(endedAfter === undefined ? {} : { endedAfter: endedAfter.getTime() }),
    ...(endedBefore === undefined ? {} : { endedBefore: endedBefore.getTime() }),
    ...(waitingFor === undefined ? {} : { waitingFor }),
    ...(retrying ? { retrying } : {}),
    ...(waitingSince === undefined ? {} : { waitingSince: waitingSince.getTime() }),
    ...(error === undefined ? {} : { error }),
    ...(parent === undefined ? {} : { parent }),
    ...(forkedFrom === undefined ? {} : { forkedFrom }),
  };
}

export function writeCursor({ createdAt, runId }: Pick<RunRow, "createdAt" | "runId">): string {
  return Buffer.from(JSON.stringify([createdAt, runId])).toString("base64url");
}

/** Accepts only what `writeCursor` can have written: a forged cursor must not reach a store. */
export function readCursor(cursor: unknown, where: string): Place {
  try {
    const place: unknown = JSON.parse(Buffer.from(cursor as string, "base64url").toString());
    const [createdAt, runId] = place as [unknown, unknown];
    if (Number.isSafeInteger(createdAt) && isUuid(runId)) return { createdAt: createdAt as number, runId };
  } catch {
    // reported below
  }
  throw invalidOption(where, "the cursor", "was not returned by list()");
}
