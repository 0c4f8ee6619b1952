import type { MemoryState, RunRecord } from "../../packages/holdfast/src/memory/state.ts";
import type { HistoryEvent } from "../../packages/holdfast/src/model/event.ts";
import type { CommitRunsParams } from "../../packages/holdfast/src/ports/store.ts";
import type { CommitRecord } from "../evidence.ts";
import type { Trace } from "../trace.ts";

/** Records every commit that reaches the store, with the row before it. */
export class Recorder {
  readonly commits: CommitRecord[] = [];
  readonly #state: MemoryState;
  readonly #trace: Trace;

  constructor(state: MemoryState, trace: Trace) {
    this.#state = state;
    this.#trace = trace;
  }

  /** Applies commits and records what they did. */
  around<T>(at: number, storeAt: number, who: string, params: CommitRunsParams, apply: () => T): T {
    const before = params.commits.map(({ runId }) => {
      const row = this.#state.runs.get(runId);
      if (!row) return undefined;
      const { epoch, commit, heldBy, eventCount, status } = row;
      return { epoch, commit, heldBy, eventCount, status };
    });
    const result = apply();
    params.commits.forEach((commit, i) => {
      const was = before[i];
      const row = this.#state.runs.get(commit.runId);
      if (!was || !row) return;
      const { runId, epoch, events, transition } = commit;
      const changed = row.commit !== was.commit || (transition.type === "append" && row.eventCount !== was.eventCount);
      // A late copy for a former holder may be in one call with what the present one writes.
      const rival = params.commits.some(
        (other) => other !== commit && other.runId === runId && other.epoch === was.epoch,
      );
      const applied = changed && (epoch === was.epoch || !rival);
      this.commits.push({
        at,
        storeAt,
        workerId: commit.workerId,
        runId,
        epoch,
        commit: commit.commit,
        events,
        digest: applied ? events.map(digest) : [],
        transition: transition.type,
        before: was,
        after: afterwards(row),
        applied,
      });
      const what = events.map((event) => `${event.seq} ${event.type} ${event.op ?? ""}`).join(", ");
      const outcome = applied ? `commit ${epoch}.${commit.commit}` : `not taken ${epoch}.${commit.commit}`;
      this.#trace.add(at, who, runId, `${outcome} [${what}] ${transition.type} -> ${row.status}`);
    });
    return result;
  }
}

function afterwards({ heldBy, availableAt, delivered, consumed, status }: RunRecord): CommitRecord["after"] {
  return { heldBy, availableAt, delivered, consumed, status };
}

/** An event as text; equal events have equal texts. */
export function digest(event: HistoryEvent): string {
  const { seq, type, op, at, payload, meta } = event;
  const bytes = payload === undefined ? "" : Buffer.from(payload).toString("latin1");
  return `${seq} ${type} ${op} ${at} ${bytes} ${meta === undefined ? "" : JSON.stringify(meta)}`;
}
