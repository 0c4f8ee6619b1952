import type { MemoryState, RunRecord } from "../../packages/holdfast/src/memory/state.ts";
import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { Found } from "../evidence.ts";
import { digest } from "./recorder.ts";

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
      if (!known && row.forkedFrom) this.#lookAtFork(row, row.forkedFrom.runId);
      this.#known.set(runId, { parked, eventCount });
      if (parked && !known?.parked) this.onParked(row);
      if (isClosed(status) || parked === isLastParked(this.#state.events.get(runId) ?? [])) continue;
      this.faults.push({ runId, text: `after ${method} it is ${status}, but history says otherwise` });
    }
  }

  /** O2, when the fork is made: later its origin may undo what both of them have. */
  #lookAtFork({ runId }: RunRecord, originId: string): void {
    const { events } = this.#state;
    const history = events.get(runId) ?? [];
    const origin = events.get(originId) ?? [];
    const cut = history.findLastIndex(({ type }) => type === "run_forked");
    const fault = (text: string): void => void this.faults.push({ runId, text });
    history.slice(0, cut).forEach((event, i) => {
      const there = origin[i];
      if (!there || digest(event) !== digest(there)) fault(`event ${event.seq} of the fork is not that of its origin`);
    });
    if (cut + 1 !== history.length) fault("a fork begins with more than was copied, and that it was forked");
    const undone = new Set(origin.flatMap(({ op }) => (op?.startsWith(UNDO) ? [nameOf(op.slice(UNDO.length))] : [])));
    const held = history.slice(0, cut).find(({ op }) => op !== null && undone.has(nameOf(op)));
    if (held) fault(`the fork has "${held.op}", which its origin has undone`);
  }
}

const UNDO = "compensate:";

function nameOf(op: string): string {
  return op.replace(/#\d+$/, "");
}

function isLastParked(history: readonly HistoryEvent[]): boolean {
  return (
    history.findLast(({ type }) => type === "run_parked" || type === "run_resumed" || type === "run_forked")?.type ===
    "run_parked"
  );
}
