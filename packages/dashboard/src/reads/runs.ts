/** The runs page: list, counts, histogram. */
import { refusal } from "../answers/refusal.ts";
import type { Histogram, NewerRuns, RunCount, RunRows, RunStatus, RunsPage } from "../api/list-messages.ts";
import { alternativesOf, filterOfQuery, type SearchFilter } from "../filter/filter-query.ts";
import { shownRows } from "./error-texts.ts";
import { rowsOf } from "./listed-rows.ts";
import { walksTooFar } from "./open-runs.ts";
import { wholeNumber } from "./query-values.ts";
import { countRuns, searchRuns } from "./run-search.ts";
import { type Ask, type Scope, storeNow } from "./scope.ts";

const LIST_MAX = 500;
const COUNT_MAX = 10_000;
const NEWER_MAX = 1_000;
const ROWS_MAX = 200;
const BUCKETS = 24;
const BUCKET_COUNT_MAX = 500;
const DAY_MS = 86_400_000;

export async function runs({ scope, query }: Ask): Promise<RunsPage> {
  const now = await storeNow(scope);
  const limit = wholeNumber(query, "limit", 100, LIST_MAX);
  const cursor = query.get("cursor") ?? undefined;
  const found = await searchRuns(scope, alternativesOf(filterOfQuery(query), now), { limit, cursor });
  return { runs: await shownRows(scope, found.runs), cursor: found.cursor, now };
}

export async function runCount({ scope, query }: Ask): Promise<RunCount> {
  const alternatives = alternativesOf(filterOfQuery(query), await storeNow(scope));
  if (query.get("exact") === "1") return countRuns(scope, alternatives);
  for (const filter of alternatives)
    if (await walksTooFar(scope, filter)) return { count: 0, capped: true, uncounted: true };
  return countRuns(scope, alternatives, COUNT_MAX);
}

export async function newerRuns({ scope, query }: Ask): Promise<NewerRuns> {
  const than = query.get("than") ?? "";
  const now = await storeNow(scope);
  const since = wholeNumber(query, "at", 0, Number.MAX_SAFE_INTEGER);
  // What is older than the run that the page knows need not be read. It may match no longer: then the others of its millisecond count.
  const alternatives = inTime(alternativesOf(filterOfQuery(query), now), since, Number.MAX_SAFE_INTEGER);
  const found = await searchRuns(scope, alternatives, { limit: NEWER_MAX });
  const at = found.runs.findIndex(({ runId }) => runId === than);
  return { count: at < 0 ? found.runs.length : at, capped: at < 0 && found.cursor !== null };
}

export async function runRows({ scope, query }: Ask): Promise<RunRows> {
  const runIds = (query.get("runIds") ?? "").split(",").filter((one) => one !== "");
  if (runIds.length > ROWS_MAX) throw refusal(400, "bad_request", `Ask for at most ${ROWS_MAX} runs at once.`);
  return { runs: await rowsOf(scope, runIds), now: await storeNow(scope) };
}

/** Bucket by bucket, each counted to its limit: the cost does not grow with the store. */
export async function histogram({ scope, query }: Ask): Promise<Histogram> {
  const now = await storeNow(scope);
  const to = wholeNumber(query, "to", now, Number.MAX_SAFE_INTEGER);
  const given = alternativesOf(filterOfQuery(query), now);
  // What errors say is searched run by run: where a word may mean something else as well, the bars go by that.
  const named = given.filter(({ errorText }) => errorText === undefined);
  const alternatives = named.length > 0 ? named : given;
  const from = query.has("from")
    ? wholeNumber(query, "from", to - DAY_MS, Number.MAX_SAFE_INTEGER)
    : to - (await spanOf(scope, alternatives, to));
  if (to <= from) throw refusal(400, "bad_request", "to is not after from.");
  const bucketMs = Math.ceil((to - from) / BUCKETS);
  const found = await Promise.all(
    Array.from({ length: BUCKETS }, async (_, bucket) => {
      const within = inTime(alternatives, from + bucket * bucketMs, from + (bucket + 1) * bucketMs);
      const { count } = await countRuns(scope, within, BUCKET_COUNT_MAX);
      const failed = count === 0 ? [] : within.flatMap(onlyFailed);
      return [count, failed.length === 0 ? 0 : (await countRuns(scope, failed, count)).count] as const;
    }),
  );
  const [counts, failed] = [found.map(([count]) => count), found.map(([, count]) => count)];
  return { from, to, bucketMs, counts, failed, atMost: BUCKET_COUNT_MAX };
}

const SPANS_MS = [10 * 60_000, 60 * 60_000, 6 * 60 * 60_000];

/** The last day, or less of it if nothing older is in it: all of a young store would be one bar. */
async function spanOf(scope: Scope, alternatives: readonly SearchFilter[], to: number): Promise<number> {
  const some = async (begin: number, end: number): Promise<boolean> =>
    (await searchRuns(scope, inTime(alternatives, begin, end), { limit: 1 })).runs.length > 0;
  if (!(await some(to - DAY_MS, to))) return DAY_MS;
  for (const span of SPANS_MS) if (!(await some(to - DAY_MS, to - span))) return span;
  return DAY_MS;
}

/** Created from `begin` until before `end`, besides what else is asked for. */
function inTime(alternatives: readonly SearchFilter[], begin: number, end: number): SearchFilter[] {
  return alternatives.flatMap((filter) => {
    const after = Math.max(begin - 1, filter.createdAfter?.getTime() ?? 0);
    const before = Math.min(end, filter.createdBefore?.getTime() ?? Number.MAX_SAFE_INTEGER);
    if (before <= after + 1) return [];
    const until = before === Number.MAX_SAFE_INTEGER ? {} : { createdBefore: new Date(before) };
    return [{ ...filter, createdAfter: new Date(Math.max(0, after)), ...until }];
  });
}

const FAILED: readonly RunStatus[] = ["failed", "timed_out"];

/** The same, for those that failed: nothing if no such run can match. */
function onlyFailed(filter: SearchFilter): SearchFilter[] {
  const asked = typeof filter.status === "string" ? [filter.status] : filter.status;
  const status = asked ? FAILED.filter((one) => asked.includes(one)) : FAILED;
  const open = filter.retrying === true || filter.waitingFor !== undefined || filter.waitingSince !== undefined;
  return status.length === 0 || open ? [] : [{ ...filter, status }];
}
