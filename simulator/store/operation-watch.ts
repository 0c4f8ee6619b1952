import type { MemoryState, RunRecord } from "../../packages/holdfast/src/memory/state.ts";
import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { Found } from "../evidence.ts";

/** Looks at every run after every call that may have changed it: what history says of parks and resumes must be true of the row. */
export class OperationWatch {
  readonly faults: Found[] = [];
  /** Told of every run that is parked now, and was not before. */
  onParked: (row: RunRecord) => void = () => {};
  readonly #state: MemoryState;
  readonly #known = new Map<string, { readonly parked: boolean; readonly eventCount: number }>();

  constructor(state: MemoryState) {
    this.#state = state;
  }

  note(method: string): void {
    for (const row of this.#state.runs.values()) {
      const { runId, status, eventCount } = row;
      const parked = status === "parked";
      const known = this.#known.get(runId);
      if (known?.parked === parked && known.eventCount === eventCount) continue;
      this.#known.set(runId, { parked, eventCount });
      if (parked && !known?.parked) this.onParked(row);
      if (isClosed(status) || parked === isLastParked(this.#state.events.get(runId) ?? [])) continue;
      this.faults.push({ runId, text: `after ${method} it is ${status}, but history says otherwise` });
    }
  }
}

function isLastParked(history: readonly HistoryEvent[]): boolean {
  return history.findLast(({ type }) => type === "run_parked" || type === "run_resumed")?.type === "run_parked";
}
