import { endedRun } from "../../model/ended-run.ts";
import { isClosed } from "../../model/run.ts";
import type { WatchOutcome, WatchRunsParams } from "../../ports/store.ts";
import { addressee } from "../inbox.ts";
import { addTo, type MemoryState } from "../state.ts";
import { isAllowed } from "./debt-state.ts";

export function watchRuns(state: MemoryState, { watches }: WatchRunsParams): WatchOutcome[] {
  return watches.map((watch) => watchRun(state, watch));
}

function watchRun(state: MemoryState, { run, by }: WatchRunsParams["watches"][number]): WatchOutcome {
  if (!isAllowed(state, run.namespace, by.namespace)) return { outcome: "not_allowed", end: null };
  const row = addressee(state, run);
  if (!row) return { outcome: "not_found", end: null };
  if (isClosed(row.status)) return { outcome: "ended", end: endedRun(row) };
  const known = state.watches.get(row.firstRunId)?.some(({ runId, op }) => runId === by.runId && op === by.op);
  if (!known) addTo(state.watches, row.firstRunId, by);
  return { outcome: "watching", end: null };
}
