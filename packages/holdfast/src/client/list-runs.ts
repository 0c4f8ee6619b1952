import { checkOptions } from "../errors/option-checks.ts";
import type { ListRunsParams } from "../ports/store.ts";
import type { ClientCore } from "./client-core.ts";
import type { CountOptions, ListOptions } from "./client-options.ts";
import { COUNT_OPTIONS, LIST_LIMIT_DEFAULT, LIST_OPTIONS, readCursor, runFilter, writeCursor } from "./list-filter.ts";
import { type RunSummary, summarizeRun } from "./run-view.ts";

/** A page of `hf.list`. */
export interface RunPage {
  /** Newest first. */
  readonly runs: readonly RunSummary[];
  /** Pass it as `cursor` for the next page; null on the last page. */
  readonly cursor: string | null;
}

export async function listRuns(core: ClientCore, options: ListOptions): Promise<RunPage> {
  checkOptions(options, LIST_OPTIONS, "list");
  const limit = options.limit ?? LIST_LIMIT_DEFAULT;
  const params: ListRunsParams = {
    ...runFilter(core.namespace, options),
    limit: limit + 1,
    ...(options.cursor === undefined ? {} : { before: readCursor(options.cursor, "list") }),
  };
  const rows = await core.call((store) => store.runs.list(params));
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  const now = core.ports.clock.now();
  return {
    runs: page.map((row) => summarizeRun(row, now)),
    cursor: rows.length > limit && last ? writeCursor(last) : null,
  };
}

export async function countRuns(core: ClientCore, filter: CountOptions): Promise<number> {
  checkOptions(filter, COUNT_OPTIONS, "count");
  const { atMost = null } = filter;
  return core.call((store) => store.runs.count({ ...runFilter(core.namespace, filter), atMost }));
}
