/** Lists of runs for filters with alternatives: one list for each, merged by the order that all of them have. */

import type { ListFilter, RunSummary } from "holdfast";
import { isHoldfastError } from "holdfast/adapter";
import { refusal } from "../answers/refusal.ts";
import type { SearchFilter } from "../filter/filter-query.ts";
import { errorsOf, says } from "./error-texts.ts";
import type { Scope } from "./scope.ts";

const PAGE_MAX = 1_000;
/** No store has an index of what errors say: so many runs with an error are looked at for one page. */
const LOOKED_AT_MAX = 1_000;
const WITH_ERROR: readonly RunSummary["status"][] = ["failed", "timed_out", "canceled", "terminated", "parked"];

export interface FoundRuns {
  readonly runs: readonly RunSummary[];
  /** With fewer runs than asked for: the search goes on there. */
  readonly cursor: string | null;
}

interface Page {
  readonly limit: number;
  readonly cursor?: string | null | undefined;
}

type Place = Pick<RunSummary, "createdAt" | "runId">;

/** Everything before `until` was looked at; undefined: everything there is. */
interface Part {
  readonly runs: readonly RunSummary[];
  readonly until: Place | undefined;
}

/** A cursor names a run, so the same one fits every list. */
export async function searchRuns(scope: Scope, alternatives: readonly SearchFilter[], page: Page): Promise<FoundRuns> {
  const { limit } = page;
  const [first, ...others] = alternatives;
  if (first && others.length === 0 && !first.errorText)
    return scope.view.list({ ...first, limit, ...(page.cursor ? { cursor: page.cursor } : {}) });
  const parts = await Promise.all(alternatives.map((filter) => partOf(scope, filter, page)));
  const until = parts.flatMap((part) => part.until ?? []).sort(newestFirst)[0];
  const merged = new Map<string, RunSummary>();
  for (const run of parts.flatMap(({ runs }) => runs))
    if (!until || newestFirst(run, until) <= 0) merged.set(run.runId, run);
  const sorted = [...merged.values()].sort(newestFirst);
  const runs = sorted.slice(0, limit);
  if (sorted.length > limit) return { runs, cursor: cursorOf(runs.at(-1) as RunSummary) };
  return { runs, cursor: until ? cursorOf(until) : null };
}

async function partOf(scope: Scope, filter: SearchFilter, page: Page): Promise<Part> {
  const { errorText, ...listed } = filter;
  if (errorText) return saying(scope, listed, errorText, page);
  const from = page.cursor ? { cursor: page.cursor } : {};
  const found = await scope.view.list({ ...listed, limit: page.limit, ...from }).catch(emptyIfImpossible);
  return { runs: found.runs, until: found.cursor === null ? undefined : found.runs.at(-1) };
}

/** Runs whose error says it, of the next so many that have one. */
async function saying(scope: Scope, filter: ListFilter, texts: readonly string[], page: Page): Promise<Part> {
  // What somebody must not read, they must not guess either.
  if (scope.values.right !== "full") return { runs: [], until: undefined };
  const asked = typeof filter.status === "string" ? [filter.status] : filter.status;
  const status = WITH_ERROR.filter((one) => asked?.includes(one) ?? true);
  if (status.length === 0) return { runs: [], until: undefined };
  const found: RunSummary[] = [];
  let { cursor } = page;
  for (let looked = 0; looked < LOOKED_AT_MAX && found.length < page.limit; ) {
    const next = await scope.view.list({ ...filter, status, limit: 100, ...(cursor ? { cursor } : {}) });
    const errors = await errorsOf(
      scope,
      next.runs.map(({ runId }) => runId),
    );
    for (const run of next.runs) {
      const error = errors.get(run.runId);
      if (error && says(error, texts)) found.push(run);
    }
    if (next.cursor === null) return { runs: found, until: undefined };
    ({ cursor } = next);
    looked += next.runs.length;
  }
  return { runs: found, until: placeOf(cursor as string) };
}

/** Counted up to `atMost`; of several alternatives, runs that match more than one count once. `capped`: there may be more. */
export async function countRuns(
  scope: Scope,
  alternatives: readonly SearchFilter[],
  atMost?: number,
): Promise<{ readonly count: number; readonly capped: boolean }> {
  const [first, ...others] = alternatives;
  if (!first) return { count: 0, capped: false };
  if (others.length === 0 && !first.errorText) {
    const count = await scope.view.count({ ...first, ...(atMost === undefined ? {} : { atMost }) });
    return { count, capped: count === atMost };
  }
  const found = new Set<string>();
  let cursor: string | null | undefined;
  do {
    const page: FoundRuns = await searchRuns(scope, alternatives, { limit: PAGE_MAX, cursor });
    for (const { runId } of page.runs) found.add(runId);
    cursor = page.cursor;
    if (atMost !== undefined && found.size >= atMost) return { count: atMost, capped: true };
    // A page that was not filled is one that looked at as much as a request may.
    if (atMost !== undefined && cursor !== null && page.runs.length < PAGE_MAX)
      return { count: found.size, capped: true };
  } while (cursor !== null);
  return { count: found.size, capped: false };
}

/** A word that no workflow and no id can have, as one of several things that it may mean. */
function emptyIfImpossible(error: unknown): FoundRuns {
  if (isHoldfastError(error) && error.code.startsWith("invalid")) return { runs: [], cursor: null };
  throw error;
}

function newestFirst(a: Place, b: Place): number {
  if (a.runId === b.runId) return 0;
  return b.createdAt.getTime() - a.createdAt.getTime() || (a.runId < b.runId ? 1 : -1);
}

/** As `list` writes them. */
export function cursorOf({ createdAt, runId }: Place): string {
  return Buffer.from(JSON.stringify([createdAt.getTime(), runId])).toString("base64url");
}

function placeOf(cursor: string): Place {
  try {
    const [at, runId] = JSON.parse(Buffer.from(cursor, "base64url").toString()) as [number, string];
    return { createdAt: new Date(at), runId };
  } catch {
    throw refusal(400, "bad_request", "cursor is none of this list.");
  }
}
