import type { HistoryEvent } from "../model/event.ts";
import type { ReadHistoriesParams } from "../ports/store.ts";
import type { MemoryState } from "./state.ts";

export function readHistories(state: MemoryState, params: ReadHistoriesParams): HistoryEvent[][] {
  return params.runs.map(({ runId, afterSeq }) =>
    (state.events.get(runId) ?? []).slice(afterSeq, afterSeq + params.limitPerRun),
  );
}
