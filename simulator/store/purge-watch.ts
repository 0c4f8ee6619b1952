import type { MemoryState, RunRecord } from "../../packages/holdfast/src/memory/state.ts";
import type { Message } from "../../packages/holdfast/src/model/message.ts";
import { isClosed } from "../../packages/holdfast/src/model/run.ts";
import type { StoreMethod } from "../../packages/holdfast/src/ports/store-calls.ts";
import type { Found, RunEvidence } from "../evidence.ts";

/** A run that is gone, as it was. */
export interface PurgedRun extends RunEvidence {
  readonly inbox: readonly Message[];
}

/** Looks at everything that is deleted: only what has ended, long enough ago, and is needed by nobody. Keeps it for the judges. */
export class PurgeWatch {
  readonly faults: Found[] = [];
  readonly purged: PurgedRun[] = [];
  /** Nothing may be deleted that ended less than that long ago, whatever the rules are. */
  keptMsMin = 0;
  readonly #state: MemoryState;

  constructor(state: MemoryState) {
    this.#state = state;
  }

  around(method: StoreMethod, now: number, call: () => Promise<unknown>): Promise<unknown> {
    if (method !== "runs.purge") return call();
    const { runs, events, inbox, departures, debtsOf } = this.#state;
    const before = [...runs.values()].map((row) => ({
      row,
      run: { ...row },
      history: events.get(row.runId) ?? [],
      inbox: inbox.get(row.runId) ?? [],
      owes: debtsOf.has(row.runId),
      leaves: departures.has(row.runId),
    }));
    // The memory store takes effect at once.
    const answer = call();
    for (const { row, run, history, inbox: messages, owes, leaves } of before) {
      if (runs.has(row.runId)) continue;
      this.purged.push({ run, history, inbox: messages });
      this.#judge(run, now, owes, leaves);
    }
    return answer;
  }

  #judge({ runId, status, endedAt }: RunRecord, now: number, owes: boolean, leaves: boolean): void {
    const fault = (text: string): void => void this.faults.push({ runId, text: `was deleted ${text}` });
    if (!isClosed(status)) fault(`while it was ${status}`);
    if (owes) fault("although it still owed its result");
    if (leaves) fault("although it had not arrived where it moves to");
    const age = now - (endedAt ?? now);
    if (isClosed(status) && age < this.keptMsMin) fault(`${age} ms after its end`);
  }
}
