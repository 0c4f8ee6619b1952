import type { HistoryEvent } from "../model/event.ts";
import type { ReadHistoriesParams } from "../ports/store.ts";
import { type MemoryState, runIn } from "./state.ts";

export function readHistories(state: MemoryState, params: ReadHistoriesParams): HistoryEvent[][] {
  return params.runs.map(({ namespace, runId, afterSeq }) => {
    const events = runIn(state, namespace, runId) ? state.events.get(runId) : undefined;
    return events?.slice(afterSeq, afterSeq + params.limitPerRun) ?? [];
  });
}
