/** Lists of runs for filters with alternatives: one list for each, merged by the order that all of them have. */

import type { Client, ListFilter, RunSummary } from "holdfast";
import { isHoldfastError } from "holdfast/adapter";

export interface FoundRuns {
  readonly runs: readonly RunSummary[];
  readonly cursor: string | null;
}

/** A cursor names a run, so the same one fits every list. */
export async function searchRuns(
  view: Client,
  alternatives: readonly ListFilter[],
  page: { readonly limit: number; readonly cursor?: string | undefined },
): Promise<FoundRuns> {
  const { limit, cursor } = page;
  const from = cursor === undefined ? {} : { cursor };
  if (alternatives.length === 1) return view.list({ ...alternatives[0], limit, ...from });
  const pages = await Promise.all(
    alternatives.map((filter) => view.list({ ...filter, limit, ...from }).catch(emptyIfImpossible)),
  );
  const merged = new Map<string, RunSummary>();
  for (const run of pages.flatMap(({ runs }) => runs)) merged.set(run.runId, run);
  const sorted = [...merged.values()].sort(newestFirst);
  const runs = sorted.slice(0, limit);
  const last = runs.at(-1);
  const more = sorted.length > limit || pages.some((one) => one.cursor !== null);
  return { runs, cursor: more && last ? cursorOf(last) : null };
}

/** Counted up to `atMost`; of several alternatives, runs that match more than one count once. */
export async function countRuns(view: Client, alternatives: readonly ListFilter[], atMost?: number): Promise<number> {
  if (alternatives.length === 0) return 0;
  const [first] = alternatives;
  if (alternatives.length === 1) return view.count({ ...first, ...(atMost === undefined ? {} : { atMost }) });
  const found = new Set<string>();
  for (const filter of alternatives) {
    let cursor: string | null | undefined;
    do {
      const page = await view.list({ ...filter, limit: 1_000, ...(cursor ? { cursor } : {}) }).catch(emptyIfImpossible);
      for (const { runId } of page.runs) found.add(runId);
      cursor = page.cursor;
      if (atMost !== undefined && found.size >= atMost) return atMost;
    } while (cursor !== null);
  }
  return found.size;
}

/** A word that no workflow and no id can have, as one of several things that it may mean. */
function emptyIfImpossible(error: unknown): FoundRuns {
  if (isHoldfastError(error) && error.code.startsWith("invalid")) return { runs: [], cursor: null };
  throw error;
}

function newestFirst(a: RunSummary, b: RunSummary): number {
  return b.createdAt.getTime() - a.createdAt.getTime() || (a.runId < b.runId ? 1 : -1);
}

/** As `list` writes them. */
export function cursorOf({ createdAt, runId }: Pick<RunSummary, "createdAt" | "runId">): string {
  return Buffer.from(JSON.stringify([createdAt.getTime(), runId])).toString("base64url");
}
