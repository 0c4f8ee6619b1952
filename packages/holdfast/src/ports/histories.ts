/** The histories of runs. They are written with `runs.commit`. The promises of every call are in store.ts. */
import type { HistoryEvent } from "../model/event.ts";

export interface HistoryStore {
  /** For each requested run: events with seq > afterSeq, in order, without the start and the end. Read only. */
  read(params: ReadHistoriesParams): Promise<readonly (readonly HistoryEvent[])[]>;
}

export interface ReadHistoriesParams {
  readonly runs: readonly { readonly namespace: string; readonly runId: string; readonly afterSeq: number }[];
  readonly limitPerRun: number;
}
