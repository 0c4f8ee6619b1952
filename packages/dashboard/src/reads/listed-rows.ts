/** Rows of runs by their run ids, in two calls however many there are. */
import { listedError, type Run, summarizeRun } from "holdfast/adapter";
import type { RunRow } from "../api/list-messages.ts";
import { withText } from "./error-texts.ts";
import { runRow } from "./run-row.ts";
import type { Scope } from "./scope.ts";

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

export function isRunId(text: string): boolean {
  return UUID.test(text);
}

/** In the order of the ids; those that are gone are missing. */
export async function rowsOf(scope: Scope, runIds: readonly string[]): Promise<RunRow[]> {
  const { namespace, store } = scope;
  const asked = [...new Set(runIds)].filter(isRunId);
  if (asked.length === 0) return [];
  const read = await store.store.runs.read({ runs: asked.map((runId) => ({ namespace, runId })) });
  const found = read.filter((run): run is Run => run !== null);
  const open = found.filter(({ eventCount, endedAt }) => eventCount > 0 && endedAt === null);
  const places = open.map(({ runId, eventCount }) => ({ namespace, runId, afterSeq: eventCount - 1 }));
  const last = open.length === 0 ? [] : await store.store.histories.read({ runs: places, limitPerRun: 1 });
  const lastAt = new Map(open.map(({ runId }, index) => [runId, last[index]?.[0]?.at ?? null]));
  const now = store.clock.now();
  return found.map((run) => {
    const { input: _input, output: _output, error, ...row } = run;
    const listed = { ...row, lastEventAt: lastAt.get(run.runId) ?? null, error: error && listedError(error) };
    return withText(scope, runRow(summarizeRun(listed, now)), error);
  });
}
